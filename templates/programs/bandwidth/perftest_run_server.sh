#!/bin/sh
# $1 seconds to live, $2 seconds to wait, $3 first port, $4 last port, $5 run, $6 the command,
# then per rail: number, netdev, device, GID index


life=$1 wait=$2 port=$3 last=$4 run=$5 command=$6; shift 6
listening() { ss -Hltn "sport = :$1" | grep -q .; }
next_rail() {
  while listening "$port"; do
    port=$((port + 1))
    if [ "$port" -gt "$last" ]; then port=$last; echo "failed $1 every port up to $last is taken"; return; fi
  done
  unit=sparkrig-bandwidth-$port-$run
  echo "flaps $1 $(cat "/sys/class/net/$2/carrier_down_count")"
  # shellcheck disable=SC2086 # the command is words of ours
  said=$(systemd-run --quiet --collect --unit="$unit" --property=RuntimeMaxSec="$life" \
    $command -d "$3" -x "$4" -p "$port" 2>&1) ||
    { echo "failed $1 systemd-run refused the server: $(printf %s "$said" | tr '\n' ' ')"; return; }
  end=$(($(date +%s) + wait))
  until listening "$port"; do
    if ! systemctl is-active -q "$unit" || [ "$(date +%s)" -ge "$end" ]; then
      echo "failed $1 $(journalctl -u "$unit" -n 5 -o cat | tr '\n' ' ')"
      systemctl stop "$unit"; return
    fi
    sleep 0.1
  done
  echo "server $1 $port"
  port=$((port + 1))
}
while [ $# -gt 0 ]; do next_rail "$1" "$2" "$3" "$4"; shift 4; done
