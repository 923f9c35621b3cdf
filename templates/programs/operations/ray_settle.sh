#!/bin/sh
# Has systemd do what the unit of Ray says: it starts anew where it is there; where it is not, its container and all that
# Ray kept go, too. Fails where it ends at once.

unit=sparkrig-ray.service
if [ -e /etc/systemd/system/$unit ]; then
  systemctl daemon-reload
  systemctl --quiet enable $unit
  systemctl restart $unit
  sleep 3
  if [ "$(systemctl show --value -p ActiveState $unit)" != active ]; then
    echo "Ray does not start; try: journalctl -u $unit" >&2
    exit 1
  fi
else
  systemctl stop $unit 2>/dev/null || :
  if command -v docker >/dev/null; then timeout -k 2 60 docker rm -f sparkrig-ray >/dev/null 2>&1 || :; fi
  rm -f /etc/systemd/system/multi-user.target.wants/$unit
  systemctl daemon-reload
  systemctl reset-failed $unit 2>/dev/null || :
  rm -rf /var/lib/sparkrig/ray
fi
