#!/bin/sh
# $1 ray, where the host's node of Ray stops after them, which a boot or deploy starts again; $2... units of servers.
# Each stops, and does not start with the next boot; `deploys/serve.py` starts it again.

node=$1
shift
for unit; do
  for each in "$unit-port.socket" "$unit-port.service" "$unit-watch.service" "$unit.service"; do
    systemctl stop "$each" 2>/dev/null || :
  done
  rm -f "/etc/systemd/system/multi-user.target.wants/$unit.service"
  if systemctl -q is-active "$unit.service"; then echo "$unit.service does not stop" >&2; exit 1; fi
done
if [ "$node" = ray ]; then systemctl stop sparkrig-ray.service 2>/dev/null || :; fi
