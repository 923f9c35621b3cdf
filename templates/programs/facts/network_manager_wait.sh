#!/bin/sh
# Asks NetworkManager, unless a look has done so for all that it asks. One that is just starting is waited for, or
# still activates what it can after a boot.

. ./network_manager.sh
idle() { # of a netdev: it is unavailable, disconnected or connecting
  if value_of Real "$2" && [ "$value" = false ]; then return; fi
  if value_of State "$2"; then case $value in [2-9]0) pending=yes ;; esac; fi
}
starts() { if value_of Startup "$2"; then startup=$value; fi; }
left=60
while [ -z "${managed+set}" ] || [ -n "$wait" ]; do
  wait='' pending='' startup=''
  ask_manager
  if [ -n "$managed" ]; then
    each_object /Devices/ idle
    each_object '	' starts
    if [ -n "$pending" ] && [ "$startup" = true ]; then wait=2; fi
  else
    case $(systemctl is-active NetworkManager 2>/dev/null) in
    activating) wait=1 ;;
    active) wait=20 ;; # it came up between the two questions
    esac
  fi
  left=$((left - ${wait:-0}))
  if [ -z "$wait" ] || [ $left -le 0 ]; then break; fi
  sleep 1
done
