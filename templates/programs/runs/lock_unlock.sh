#!/bin/sh
# $1 the lock that was seen


set -e
. ./lock_functions.sh

alone
if [ -e $lock ] && [ "$(identity)" != "$1" ]; then echo 'another run took it meanwhile' >&2; exit 1; fi
rm -rf $lock
