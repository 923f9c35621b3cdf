#!/bin/sh
# Rows for sparkrig.host.grub.read, among those of a noun: `grub`, of each file its path and `grub LINE`, at last
# `grub-whole`. A host without GRUB's menu prints none. A line with a command that decides nothing is left out, and
# so is a password; of a kernel's command line only its file is kept. The menu of three kernels is 7 kB of rows;
# one that was cut off lacks the last row, and is not judged.

if [ -e /boot/grub/grub.cfg ]; then
  menu=$(sed -sn '1F
      /^[[:space:]]*password/d
      /^# GRUB Environment Block$/!{/^[[:space:]]*\(#.*\)\{0,1\}$/d;}
      /^[[:space:]]*\(insmod\|search\|echo\|initrd\|load_video\|loadfont\|save_env\)\([[:space:]][^;{}&|]*\)\{0,1\}$/d
      s/^\([[:space:]]*linux[a-z0-9]*[[:space:]]\{1,\}[^[:space:];{}]*\)[^;{}]*/\1/
      s/^/grub /p' /boot/grub/grubenv /boot/grub/custom.cfg /boot/grub/grub.cfg 2>/dev/null)
  if [ ${#menu} -le 130000 ]; then printf 'grub\n%s\ngrub-whole\n' "$menu"; else printf 'grub\n%.130000s\n' "$menu"; fi
fi
