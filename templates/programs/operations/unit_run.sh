#!/bin/sh
# $1 unit, $2 seconds after which systemd ends it, $3 what to try where it fails, then the command. A unit of that
# name that still works was begun over a connection that is gone: it is waited for. Its end is seen by `tail`, one
# process that asks the kernel; a question to systemd every 0.2 s took a third of a slow host from the unit itself.
# systemd would take ${NAME} in a program for a variable of its own; 254 has a switch for it, and a Spark has 255.


unit=$1 limit=$2 cure=$3
shift 3
look() {
  state='' active='' result='' status='' pid='' id=''
  while IFS='=' read -r key value; do
    case $key in
    SubState) state=$value ;; ActiveState) active=$value ;; Result) result=$value ;;
    ExecMainStatus) status=$value ;; MainPID) pid=$value ;; InvocationID) id=$value ;;
    esac
  done <<EOF
$(systemctl show -p SubState,ActiveState,Result,ExecMainStatus,MainPID,InvocationID "$unit")
EOF
}
await() {
  while look; case $state in running | start* | stop* | final*) true ;; *) false ;; esac; do
    # it looks again after 10 s, for another process may have the number by then
    if [ "${pid:-0}" = 0 ] || ! timeout 10 tail --pid="$pid" -s 0.1 -f /dev/null; then sleep 0.2; fi
  done
}
await
if [ "$active" != inactive ]; then
  systemctl stop "$unit"
  systemctl reset-failed "$unit" 2>/dev/null || :
fi
set -- -- "$@"
option=-E
. ./proxies.sh
systemd-run -q --expand-environment=no --unit="$unit" -p Type=exec -p RemainAfterExit=yes -p RuntimeMaxSec="$limit" \
  -E LC_ALL=C.UTF-8 "$@" || exit
await
if [ "$result" = success ]; then systemctl stop "$unit"; exit 0; fi
{
  journalctl --sync
  journalctl -q -o cat -n 30 _SYSTEMD_INVOCATION_ID="$id"
  printf '%s: %s, exit status %s; all it said: journalctl -u %s. Try: %s, then the deploy again\n' \
    "$unit" "$result" "$status" "$unit" "$cure"
} >&2
systemctl reset-failed "$unit"
exit 1
