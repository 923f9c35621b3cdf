#!/bin/sh
# Has earlyoom run as its drop-in says, or as its package has it where there is none. Fails where it does not run.

systemctl daemon-reload
if [ -e /lib/systemd/system/earlyoom.service ]; then
  systemctl --quiet enable earlyoom.service
  systemctl restart earlyoom.service
  sleep 1 # one whose words are wrong ends at once
  if ! systemctl --quiet is-active earlyoom.service; then
    echo "earlyoom does not run; try: journalctl -u earlyoom" >&2
    exit 1
  fi
fi
