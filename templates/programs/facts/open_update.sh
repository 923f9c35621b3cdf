#!/bin/sh
# Prints `update STEP GOAL` where an update of this Spark is open: its last step, `begun` before the first; by the shell
# alone, for a process costs more. STEP is `-` where the record is of another machine.

. ../host/update_machine.sh

if [ -f /var/lib/sparkrig/update/plan ]; then
  goal=
  while read -r word rest; do
    if [ "$word" = goal ]; then goal=$rest; fi
  done </var/lib/sparkrig/update/plan
  last=begun
  while read -r word rest; do last=$word; done </var/lib/sparkrig/update/steps
  ours || last=-
  printf 'update %.20s %.200s\n' "$last" "$goal"
fi
