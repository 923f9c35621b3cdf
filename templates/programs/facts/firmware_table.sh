#!/bin/sh
# What sparkrig.host.firmware_table reads: the versions that the board tells of itself, and the ConnectX. Of the board's
# table only names and versions are printed, so no serial number is.

. ./network_each.sh

if ! command -v dmidecode >/dev/null; then echo 'untold dmidecode it is not installed'
elif table=$(timeout -k 2 20 dmidecode -t 45 2>/dev/null); then
  printf '%s\n' "$table" | sed -n 's/^[[:space:]]*Firmware Component Name:[[:space:]]*/part /p
    s/^[[:space:]]*Firmware Version:[[:space:]]*/version /p' | head -n 400
else
  echo "untold dmidecode it ended with exit code $?"
fi

seen=
for d in /sys/class/infiniband/*; do
  vendor='' value=''
  { read -r vendor <"$d/device/vendor"; read -r value <"$d/fw_ver"; } 2>/dev/null || continue
  if [ "$vendor" = 0x15b3 ]; then seen=1; printf 'connectx %s\n' "$value"; fi
done
if [ -z "$seen" ] && command -v ethtool >/dev/null; then # a ConnectX without its RDMA driver
  firmware_of() {
    if [ "$3" = mlx5_core ]; then
      timeout -k 2 10 ethtool -i "$1" 2>/dev/null | sed -n 's/^firmware-version:[[:space:]]*/connectx /p'
    fi
  }
  each_netdev firmware_of
fi
