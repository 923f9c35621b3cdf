#!/bin/sh
# Makes the swap of this host what the unit swap.sparkrig.swap (a row `# N GiB`) and /etc/sparkrig/swap-set-aside (a path
# a line) say: the file of ours has that size or is gone; another's swap that stands there is off and its unit masked,
# and comes back once it stands there no more. A file that a power cut left half made is made anew.

unit=/etc/systemd/system/swap.sparkrig.swap
link=/etc/systemd/system/swap.target.wants/swap.sparkrig.swap
file=/swap.sparkrig
aside=/etc/sparkrig/swap-set-aside
ours=/var/lib/sparkrig/swap-set-aside
(
  set -e
  umask 077
  in_use() { LC_ALL=C grep -q "^$1[[:blank:]]" /proc/swaps; }
  escaped() { systemd-escape --path --suffix=swap "$1"; }
  size=0 there=0
  if [ -e "$unit" ]; then size=$(sed -n 's/^# \([0-9]*\) GiB$/\1/p' "$unit"); fi
  if [ -e "$file" ]; then there=$(stat -c %s "$file"); fi
  rm -f "$file.new"
  if [ "$there" != $((size * 1073741824)) ]; then
    if in_use "$file"; then swapoff "$file"; fi
    rm -f "$file"
    if [ "$size" != 0 ]; then
      fallocate -l "${size}GiB" "$file.new"
      mkswap "$file.new" >/dev/null
      sync "$file.new"
      mv -fT "$file.new" "$file"
    fi
  fi
  [ "$size" != 0 ] || rm -f "$link"
  systemctl daemon-reload
  if [ "$size" != 0 ]; then systemctl --quiet enable --now swap.sparkrig.swap; fi
  if [ -e "$aside" ]; then
    mkdir -p "${ours%/*}"
    while read -r path; do
      case $path in /*) ;; *) continue ;; esac
      grep -qsxF -e "$path" "$ours" || { printf '%s\n' "$path" >>"$ours"; sync "$ours"; }
      if in_use "$path"; then swapoff "$path"; fi
      systemctl --quiet mask "$(escaped "$path")"
    done <"$aside"
  fi
  if [ -e "$ours" ]; then
    while read -r path; do
      if ! grep -qsxF -e "$path" "$aside"; then
        name=$(escaped "$path")
        systemctl --quiet unmask "$name"
        systemctl daemon-reload
        systemctl start "$name"
      fi
    done <"$ours"
    if [ ! -e "$aside" ]; then rm -f "$ours"; else grep '^/' "$aside" >"$ours" || rm -f "$ours"; fi
  fi
)
