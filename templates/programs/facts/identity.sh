#!/bin/sh
# nvidia-smi takes a second; PCI alone settles it on real hardware. The shell reads what it can by itself: a
# process costs a slow host more than all that it reads (docs/performance.md). The kernel shows its architecture there
# since Linux 6.1.


read -r name </proc/sys/kernel/hostname
read -r release </proc/sys/kernel/osrelease
if [ -r /proc/sys/kernel/arch ]; then read -r machine </proc/sys/kernel/arch; else machine=$(uname -m); fi
printf 'hostname=%s\nkernel=%s\nmachine=%s\n' "$name" "$release" "$machine"
while read -r key id _; do case $key in Uid:) printf 'uid=%s\n' "$id"; break ;; esac; done </proc/self/status
id=
if [ -r /proc/sys/kernel/random/boot_id ]; then read -r id </proc/sys/kernel/random/boot_id; fi
printf 'boot_id=%s\n' "$id"
id=
if [ -f /etc/machine-id ] && [ -r /etc/machine-id ]; then read -r id </etc/machine-id; fi
if [ ${#id} = 32 ]; then id=$(sha256sum </etc/machine-id); printf 'machine_id=%s\n' "${id%% *}"; fi
while read -r key size _; do case $key in MemTotal:) printf 'memory_kib=%s\n' "$size" ;; esac; done </proc/meminfo
for f in sys_vendor product_name; do
  if [ -r /sys/class/dmi/id/$f ]; then read -r value </sys/class/dmi/id/$f; printf 'dmi.%s=%s\n' $f "$value"; fi
done
if [ -f /etc/dgx-release ]; then
  while IFS= read -r row || [ -n "$row" ]; do
    case $row in *SERIAL*) ;; *) printf 'release %s\n' "$row" ;; esac
  done </etc/dgx-release
fi
gb10=
for d in /sys/bus/pci/devices/*; do
  read -r vendor <"$d/vendor" || continue # else it would be that of the device before
  [ "$vendor" = 0x10de ] || continue
  read -r class <"$d/class"; case $class in 0x03*) ;; *) continue ;; esac
  read -r id <"$d/device"; printf 'pci=10de:%s\n' "$id"
  if [ "$id" = 0x2e12 ]; then gb10=1; fi
done
if [ -z "$gb10" ] && command -v nvidia-smi >/dev/null; then
  # without its driver it explains itself on standard output, so the exit status decides
  if names=$(timeout -k 2 30 nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null); then
    while IFS= read -r row; do case $row in NVIDIA*) printf 'gpu=%s\n' "$row" ;; esac; done <<EOF
$names
EOF
  fi
fi
