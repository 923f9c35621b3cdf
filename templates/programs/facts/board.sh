#!/bin/sh
# What facts/board.py reads: the netdevs beside the fabric's, the NVMe, the kernel's warnings and crash records, swap,
# failed units, what Secure Boot and DKMS say of modules, and the firmware. A tool that is absent prints nothing. Names
# are printed by printf alone, since hardware may have any. /proc/net/wireless is left alone: with Wi-Fi 7 it has zeros
# for a signal, and the kernel warns of whoever reads it (net/wireless/wext-core.c).

of_file() { # a file's first line as one word, or another word where it has none
  line=
  read -r line 2>/dev/null <"$1" || :
  printf '%s' "${line:-$2}" | tr -c '[:graph:]' _
}
. ./firmware_table.sh
printf 'now %s\n' "$(date +%s)"
awk '$2 == "00000000" { print "route " $1 }' /proc/net/route
for d in /sys/class/net/*; do
  [ -e "$d/device/driver" ] || continue
  driver=$(readlink "$d/device/driver")
  [ "${driver##*/}" != mlx5_core ] || continue
  name=${d##*/} kind=wired
  [ ! -e "$d/phy80211" ] || kind=wireless
  state=$(of_file "$d/operstate" -)
  printf 'netdev %s %s %s %s%s %s %s %s\n' "$name" $kind "$(printf '%s' "${driver##*/}" | tr ' ' _)" \
    "$(of_file "$d/device/vendor" -)" "$(of_file "$d/device/device" -)" "$state" \
    "$(of_file "$d/speed" -1)" "$(of_file "$d/carrier_down_count" 0)"
  [ "$state" = up ] || continue
  if [ $kind = wired ]; then
    eee=$(timeout -k 2 5 ethtool --show-eee "$name" 2>/dev/null | sed -n 's/^[[:space:]]*EEE status: *\([a-z].*\)/\1/p')
    [ ! "$eee" ] || printf 'eee %s %s\n' "$name" "$eee"
    continue
  fi
  saves=$(timeout -k 2 5 iw dev "$name" get power_save 2>/dev/null | sed -n 's/^[Pp]ower save: *\([a-z]*\).*/\1/p')
  signal=$(timeout -k 2 5 iw dev "$name" link 2>/dev/null | sed -n 's/^[[:space:]]*signal: *\(-[0-9]\{1,3\}\) dBm.*/\1/p')
  [ ! "$saves" ] || printf 'power_save %s %s\n' "$name" "$saves"
  [ ! "$signal" ] || printf 'signal %s %s\n' "$name" "$signal"
done
for d in /sys/class/nvme/nvme*; do
  [ -r "$d/state" ] || continue
  read -r state <"$d/state" || :
  printf 'nvme %s %s\n' "${d##*/}" "$state"
  timeout -k 2 10 nvme smart-log "/dev/${d##*/}" 2>/dev/null |
    sed -n "s/^\([a-z_][a-z_]*\)[[:space:]]*: *\(0x[0-9a-f][0-9a-f]*\|[0-9][0-9,]*\).*/smart ${d##*/} \1 \2/p"
done
awk '$2 == "/" { split($4, o, ","); root = o[1] } END { if (root) print "root " root }' /proc/mounts
awk '/^Swap(Total|Free):/ { print $1, $2 }' /proc/meminfo
for f in /sys/fs/pstore/* /var/lib/systemd/pstore/*; do
  if [ -e "$f" ] && when=$(stat -c %Y "$f" 2>/dev/null); then printf 'crash %s\n' "$when"; fi
done
if [ -e /etc/nvidia/cx7-hotplug-enabled ]; then echo 'hotplug on'; else echo 'hotplug off'; fi
cat /sys/bus/pci/devices/*/vendor 2>/dev/null | grep -c 0x15b3 | sed 's/^/mellanox /'
timeout -k 2 10 systemctl list-units --failed --plain --no-legend --no-pager 2>/dev/null | sed -n 's/^\([^ ]*\) .*/failed \1/p'
od -An -tu1 -j4 -N1 /sys/firmware/efi/efivars/SecureBoot-* 2>/dev/null | sed 's/^ */secure_boot /'
timeout -k 2 20 dkms status -k "$(uname -r)" 2>/dev/null | sed 's/^/dkms /'
printf 'kernel %s\n' "$(uname -r)"
timeout -k 2 10 journalctl -k -b -p warning -o cat --no-pager -n 400 2>/dev/null |
  LC_ALL=C tr -cd '\11\12\40-\176' | cut -c1-400 | sed 's/[0-9]\{50,\}/(digits)/g; s/^/log /'
