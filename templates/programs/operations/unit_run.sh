#!/bin/sh
# $1 unit, $2 seconds after which systemd ends it, $3 what to try where it fails, then the command. A unit of that
# name that still works was begun over a connection that is gone: it is waited for.


unit=$1 limit=$2 cure=$3
shift 3
about() { systemctl show --value -p "$1" "$unit"; }
works() { case $(about SubState) in running | start* | stop* | final*) true ;; *) false ;; esac; }
while works; do sleep 0.2; done
if [ "$(about ActiveState)" != inactive ]; then
  systemctl stop "$unit"
  systemctl reset-failed "$unit" 2>/dev/null || :
fi
set -- -- "$@"
option=-E
. ./proxies.sh
systemd-run -q --unit="$unit" -p Type=exec -p RemainAfterExit=yes -p RuntimeMaxSec="$limit" \
  -E LC_ALL=C.UTF-8 "$@" || exit
while works; do sleep 0.2; done
result=$(about Result) status=$(about ExecMainStatus)
if [ "$result" = success ]; then systemctl stop "$unit"; exit 0; fi
{
  journalctl --sync
  journalctl -q -o cat -n 30 _SYSTEMD_INVOCATION_ID="$(about InvocationID)"
  printf '%s: %s, exit status %s; all it said: journalctl -u %s. Try: %s, then the deploy again\n' \
    "$unit" "$result" "$status" "$unit" "$cure"
} >&2
systemctl reset-failed "$unit"
exit 1
