#!/bin/sh
# $1 the port on the head, empty elsewhere; $2 how often systemd had started it again before; $3 seconds. Ends as
# soon as there is something to report.


port=$1 before=$2 end=$(($(cut -d . -f 1 /proc/uptime) + $3))
value() { printf '%s\n' "$about" | sed -n "s/^$1=//p"; }
while :; do
  about=$(systemctl show -p ActiveState,NRestarts,InvocationID sparkrig-serve.service)
  state=$(value ActiveState) restarts=$(value NRestarts)
  code=
  if [ -n "$port" ]; then
    code=$(curl -s -o /dev/null -m 5 --noproxy '*' -w '%{http_code}' "http://127.0.0.1:$port/health" || :)
  fi
  case "$state $restarts $code" in
  "active $before 200") break ;;
  "active $before "* | "activating $before "*) ;;
  *) break ;;
  esac
  if [ "$(cut -d . -f 1 /proc/uptime)" -ge $end ]; then break; fi
  sleep 1
done
printf 'state %s %s %s\n' "$state" "$restarts" "${code:-0}"
journalctl -q -o cat _SYSTEMD_INVOCATION_ID="$(value InvocationID)" |
  sed -n 's/^sparkrig: //p' | tail -n 1 | sed 's/^/said /'
