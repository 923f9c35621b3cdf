#!/bin/sh
# row PATH FILE: PATH, were FILE there; of a link its own text counts, and where it leads is never read. What the GID
# block of a file has of ours follows the devices by itself (templates/refresh_gid.py), so it is no change; another
# one's line in it is.


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
