#!/bin/sh
# each_netdev DOES: calls DOES for each netdev with its name, its port (empty where it is none of the fabric), the name
# of its driver and its PCI address. The kernel's port name is also the end of the netdev's (enp1s0f0np0); virtual
# ones have no other. It leaves the shell in another folder.


each_netdev() {
  for link in /sys/class/net/*; do
    CDPATH='' cd -P "$link" 2>/dev/null || continue # where a netdev is, without a process
    real=$PWD name=${link##*/} driver='' pci=''
    { read -r port <"/sys/class/net/$name/phys_port_name"; } 2>/dev/null ||
      case $name in *f[0-9]np[0-9]) port=p${name##*np} ;; *) port='' ;; esac
    if [ -e "/sys/class/net/$name/device/uevent" ]; then
      while IFS='=' read -r key value; do
        case $key in DRIVER) driver=$value ;; esac
      done <"/sys/class/net/$name/device/uevent"
      pci=${real%/net/*}; pci=${pci%/virtio*}; pci=${pci##*/}
    fi
    "$1" "$name" "$port" "${driver##*/}" "$pci"
  done
}
