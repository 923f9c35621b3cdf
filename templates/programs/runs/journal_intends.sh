#!/bin/sh
# INTENDS of sparkrig/runs/journal.py

. ./journal_row.sh
. ./journal_keeps.sh

intends() {
  for at in /var/lib/sparkrig/runs/*/seen; do
    if grep -qxF "$1" "${at%/seen}/paths" 2>/dev/null; then keeps "${at%/seen}" "$@"; fi
  done
}
