#!/bin/sh
# $1... packages

. ../runs/journal_intends_holds.sh

intends_holds held "$@" || exit 74
exec apt-mark hold "$@"
