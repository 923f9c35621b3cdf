#!/bin/sh
# What facts/nic.py reads: each fabric netdev as sysfs has it, its firmware and its cable by ethtool.


of_it() { while IFS= read -r row; do printf '%s %s\n' "$i" "$row"; done; }
. ./network_each.sh
fabric_rows() {
  i=$1 # as data, for a name may hold what printf and sed understand (%, &)
  case $2 in p[0-9]) ;; *) return ;; esac
  printf '%s %s %s\n' "$i" port "$2" "$i" driver "$3"
  for f in flags carrier speed carrier_down_count \
      device/current_link_speed device/current_link_width device/max_link_speed device/max_link_width; do
    if value=$(cat "/sys/class/net/$i/$f" 2>/dev/null); then printf '%s %s %s\n' "$i" "${f#device/}" "$value"; fi
  done
  printf '%s %s %s\n' "$i" pci "$4"
  if command -v ethtool >/dev/null; then
    timeout -k 2 10 ethtool -i "$i" 2>/dev/null | sed -n 's/^firmware-version:/firmware/p' | of_it
    serial=$(timeout -k 2 10 ethtool -m "$i" 2>/dev/null |
      sed -n 's/[[:space:]]*$//; s/^[[:space:]]*Vendor SN[[:space:]]*:[[:space:]]*//p' | head -n 1)
    if [ -n "$serial" ]; then printf '%s %s %s\n' "$i" cable "$(printf %s "$serial" | sha256sum | cut -c 1-4)"; fi
  fi
  for d in /sys/class/infiniband/*; do # soft-RoCE has a `parent`, hardware a `device`
    [ "$(cat "$d/parent" 2>/dev/null)" = "$i" ] || [ -d "$d/device/net/$i" ] || continue
    printf '%s %s %s\n' "$i" device "${d##*/}"
    grep -s . "$d"/ports/1/counters/* "$d"/ports/1/hw_counters/* | sed 's|^.*/\([^:]*\):|counter.\1 |' | of_it
  done
}
each_netdev fabric_rows
