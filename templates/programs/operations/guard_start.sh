#!/bin/sh
# $1 folder of the guard, below that of the run, $2 order; on stdin the program


. ./guard_verb.sh
set -e
umask 077
mkdir -p "${1%/*}"; mkdir "$1"
cat >"$1/guard.py"
printf %s "$2" >"$1/order.json"
verb "$1" start
