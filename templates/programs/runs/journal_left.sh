#!/bin/sh
# $1 run, an undo; on stdin a row for each thing that it did not put back: ITEM, a tab, and why


set -e
umask 077
cat >"/var/lib/sparkrig/runs/$1/left.new"
sync "/var/lib/sparkrig/runs/$1/left.new"
mv "/var/lib/sparkrig/runs/$1/left.new" "/var/lib/sparkrig/runs/$1/left"
sync "/var/lib/sparkrig/runs/$1"
