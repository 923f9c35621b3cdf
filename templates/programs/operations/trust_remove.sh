#!/bin/sh
# the paths

. ../runs/journal_intends.sh

set -e
for f; do intends "$f"; rm -f "$f"; sync "${f%/*}"; done
