#!/bin/sh
# What facts/driver.py reads: installed packages of driver and kernel, with apt's own forecast of a dist-upgrade
# and GRUB's next boot.

. ./grub.sh
dpkg-query -W -f='dpkg ${db:Status-Want} ${db:Status-Status} ${Package} ${Version}\n' 2>/dev/null |
  grep -aE ' (linux-|[^ ]*nvidia|cuda-drivers)' || true
[ ! -r /sys/module/nvidia/version ] || { read -r version < /sys/module/nvidia/version; echo "module $version"; }
set -- /var/lib/apt/lists/*Release
if [ -e "$1" ]; then
  { timeout -k 2 240 apt-get -s -o Debug::NoLocking=1 dist-upgrade 2>&1; printf '\nsimulated %s\n' $?; } |
    grep -aE '^(Inst|Remv|E:|simulated) ' || true
else # a simulation that knows no candidate proves nothing
  printf 'E: apt has no package lists\nsimulated 100\n'
fi
