#!/bin/sh
# $1 folder of the run, $2 order; on stdin the program


. ./guard_verb.sh
set -e
umask 077
mkdir -p "$1"; mkdir "$1/guard"
cat >"$1/guard/guard.py"
printf %s "$2" >"$1/guard/order.json"
verb "$1/guard" start
