#!/bin/sh
# run PROGRAM WORD...: as a person types it, for `explain` reads the command line too


run() {
  printf '$ %s\n' "$*"
  if command -v "$1" >/dev/null; then timeout -k 2 20 "$@" 2>&1 || printf '(exit %s)\n' $?
  else printf '%s: command not found\n' "$1"
  fi
}
log() {
  printf '$ journalctl %s\n' "$*"
  timeout -k 2 20 journalctl --no-pager --no-hostname -q -a -o short-iso "$@" 2>&1 ||
    printf '(exit %s)\n' $?
}
newest() { # the last lines, as many as there is room for
  awk -v room=262143 '
    { row[NR] = $0; room -= length($0) + 1 }
    { while (room < 0) { room += length(row[++gone]) + 1; delete row[gone] } }
    END { for (i = gone + 1; i <= NR; i++) print row[i] }'
}
worth() { # the rows of a kernel's log that say something of what a Spark is for
  grep -aiE '^[$]|mlx5|nvidia|nvrm|xid|infiniband|rdma|rxe|pcie|aer:|thermal|oom|out of memory|nvlink|cma:'
}
