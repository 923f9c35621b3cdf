#!/bin/sh
# The kernel's log of this boot, as far as it is worth anything.

. ./run.sh
log -k -b 0 -n 20000 | worth | newest
