#!/bin/sh
# What facts/board.py reads: the netdevs beside the fabric's, the NVMe, the kernel's warnings and crash records, swap,
# failed units, and what Secure Boot and DKMS say of modules. A tool that is absent prints nothing.

printf 'now %s\n' "$(date +%s)"
awk '$2 == "00000000" { print "route " $1 }' /proc/net/route
for d in /sys/class/net/*; do
  [ -e "$d/device/driver" ] || continue
  driver=$(readlink "$d/device/driver")
  [ "${driver##*/}" != mlx5_core ] || continue
  name=${d##*/} kind=wired
  [ ! -e "$d/phy80211" ] || kind=wireless
  pci=$(cat "$d/device/vendor" "$d/device/device" 2>/dev/null | tr -d '\n')
  state=$(cat "$d/operstate") downs=$(cat "$d/carrier_down_count" 2>/dev/null)
  printf 'netdev %s %s %s %s %s %s %s\n' "$name" $kind "${driver##*/}" "${pci:--}" "${state:--}" \
    "$(cat "$d/speed" 2>/dev/null || echo -1)" "${downs:-0}"
  [ "$state" = up ] || continue
  if [ $kind = wired ]; then
    timeout -k 2 5 ethtool --show-eee "$name" 2>/dev/null | sed -n "s/^[[:space:]]*EEE status: *\([a-z].*\)/eee $name \1/p"
  else
    timeout -k 2 5 iw dev "$name" get power_save 2>/dev/null | sed -n "s/^[Pp]ower save: *\(on\|off\).*/power_save $name \1/p"
  fi
done
sed -n 's/^ *\([^ :]*\): *[^ ]* *[^ ]* *\(-\{0,1\}[0-9]*\).*/signal \1 \2/p' /proc/net/wireless 2>/dev/null
for d in /sys/class/nvme/nvme*; do
  [ -r "$d/state" ] || continue
  printf 'nvme %s %s\n' "${d##*/}" "$(cat "$d/state")"
  timeout -k 2 10 nvme smart-log "/dev/${d##*/}" 2>/dev/null |
    sed -n "s/^\([a-z_]*\)[[:space:]]*: *\(0x[0-9a-f]*\|[0-9][0-9,]*\).*/smart ${d##*/} \1 \2/p"
done
awk '$2 == "/" { split($4, o, ","); root = o[1] } END { if (root) print "root " root }' /proc/mounts
awk '/^Swap(Total|Free):/ { print $1, $2 }' /proc/meminfo
for f in /sys/fs/pstore/* /var/lib/systemd/pstore/*; do
  [ ! -e "$f" ] || printf 'crash %s\n' "$(stat -c %Y "$f")"
done
if [ -e /etc/nvidia/cx7-hotplug-enabled ]; then echo 'hotplug on'; else echo 'hotplug off'; fi
cat /sys/bus/pci/devices/*/vendor 2>/dev/null | grep -c 0x15b3 | sed 's/^/mellanox /'
timeout -k 2 10 systemctl list-units --failed --plain --no-legend --no-pager 2>/dev/null | sed -n 's/^\([^ ]*\) .*/failed \1/p'
od -An -tu1 -j4 -N1 /sys/firmware/efi/efivars/SecureBoot-* 2>/dev/null | sed 's/^ */secure_boot /'
timeout -k 2 20 dkms status -k "$(uname -r)" 2>/dev/null | sed 's/^/dkms /'
printf 'kernel %s\n' "$(uname -r)"
timeout -k 2 10 journalctl -k -b -p warning -o cat --no-pager -n 400 2>/dev/null | cut -c1-400 | sed 's/^/log /'
