#!/bin/sh
# $1 seconds to live, $2 seconds to wait, $3 first port, $4 last port, $5 run, $6 the command,
# then per rail: number, netdev, device, GID index. All servers are started before the first one is waited for.

. ./perftest_run_flaps.sh

life=$1 wait=$2 port=$3 last=$4 run=$5 command=$6 started=; shift 6
look() { sockets=$(ss -Hltn); }
listening() { case $sockets in *":$1 "*) ;; *) return 1 ;; esac; }
begin() {
  while [ "$port" -le "$last" ] && listening "$port"; do port=$((port + 1)); done
  if [ "$port" -gt "$last" ]; then echo "failed $1 every port up to $last is taken"; return; fi
  flaps "$2" "$1"
  # shellcheck disable=SC2086 # the command is words of ours
  said=$(systemd-run --quiet --collect --unit="sparkrig-bandwidth-$port-$run" --property=RuntimeMaxSec="$life" \
    $command -d "$3" -x "$4" -p "$port" 2>&1) ||
    { echo "failed $1 systemd-run refused the server: $(printf %s "$said" | tr '\n' ' ')"; return; }
  started="$started $1:$port"
  port=$((port + 1))
}
# comes RAIL PORT: reports how the server began, if that is known
comes() {
  if listening "$2"; then echo "server $1 $2"; return; fi
  unit=sparkrig-bandwidth-$2-$run
  if [ "$now" -lt "$end" ] && systemctl is-active -q "$unit"; then return 1; fi
  echo "failed $1 $(journalctl -u "$unit" -n 5 -o cat | tr '\n' ' ')"
  systemctl stop "$unit" || :
}
clock() { read -r now _ </proc/uptime; now=${now%.*}; }

look
while [ $# -gt 0 ]; do begin "$1" "$2" "$3" "$4"; shift 4; done
clock
end=$((now + wait)) pause=0.1
while [ -n "$started" ]; do
  look
  clock
  left=
  for each in $started; do comes "${each%:*}" "${each#*:}" || left="$left $each"; done
  started=$left
  if [ -n "$left" ]; then
    sleep $pause
    case $pause in 0.1) pause=0.2 ;; *) pause=0.4 ;; esac
  fi
done
