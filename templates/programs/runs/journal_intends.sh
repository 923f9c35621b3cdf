#!/bin/sh
# intends PATH FILE: keeps that for the run whose step is under way, before the file takes its place, so that after a
# power cut it is known whose it is; nothing outside of a step, or for a path that is not ours to put back.

. ./journal_row.sh
. ./journal_keeps.sh

intends() {
  for at in /var/lib/sparkrig/runs/*/seen; do
    if grep -qxF "$1" "${at%/seen}/paths" 2>/dev/null; then keeps "${at%/seen}" "$@"; fi
  done
}
