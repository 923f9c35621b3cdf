#!/bin/sh
# $1... packages, those to be held after --

. ./journal_intends_holds.sh

set -e
while [ "$1" != -- ]; do
  intends_holds absent "$1"
  apt-mark unhold "$1" >&2
  shift
done
shift
for name; do
  intends_holds held "$name"
  apt-mark hold "$name" >&2
done
