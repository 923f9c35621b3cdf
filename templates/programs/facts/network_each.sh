#!/bin/sh
# Begins a loop over the netdevs, which sets $n (its folder), $port (empty where it is none of the fabric), $driver
# and $pci. The kernel's port name is also the end of the netdev's (enp1s0f0np0); virtual ones have no
# other.

for real in $(readlink -f /sys/class/net/*); do
  n=/sys/class/net/${real##*/}
  { read -r port <$n/phys_port_name; } 2>/dev/null ||
    case $n in *f[0-9]np[0-9]) port=p${n##*np} ;; *) port= ;; esac
  driver= pci=
  if [ -e $n/device/uevent ]; then
    while IFS='=' read -r key value; do case $key in DRIVER) driver=$value ;; esac; done <$n/device/uevent
    pci=${real%/net/*}; pci=${pci%/virtio*}; pci=${pci##*/}
  fi
