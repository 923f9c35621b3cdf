#!/bin/sh
# Prints `open` where the newest run of the journal has no end, and `lost` where there is no run, although the end of
# one left what it declared; by the shell alone, for a process costs more

newest=0 open=
for at in /var/lib/sparkrig/runs/[0-9]*/number; do
  if ! [ -f "$at" ] || ! read -r number <"$at"; then continue; fi
  case $number in '' | 0* | *[!0-9]* | ??????????*) continue ;; esac
  if [ "$number" -gt "$newest" ]; then
    newest=$number open=yes
    [ ! -e "${at%number}after" ] || open=
  fi
done
[ -z "$open" ] || echo open
kept=
for at in /var/lib/sparkrig/runs/[0-9]*; do [ ! -d "$at" ] || kept=yes; done
if [ -z "$kept" ] && [ -e /var/lib/sparkrig/declared.json ]; then echo lost; fi
