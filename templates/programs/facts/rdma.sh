#!/bin/sh
# What facts/rdma.py reads beside the GIDs: the links of the RDMA devices, and the path MTU of their ports.


if [ -d /sys/class/infiniband ] && command -v rdma >/dev/null; then
  set -f # a line of JSON has no need of its blanks
  # shellcheck disable=SC2046
  printf 'links %s\n' "$(printf '%s ' $(rdma -j link show))"
  set +f
fi
if command -v ibv_devinfo >/dev/null; then
  timeout -k 2 30 ibv_devinfo 2>/dev/null |
    sed -n 's/^hca_id:[[:space:]]*//p; s/^[[:space:]]*active_mtu:[[:space:]]*\([0-9]*\).*/ \1/p' |
    while IFS= read -r row; do
      case $row in " "*) printf 'mtu %s%s\n' "$device" "$row" ;; *) device=$row ;; esac
    done
fi
