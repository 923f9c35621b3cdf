#!/bin/sh
# apt_inputs [FILE]: sets $inputs to all that apt's simulation of an upgrade depends on, a row each, $now to the host's
# clock, and $about to the rows of FILE and its folder, which are no input; by one process. A file stands there by
# owner, inode, size and both times: the time of its last change (ctime) is the kernel's, and no program sets it. It
# is named as apt has it by default; elsewhere no simulation is kept (operations/apt_keep.sh). Packages are known by
# their lists, holds by dpkg's status. Whether a host takes a phased update depends on its machine-id and on that
# version, not on the time [@apt-upgrade], and what an upgrade may remove on the kernel that runs. A folder of /proc is
# as old as its process, so that of stat itself has the time. unusual: apt's environment is another one.

unusual() { [ -n "${APT_CONFIG:-}${DPKG_ROOT:-}${DPKG_ADMINDIR:-}${SOURCE_DATE_EPOCH+set}" ]; }

apt_inputs() {
  inputs='' now='' about='' kernel='' file=${1:-} line='
'
  if [ -r /proc/sys/kernel/osrelease ]; then read -r kernel </proc/sys/kernel/osrelease; fi
  set -- /proc/self/ ${1:+"${1%/*}" "$1"} /usr/bin/apt-get /usr/bin/dpkg /etc/machine-id /var/lib/dbus/machine-id \
    /var/lib/dpkg/status /var/lib/dpkg/arch /var/lib/dpkg/updates/[0-9]* /etc/dpkg/dpkg.cfg /etc/dpkg/dpkg.cfg.d/* \
    "${HOME:-/root}/.dpkg.cfg" \
    /var/lib/apt/extended_states /var/lib/apt/cdroms.list /var/lib/apt/lists/*_* \
    /etc/apt/sources.list /etc/apt/sources.list.d/* /etc/apt/preferences /etc/apt/preferences.d/* \
    /etc/apt/apt.conf /etc/apt/apt.conf.d/*
  inputs=$(stat -L -c 'input %a %u %i %s %.9Y %.9Z %n' -- "$@" 2>/dev/null)
  now=${inputs%%"$line"*} inputs=${inputs#*"$line"}
  now=${now% *} now=${now##* } now=${now%.*}
  # shellcheck disable=SC2034 # for the caller
  if [ -n "$file" ]; then about=${inputs%%"$file$line"*}$file inputs=${inputs#*"$file$line"}; fi
  inputs="input kernel $kernel$line$inputs$line"
}
