#!/bin/sh
# _ROW of sparkrig/runs/journal.py


row() {
  if [ -L "$2" ]; then
    sum=$(readlink "$2" | sha256sum)
    printf 'file %s link %s %s\n' "$1" "$(stat -c '%U:%G' "$2")" "${sum%% *}"
  elif [ -f "$2" ]; then
    sum=$(LC_ALL=C sed '/^# gid: begin/,/^# gid: end/{/^# gid: begin/d; /^# gid: end/d; /^# One index does not fit: /d; /^NCCL_IB_GID_INDEX=/d; /^NCCL_IB_ROCE_VERSION_NUM=/d; /^NCCL_IB_ADDR_FAMILY=/d; /^NCCL_IB_ADDR_RANGE=/d; }' "$2" | sha256sum)
    printf 'file %s %s %s\n' "$1" "$(stat -c '%a %U:%G' "$2")" "${sum%% *}"
  elif [ -e "$2" ]; then printf 'file %s %s\n' "$1" "$(stat -c '%F' "$2")"
  else return 1
  fi
}
