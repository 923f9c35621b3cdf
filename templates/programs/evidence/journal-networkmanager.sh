#!/bin/sh
# NetworkManager's log.

. ./run.sh
log -u NetworkManager -u NetworkManager-dispatcher -b 0 -n 2000 | newest
