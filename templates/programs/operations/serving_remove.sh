#!/bin/sh
# $1... the files of ours: the server stops and is none any more

. ../runs/journal_intends.sh

set -e
. ../serving/served_stop.sh

for path; do intends "$path"; rm -f "$path"; done
systemctl daemon-reload
. ../serving/served_link.sh

rm -rf /var/lib/sparkrig/serve
for folder in /etc/sparkrig/serve/ /usr/local/lib/sparkrig/serve/; do
  if [ -d "$folder" ]; then rmdir --ignore-fail-on-non-empty "$folder"; fi
done
