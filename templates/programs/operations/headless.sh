#!/bin/sh
# Where /etc/sparkrig/headless is there, the host starts without a desktop from now on, and the login screen ends unless
# somebody is logged in there; else it starts as it did before that. The earlier target is noted before it changes.

. ../host/at_screen.sh
declared=/etc/sparkrig/headless
before=/var/lib/sparkrig/default-target
(
  set -e
  now=$(systemctl get-default)
  if [ -e "$declared" ]; then
    if [ "$now" != multi-user.target ]; then
      mkdir -p "${before%/*}"
      printf '%s\n' "$now" >"$before.new"; sync "$before.new"; mv -fT "$before.new" "$before"
      systemctl --quiet set-default multi-user.target
    fi
    if [ -n "$screen" ] && [ -z "$(at_screen)" ]; then systemctl stop "$screen"; fi
  elif [ -e "$before" ]; then
    read -r target <"$before"
    if [ "$now" = multi-user.target ]; then systemctl --quiet set-default "$target"; fi
    rm "$before"
  fi
)
