#!/bin/sh
# apt_simulation: prints what a dist-upgrade would do now, as facts/driver.py reads it. apt simulates for a second, half
# a minute on a slow host; so where a deploy has left the answer of before (operations/apt_keep.sh), and nothing has
# changed that it depends on, that is printed, with a row `kept`. What only looks never writes it.

. ./apt_inputs.sh
. ./apt_simulate.sh

# Of no use is a record that is no plain file of root's alone, has no end, was made of other inputs or at a later
# time, or outlived a list of packages.
kept_simulation() {
  record=/var/lib/sparkrig/apt-simulation
  if [ ! -f "$record" ] || [ -L "$record" ] || [ -n "${APT_CONFIG:-}" ]; then return 1; fi
  apt_inputs "$record"
  case $about in "input 600 0 "*" $record") ;; *) return 1 ;; esac
  text=$(head -c 1000000 "$record" 2>/dev/null)
  then='' until='' known='' rows='' end=''
  set -f
  ifs=$IFS IFS=$line
  for row in $text; do
    case $end$row in
    'at '*) then=${row#at } ;;
    'until '*) until=${row#until } ;;
    'input '*) known=$known$row$line ;;
    'Inst '* | 'Remv '* | 'simulated 0') rows=$rows$row$line ;;
    end) end=yes ;;
    *) then='' && break ;;
    esac
  done
  IFS=$ifs
  set +f
  for number in "$then" "$until" "$now"; do
    case $number in '' | *[!0-9]* | ????????????*) return 1 ;; esac
  done
  if [ -z "$end" ] || [ "$known" != "$inputs" ] || [ "$then" -gt "$now" ] || [ "$now" -ge "$until" ]; then return 1; fi
  case $rows in *"simulated 0$line") printf '%skept\n' "$rows" ;; *) return 1 ;; esac
}
apt_simulation() { kept_simulation || apt_simulate; }
