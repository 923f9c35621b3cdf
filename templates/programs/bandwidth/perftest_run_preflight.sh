#!/bin/sh
# $1 seconds that a server of ours may wait for its client, $2 first port. Ours without a client are left over
# and are ended; what is not ours is named and left alone.


patience=$1 first=$2
read -r now _ </proc/uptime
now=${now%.*}
systemctl list-units --plain --no-legend --state=active 'sparkrig-bandwidth-*' | while read -r unit _; do
  port=${unit#sparkrig-bandwidth-}; port=${port%%-*}
  since=$(systemctl show -p ActiveEnterTimestampMonotonic --value "$unit")
  if ss -Htn state established "sport = :$port" | grep -q . || [ $((now - since / 1000000)) -lt "$patience" ]; then
    echo "running $unit"
  else
    systemctl stop "$unit" && echo "ended $unit"
  fi
done
for process in /proc/[0-9]*; do
  { read -r name <"$process/comm"; } 2>/dev/null || continue # by the shell: a process each costs a slow host seconds
  case $name in ib_write_*|ib_read_*|ib_send_*|ib_atomic_*) ;; *) continue ;; esac
  grep -q 'sparkrig-bandwidth' "$process/cgroup" 2>/dev/null && continue
  if ss -Hltnp | grep -q "pid=${process#/proc/},"; then state=waits; else state=runs; fi
  echo "other ${process#/proc/} $name $state"
done
ss -Hltnp "sport = :$first" | sed -n "s/.*((\"\([^\"]*\)\",pid=\([0-9]*\).*/held $first \1 \2/p" | head -n 1
