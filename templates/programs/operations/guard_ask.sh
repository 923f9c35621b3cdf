#!/bin/sh
# $1 folder of the guard, $2 verb, $3 why, or nothing

. ./guard_verb.sh
verb "$1" "$2" ${3:+"$3"}
