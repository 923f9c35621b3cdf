#!/bin/sh
# What facts/repositories.py reads: when apt's lists were fetched, which versions of driver and kernel packages the
# repositories have and which lie in apt's cache, what is on hold, what each kernel in /boot has, and what waits for a
# reboot. It asks no network, and writes nothing.

. ./packages.sh
printf 'now %s\n' "$(date +%s)"
stat -c 'lists %Y' /var/lib/apt/lists/partial 2>/dev/null || :
# apt's own caches of what it parsed are left alone
ask_apt() { apt-cache -o Dir::Cache::PkgCache= -o Dir::Cache::SrcPkgCache= "$@" 2>/dev/null; }
dpkg-query -W -f='${db:Status-Want} ${Package}\n' 2>/dev/null | sed -n 's/^hold /held /p'

name_of() {
  case $1$4 in installedlinux-* | installed*nvidia* | installedcuda-drivers*) printf '%s\n' "$4" ;; esac
}
# shellcheck disable=SC2046 # names of packages have no blanks
ask_apt madison $(each_package name_of) |
  LC_ALL=C sed -nE 's/^ *([^ |]+) *\| *([^ |]+) *\|.*/version \1 \2/p' | sort -u
# of NVIDIA's flavour alone; the others' names end otherwise
# shellcheck disable=SC2046
set -- $(ask_apt pkgnames linux-modules-nvidia- | grep -E -e '-open-[0-9].*-nvidia$' | head -n 200)
if [ $# -gt 0 ]; then
  ask_apt show "$@" | awk '
    /^Package: / { name = $2 }
    /^Version: / { version = $2 }
    /^Depends: / {
      row = ""
      while (match($0, /nvidia-kernel-common-[0-9]+ \([<>=]+ [^)]+\)/)) {
        part = substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH)
        sub(/^.*\(/, "", part); sub(/\)$/, "", part); row = row " " part
      }
      if (row != "") print "build " name " " version row
    }' | head -n 1000
fi
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
