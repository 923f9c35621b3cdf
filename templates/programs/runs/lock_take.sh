#!/bin/sh
# take RUN OWNER DEAD: the lock for RUN, unless it is held; DEAD is a run whose controller is known to be dead.
# HOLD runs beside it, and is waited for: a lock without a holder would be stale at once.

. ./lock_functions.sh
. ./lock_holder.sh
. ./lock_origin.sh

take() {
  mine=/run/sparkrig/holder.$1 tries=0
  unkept="no process of this run keeps its lock: sshd must allow two sessions of a connection (MaxSessions)"
  until held "$mine"; do
    tries=$((tries + 1))
    if [ $tries -gt 200 ]; then echo "$unkept" >&2; exit 75; fi
    sleep 0.1
  done
  alone
  for file in /run/sparkrig/holder.*; do held "$file" || rm -f "$file"; done
  found=free before=
  if [ -e "$lock" ]; then
    holder
    case $state in dead) found=stale ;; alive) found=held ;; *) found=unknown ;; esac
    before=$(text "$lock/owner.json")
    if [ -n "$owner_run" ] && [ "$owner_run" = "$3" ]; then found=stale; fi
    if [ "$owner_run" = "$1" ]; then found=ours; fi
  fi
  case $found in
  held | unknown)
    rm -f "$mine"
    printf 'step %s\n' "$(tail -n 1 /var/lib/sparkrig/runs/"$owner_run"/steps 2>/dev/null)"
    printf 'lock %s %s\n' $found "$before"
    return 1
    ;;
  ours)
    owner=$before
    ln -f "$mine" $lock/holder || exit 74
    ;;
  *)
    owner=$(printf '{"since": %s, "boot": "%s", "from": "%s", "by": %s}' \
      "$(date +%s)" "$(cat /proc/sys/kernel/random/boot_id)" "$(origin)" "$2")
    {
      rm -rf $lock.new && mkdir $lock.new && printf '%s\n' "$owner" >$lock.new/owner.json &&
        printf '%s\n' "$1" >$lock.new/run && ln "$mine" $lock.new/holder && rm -rf $lock && mv -T $lock.new $lock
    } || exit 74
    ;;
  esac
  rm -f "$mine"
  exec 9<&- # what follows may take long, and who comes meanwhile is to read whose the lock is
  printf 'lock %s %s\n' $found "$before"
}
