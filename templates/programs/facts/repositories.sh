#!/bin/sh
# What facts/repositories.py reads: when apt's lists were fetched, which versions of driver and kernel packages the
# repositories have and which lie in apt's cache, for which driver each build of the kernels' modules is, what is on
# hold, what each kernel in /boot has, what waits for a reboot, which sources apt has, each with whether it was ever
# fetched, which modules DKMS builds, with whether Secure Boot takes their key, and what else changes the host: Ubuntu's
# release upgrade, NVIDIA's dashboard, fwupdmgr. It asks no network, and writes nothing.

. ./packages.sh
printf 'now %s\n' "$(date +%s)"
stat -c 'lists %Y' /var/lib/apt/lists/partial 2>/dev/null || :
dpkg-query -W -f='${db:Status-Want} ${Package}\n' 2>/dev/null | sed -n 's/^hold /held /p'

name_of() {
  case $1$4 in installedlinux-* | installed*nvidia* | installedcuda-drivers*) printf '%s\n' "$4" ;; esac
}
of_apt() { apt-cache -o Dir::Cache::PkgCache= -o Dir::Cache::SrcPkgCache= "$@" 2>/dev/null; } # it writes no cache
names=$(each_package name_of)
# of every branch the driver, and its modules for the kernel that runs
modules=$(of_apt pkgnames linux-modules-nvidia- | grep -F -- "open-$(uname -r)")
# shellcheck disable=SC2046,SC2086 # names of packages have no blanks
[ -z "$names" ] || of_apt madison $names $modules $(of_apt pkgnames nvidia-driver-) |
  LC_ALL=C sed -nE 's/^ *([^ |]+) *\| *([^ |]+) *\|.*/version \1 \2/p' | sort -u
# of the kinds of prebuilt modules that are installed those for any kernel, the newest first
# shellcheck disable=SC2046,SC2086
set -- $({ printf '%s\n-\n' "$names"; of_apt pkgnames linux-modules-nvidia-; } | LC_ALL=C awk '
  $0 == "-" { every = 1 }
  match($0, /^linux-modules-nvidia-([0-9]+-)?(server-)?open-/) {
    kind = substr($0, 1, RLENGTH); flavour = substr($0, RLENGTH + 1); sub(/^[0-9.]+-[0-9]+-/, "", flavour)
    if (!every) kinds[kind flavour] = 1
    else if (kind flavour in kinds) print
  }' | sort -urV | head -n 100) $modules
# each build takes one driver: Depends: nvidia-kernel-common-580 (>= 580.142), nvidia-kernel-common-580 (<= 580.142-1)
[ $# -eq 0 ] || of_apt show "$@" | LC_ALL=C awk '
  function done() { if (bounds != "") print "build", name, version bounds; bounds = "" }
  /^Package: / { name = $2 }
  /^Version: / { version = $2 }
  /^(Pre-)?Depends: / {
    sub(/^[^:]*: /, ""); count = split($0, part, /, */)
    for (i = 1; i <= count; i++)
      if (part[i] ~ /^nvidia-kernel-common-[^ ]+ \([<>=]+ [^ )]+\)$/) {
        split(part[i], word, /[ ()]+/)
        bounds = bounds " " word[2] " " word[3]
      }
  }
  /^$/ { done() }
  END { done() }' | head -n 1000
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
built=''
for tree in /var/lib/dkms/*/*/source; do
  [ -e "$tree" ] || continue
  version=${tree%/source} name=${tree%/*/source} built=1
  printf 'dkms %s/%s\n' "${name##*/}" "${version##*/}"
done
# Ubuntu signs what DKMS builds by a key of the machine's own; with Secure Boot it has to be enrolled
if [ "$built" ] && [ "$(od -An -tu1 -j4 -N1 /sys/firmware/efi/efivars/SecureBoot-* 2>/dev/null | tr -d ' ')" = 1 ]; then
  LC_ALL=C timeout -k 2 10 mokutil --test-key /var/lib/shim-signed/mok/MOK.der 2>&1 |
    sed -n 's/.* is not enrolled.*/key absent/p; s/.* is already enrolled.*/key enrolled/p'
fi
sed -n 's/^VERSION_CODENAME=\([a-z]*\)$/codename \1/p' /etc/os-release 2>/dev/null
# of each source the file of its release: 'URI/dists/SUITE/InRelease' FILE 0, or of a flat one 'URI/InRelease'
apt-get -o Debug::NoLocking=1 update --print-uris 2>/dev/null | LC_ALL=C sed -nE "
  s|^'([^']+)/InRelease' ([^ ]+) .*|\2 \1|; T
  s|://[^/@]*@|://|; s|^([^ ]+) (.*)/dists/([^ ]+)$|\1 \3 \2|p; t
  s|^[^ ]+|& /|p" | head -n 200 | while read -r file suite uri; do
  fetched=-
  for name in "$file" "${file%InRelease}Release"; do
    if [ -s "/var/lib/apt/lists/$name" ]; then fetched=fetched; fi
  done
  printf 'source %s %s %s\n' "$fetched" "$suite" "$uri"
done
# what GRUB's settings have of it; the last word on the kernel's command line counts
sed -nE '/^[[:space:]]*#/d; s/.*[" =]kho=([A-Za-z0-9]+).*/kho \1/p' /etc/default/grub /etc/default/grub.d/*.cfg 2>/dev/null | tail -n 1
sed -n "s/^New release '\([^']*\)' available.*/offer \1/p" /var/lib/ubuntu-release-upgrader/release-upgrade-available 2>/dev/null | head -n 1
bus=com.nvidia.dgx.dashboard.admin1 # it is asked where it runs, and not started for that
timeout -k 2 10 busctl --auto-start=no call $bus /com/nvidia/dgx/dashboard/admin $bus GetOTAAvailabilitySnapshot 2>/dev/null |
  LC_ALL=C sed -n '1s/^\(ssbbs .\{1,250\}\)$/dashboard \1/p'
for d in /proc/[0-9]*; do
  { read -r name <"$d/comm"; } 2>/dev/null || continue
  case $name in
  do-release-upgr | dgx-dashboard-r) ;;
  fwupdmgr) case $(tr '\0' ' ' <"$d/cmdline") in *' update '* | *' upgrade '* | *'install '*) ;; *) continue ;; esac ;;
  *) continue ;;
  esac
  printf 'works %s %s\n' "${d##*/}" "$name"
done
if [ -e /run/reboot-required ]; then
  printf 'reboot \n'
  sed 's/^/reboot /' /run/reboot-required.pkgs 2>/dev/null || :
fi
