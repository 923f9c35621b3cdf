#!/bin/sh
# apt_simulation: prints what a dist-upgrade would do now, as facts/driver.py reads it. apt simulates for a second, half
# a minute on a slow host; so where a deploy has left the answer of before (operations/apt_keep.sh), and nothing has
# changed that it depends on, that is printed, with a row `kept`. What only looks never writes it.

. ./apt_inputs.sh
. ./apt_simulate.sh

# Of no use is a record that is no plain file of root's alone, or in a folder where others may put one, has no end, was
# made of other inputs or at a later time, or outlived a list of packages.
kept_simulation() {
  record=/var/lib/sparkrig/apt-simulation
  if [ ! -f "$record" ] || [ -L "$record" ] || unusual; then return 1; fi
  apt_inputs "$record"
  case $about in "input 7"[05][05]" 0 "*" ${record%/*}${line}input 600 0 "*" $record") ;; *) return 1 ;; esac
  text=$(head -c 300000 "$record" 2>/dev/null)
  then=${text%%"$line"*} until=${text#*"$line"}
  then=${then#at } until=${until%%"$line"*}
  until=${until#until }
  for number in "$then" "$until" "$now"; do
    case $number in '' | *[!0-9]* | ????????????*) return 1 ;; esac
  done
  if [ "$then" -gt "$now" ] || [ "$now" -ge "$until" ]; then return 1; fi
  case $text in
  "at $then${line}until $until$line${inputs}simulation$line"*"simulated 0${line}end") ;;
  *) return 1 ;;
  esac
  set -f
  ifs=$IFS IFS=$line rows='' ends=''
  for row in $text; do
    case $row in
    'at '* | 'until '* | 'input '*) ;;
    'Inst '* | 'Remv '*) rows="$rows$row$line" ;;
    *) ends="$ends $row" ;;
    esac
  done
  IFS=$ifs
  set +f
  if [ "$ends" != ' simulation simulated 0 end' ]; then return 1; fi
  printf '%ssimulated 0\nkept\n' "$rows"
}
apt_simulation() { kept_simulation || apt_simulate; }
