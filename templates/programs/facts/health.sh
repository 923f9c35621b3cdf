#!/bin/sh
# modules.order belongs to an installed kernel; what a removed one leaves behind has none.
# A thermal zone whose device sleeps cannot be read (EAGAIN, ENODATA).

. ./path_word.sh
. ./grub.sh
printf 'boot_id %s\nkernel %s\n' "$(cat /proc/sys/kernel/random/boot_id)" "$(uname -r)"
printf 'cmdline %s\n' "$(sed 's/UUID=[^ ]*/UUID=/g' /proc/cmdline)"
grep -E '^(Mem(Total|Available)|Cma(Total|Free)):' /proc/meminfo
printf 'load %s\ncores %s\n' "$(cat /proc/loadavg)" "$(getconf _NPROCESSORS_ONLN)"
for z in /sys/class/thermal/thermal_zone*; do
  if temp=$(cat "$z/temp" 2>/dev/null); then printf 'zone %s %s\n' "$temp" "$(cat "$z/type")"; fi
done
for d in /lib/modules/*; do
  [ -e "$d/modules.order" ] || continue
  release=${d##*/} nvidia=no
  case $release in *[!A-Za-z0-9._+~-]*) continue ;; esac # the folder of no kernel
  if [ -n "$(find "$d/" -name nvidia.ko -o -name 'nvidia.ko.*' | head -n 1)" ]; then nvidia=yes; fi
  printf 'modules %s %s %s\n' "$release" $nvidia "$(modinfo -k "$release" -F version nvidia 2>/dev/null)"
done
if [ -r /sys/module/nvidia/version ]; then printf 'driver %s\n' "$(cat /sys/module/nvidia/version)"; fi
for f in /etc/cdi/*.yaml /etc/cdi/*.json /var/run/cdi/*.yaml /var/run/cdi/*.json; do
  if ! [ -f "$f" ] || ! [ -r "$f" ]; then continue; fi
  printf 'cdi %s\n' "$(path_word "$f")"
  grep -ao 'hostPath"\{0,1\}:[[:space:]]*[^,}]*' "$f" | sed 's/^[^:]*:[[:space:]]*//' | tr -d "\"'\r" |
    sed 's/[[:space:]]*$//' | sort -u | while IFS= read -r path; do
      if [ ! -e "$path" ]; then printf 'missing %s\n' "$path"; fi
    done
done
if command -v ib_write_bw >/dev/null; then
  printf 'perftest %s\n' "$(timeout -k 2 10 ib_write_bw --version 2>&1 | sed -n 's/^Version: *//p' | head -n 1)"
fi
