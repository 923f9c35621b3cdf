#!/bin/sh
# $1 run, $2 "why" for the servers' last words, then per rail: number, netdev, port. Every server of the run is
# stopped, because it is unknown which ones an interrupted SERVER had started.

. ./perftest_run_flaps.sh

run=$1 why=$2; shift 2
systemctl stop "sparkrig-bandwidth-*-$run.service" 2>/dev/null || :  # most have ended by themselves
while [ $# -gt 0 ]; do
  flaps "$2" "$1"
  if [ "$why" = why ]; then
    journalctl -u "sparkrig-bandwidth-$3-$run" -n 20 -o cat --no-pager | sed "s/^/said $1 /"
  fi
  shift 3
done
