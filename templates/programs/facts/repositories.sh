#!/bin/sh
# What facts/repositories.py reads: when apt's lists were fetched, which versions of driver and kernel packages the
# repositories have and which lie in apt's cache, what is on hold, what each kernel in /boot has, and what waits for a
# reboot. It asks no network, and writes nothing.

. ./packages.sh
printf 'now %s\n' "$(date +%s)"
stat -c 'lists %Y' /var/lib/apt/lists/partial 2>/dev/null || :
apt-mark showhold 2>/dev/null | sed 's/^/held /'

name_of() {
  case $1$4 in installedlinux-* | installed*nvidia* | installedcuda-drivers*) printf '%s\n' "$4" ;; esac
}
# shellcheck disable=SC2046 # names of packages have no blanks
apt-cache madison $(each_package name_of) 2>/dev/null |
  LC_ALL=C sed -nE 's/^ *([^ |]+) *\| *([^ |]+) *\|.*/version \1 \2/p' | sort -u
for file in /var/cache/apt/archives/*.deb; do
  case ${file##*/} in linux-* | *nvidia* | cuda-drivers*) printf 'cached %s\n' "${file##*/}" ;; esac
done
for file in /boot/vmlinuz-*; do
  [ -f "$file" ] || continue
  release=${file#/boot/vmlinuz-} initrd='' module=''
  if [ -s "/boot/initrd.img-$release" ]; then initrd=initrd; fi
  for there in "/lib/modules/$release"/kernel/nvidia-*/nvidia.ko* "/lib/modules/$release"/updates/dkms/nvidia.ko*; do
    if [ -f "$there" ]; then module=module; fi
  done
  printf 'kernel %s %s %s\n' "$release" "${initrd:--}" "${module:--}"
done
if [ -e /run/reboot-required ]; then
  printf 'reboot \n'
  sed 's/^/reboot /' /run/reboot-required.pkgs 2>/dev/null || :
fi
