#!/bin/sh
# held FILE: whether a process keeps it locked. identity: of the lock's folder, which no other one has: what can be
# read of it may be nothing. text FILE: the start of it, in one row. whose: owner_run, as far as it can be read. Opening
# a FIFO waits for its other end, so only a file is read, or locked. Of owner.json and run.json 40,000 bytes are read:
# 64 names of 253 characters, and what was typed.


lock=/run/sparkrig/lock
held() {
  [ -f "$1" ] || return 1
  flock -n -s -E 75 "$1" true 2>/dev/null && return 1
  [ $? = 75 ]
}
identity() { stat -c %i.%.9Z $lock; }
text() { [ ! -f "$1" ] || head -c 40000 "$1" 2>/dev/null | tr '\n\000' '  '; }
# shellcheck disable=SC2034 # owner_run is for the caller
whose() { owner_run=$([ ! -f $lock/run ] || head -c 200 $lock/run 2>/dev/null | tr -d '\n\000'); }
