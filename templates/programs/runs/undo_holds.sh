#!/bin/sh
# $1... packages, those to be held after --. All are noted first, so that one apt-mark does for all of them: it takes
# as long for one package as for fifty.

. ./journal_intends_holds.sh

set -e
free=
while [ "$1" != -- ]; do free="$free $1"; shift; done
shift
# shellcheck disable=SC2086 # names of packages have no blanks
if [ -n "$free" ]; then intends_holds absent $free; apt-mark unhold $free >&2; fi
if [ $# -gt 0 ]; then intends_holds held "$@"; apt-mark hold "$@" >&2; fi
