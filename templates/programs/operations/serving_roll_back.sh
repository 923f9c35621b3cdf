#!/bin/sh
# $1... the files of ours: as they were before the trial

. ../runs/journal_intends.sh

set -e
before=/var/lib/sparkrig/serve/before
. ../serving/served_stop.sh

# without the mark, nothing was kept and nothing was written
if [ -e /var/lib/sparkrig/serve/trial ]; then
  for path; do
    intends "$path" "$before$path"
    if [ -e "$before$path" ]; then cp -a --remove-destination "$before$path" "$path"; else rm -f "$path"; fi
  done
fi
systemctl daemon-reload
rm -f /var/lib/sparkrig/serve/trial
. ../serving/served_link.sh

if [ -e /etc/systemd/system/sparkrig-serve.service ]; then
. ./serving_start.sh
fi
rm -rf "$before"
