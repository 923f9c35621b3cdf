#!/bin/sh
# $1... the files of ours, the token too: what stands there is kept, unless an earlier trial kept it; then the
# server stops


set -e
before=/var/lib/sparkrig/serve/before
mkdir -p /var/lib/sparkrig
[ -d /var/lib/sparkrig/serve ] || mkdir -m 700 /var/lib/sparkrig/serve
if [ ! -e /var/lib/sparkrig/serve/trial ]; then
  rm -rf "$before" "$before.new"
  mkdir "$before.new"
  for path; do
    if [ -e "$path" ]; then mkdir -p "$before.new${path%/*}"; cp -a "$path" "$before.new$path"; fi
  done
  mv -T "$before.new" "$before"
  : >/var/lib/sparkrig/serve/trial
  sync -f /var/lib/sparkrig/serve
fi
. ../serving/served_stop.sh

