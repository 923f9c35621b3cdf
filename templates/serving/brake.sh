#!/bin/sh
# Keeps a Spark from a boot loop: a server that took its host down in two boots, while it loaded, is not started with
# the host any more, until somebody starts it and it answers. docs/serving.md, "It stays up"
#
#   brake.sh begin          before a start (ExecCondition): 1 where it is held
#   brake.sh loads [PORT]   once it runs: waits beside it until it answers there; a node without an API, LOADS_S
#   brake.sh end            after its end (ExecStopPost), of whatever kind: its host is up
#
# LOADS names each boot in which it began to load and was not seen to end, one a line: of an earlier boot, that is one
# which a power cut or a hang ended. A start that is not the first of its boot is a person's, for systemd starts
# nothing that was held again. What cannot be read or written holds nothing.

MOST=2
LOADS_S=1200 # a pair took 15 minutes [@conselara-hardware]
STATE=/var/lib/sparkrig/serve
LOADS=$STATE/loads
EVENTS=$STATE/events
HELD=/run/sparkrig-serve-held
read -r boot </proc/sys/kernel/random/boot_id

rows() { # FILE WORDS...: its newest lines, without those that grep finds
  [ ! -f "$1" ] || { file=$1; shift; grep -v "$@" "$file" | tail -n 8; }
}

keep() { # FILE: standard input, on the disk before this returns, for there may be no next second
  [ -d "$STATE" ] || install -d -m 700 "$STATE"
  cat >"$1.new" && sync "$1.new" && mv "$1.new" "$1" && sync "$STATE"
}

earlier() { rows "$LOADS" -x "$boot"; }
other_events() { rows "$EVENTS" ' boots held '; }

begin() {
  lost=$(earlier | wc -l)
  if [ "$lost" -lt "$MOST" ] || [ -e "$HELD" ]; then
    { earlier; echo "$boot"; } | keep "$LOADS"
    return 0
  fi
  : >"$HELD"
  now=$(date -u +%Y-%m-%dT%H:%M:%SZ) seen="$lost boots ended while it loaded, and it has not answered since"
  echo "sparkrig: trouble boots $now $seen; it is not started with the host"
  { other_events; echo "$now boots held $seen"; } | keep "$EVENTS"
  return 1
}

loads() { # [PORT]
  if [ -n "${1:-}" ]; then
    until curl -s -f -o /dev/null -m 5 --noproxy '*' "http://127.0.0.1:$1/health"; do sleep 2; done
  else
    sleep "$LOADS_S"
  fi
  rm -f "$LOADS" "$HELD"
  if [ -f "$EVENTS" ]; then other_events | keep "$EVENTS"; fi
  sync "$STATE"
}

case $1 in
begin) begin; exit ;;
loads) loads "${2:-}" & ;; # the unit's processes end with it
end) if [ -f "$LOADS" ]; then earlier | keep "$LOADS"; fi ;;
esac
exit 0
