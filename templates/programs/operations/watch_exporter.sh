#!/bin/sh
# Has the node exporter run, and waits until one process of it has lived for three looks, a second apart. One whose port
# another program has ends at once, and systemd starts it some times again. Fails where none lives so long.

unit=prometheus-node-exporter.service
systemctl --quiet enable --now "$unit" || exit 1
before=0 looks=0
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  pid=$(systemctl show --property=MainPID --value "$unit") || exit 1
  if [ "$pid" != 0 ] && [ "$pid" = "$before" ]; then looks=$((looks + 1)); else looks=0; fi
  [ "$looks" -lt 3 ] || exit 0
  before=$pid
  sleep 1
done
echo "$unit does not stay alive; another program may have its port. Try: ss -ltnp 'sport = :9100', and journalctl -u $unit" >&2
exit 1
