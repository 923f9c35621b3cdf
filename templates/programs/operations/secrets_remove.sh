#!/bin/sh
# $1 the file

. ../runs/journal_intends.sh

set -e
intends "$1"
rm -f "$1"; sync "${1%/*}"
