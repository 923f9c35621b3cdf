#!/bin/sh
# The same of the boot before.

. ./run.sh
log -k -b -1 -n 20000 | worth | newest
