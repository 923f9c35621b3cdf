#!/bin/sh
# $1 run, $2 who and why, $3 a run whose controller is known to be dead

set -e
. ./lock_take.sh

take "$@" || :
