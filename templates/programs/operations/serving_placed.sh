#!/bin/sh
# $1... files of ours that go; the others have been written

. ../runs/journal_intends.sh

set -e
for path; do intends "$path"; rm -f "$path"; done
systemctl daemon-reload
. ../serving/served_link.sh

