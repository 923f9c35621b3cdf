#!/bin/sh
# $1 seconds for a ping, $2 seconds in all, $3 the command, then per rail: number, netdev, device, GID index,
# the peer's address, port. The rails run at once; each one's lines come in one piece.

. ./perftest_run_flaps.sh

ping=$1 limit=$2 command=$3; shift 3
# shellcheck disable=SC2086 # the command is words of ours
measure() { timeout -k 5 "$limit" $command "$@"; }
reaches() { netdev=$1 peer=$2; shift 2; ping -q -W "$ping" -I "$netdev" "$@" "$peer" >/dev/null 2>&1; }
one() {
  echo "rail $1"; flaps "$2"
  { read -r mtu <"/sys/class/net/$2/mtu"; } 2>/dev/null || mtu=0
  # some of several: a ping may get lost
  if ! reaches "$2" "$5" -c 1; then echo unreachable
  elif ! reaches "$2" "$5" -c 3 -i 0.2 -M "do" -s $((mtu - 28)); then echo "short $mtu"
  else
    {
      { measure -d "$3" -x "$4" -p "$6" --out_json --out_json_file=/dev/fd/3 "$5" 2>&1
        printf '\nexit %s\n' $?; } | sed 's/^/table /'
    } 3>&1
  fi
  flaps "$2"
}
all() {
  [ $# -gt 0 ] || return 0
  one "$1" "$2" "$3" "$4" "$5" "$6" | { shift 6; rest=$(all "$@"); cat; printf '\n%s\n' "$rest"; }
}
all "$@"
