#!/bin/sh
# $1... files of ours

. ../runs/journal_intends.sh

set -e
for file; do
  intends "$file"
  rm -f "$file"; sync "${file%/*}"
done
