#!/bin/sh
# What facts/driver.py reads: installed packages of driver and kernel, with apt's own forecast of a dist-upgrade
# and GRUB's next boot.

. ./packages.sh
. ./grub.sh
. ./apt_simulation.sh
of_driver() {
  case $4 in linux-* | *nvidia* | cuda-drivers*) ;; *) return 0 ;; esac
  printf 'dpkg %s %s %s %s\n' "$3" "$1" "$4" "${6:-}"
}
each_package of_driver
[ ! -r /sys/module/nvidia/version ] || { read -r version < /sys/module/nvidia/version; echo "module $version"; }
apt_simulation
