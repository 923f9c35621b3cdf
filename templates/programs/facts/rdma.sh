#!/bin/sh
# What facts/rdma.py reads beside the GIDs: the links of the RDMA devices, and the path MTU of their ports.


if [ -d /sys/class/infiniband ] && command -v rdma >/dev/null; then
  set -f # a line of JSON has no need of its blanks
  # shellcheck disable=SC2046
  set -- $(rdma -j link show)
  set +f
  printf 'links %s\n' "$*"
fi
if command -v ibv_devinfo >/dev/null; then
  while read -r key value _; do
    case $key in
    hca_id:) device=$value ;;
    active_mtu:) printf 'mtu %s %s\n' "${device:-}" "${value%%[!0-9]*}" ;;
    esac
  done <<EOF
$(timeout -k 2 30 ibv_devinfo 2>/dev/null)
EOF
fi
