#!/bin/sh
# Our own runs and units.

. ./run.sh
{ run ls -lR /var/lib/sparkrig; log -u 'sparkrig*' -n 2000; } | newest
