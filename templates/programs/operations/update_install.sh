#!/bin/sh
# The packages of the update that is open here; runs as a unit, to its end, whatever becomes of the connection. All is
# downloaded before anything is installed, and nothing else than the plan has. The kernel that runs is GRUB's default
# by then (update_keep.sh), so that whatever breaks off leaves a menu that boots it. What is released is held again at
# the end of every try. Questions of dpkg are answered by policy: the host's own configuration files stay. Nothing is
# restarted by needrestart. The way back installs the versions of before, of driver and kernel each, of the rest those
# that can be had; what came new stays until another kernel than one of these runs (update_prove.sh).

. ./update_note.sh

export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 UCF_FORCE_CONFFOLD=1
preferences=
hold() {
  if [ -n "$preferences" ]; then rm -f "$preferences"; fi
  # shellcheck disable=SC2046 # names of packages
  set -- $(installed $(rows release))
  tries=0
  until [ $# = 0 ] || apt-mark hold "$@" >/dev/null; do # another program may have dpkg's lock
    tries=$((tries + 1))
    if [ $tries -ge 30 ]; then return 1; fi
    sleep 2
  done
}
trap hold EXIT
trap 'exit 143' HUP INT TERM
fails() { printf '%s\n' "$*" >&2; exit 1; }

if [ -n "$(dpkg --audit)" ]; then
  dpkg --force-confdef --force-confold --configure -a || fails 'dpkg cannot finish what was interrupted'
fi
# shellcheck disable=SC2046
set -- $(installed $(rows keep))
if [ $# -gt 0 ]; then apt-mark hold "$@" >/dev/null || exit; fi
# shellcheck disable=SC2046
set -- $(installed $(rows release))
if [ $# -gt 0 ]; then apt-mark unhold "$@" >/dev/null || exit; fi
preferences=$(mktemp /run/sparkrig-XXXXXX) || exit
get() {
  apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dir::Etc::Preferences="$preferences" \
    -o APT::Get::Always-Include-Phased-Updates=true -o APT::Get::AutomaticRemove=false \
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@"
}
known() { apt-cache -o Dir::Cache::PkgCache= -o Dir::Cache::SrcPkgCache= show "$1" >/dev/null 2>&1; }
# had NAME=VERSION: it, or its file in apt's cache where no repository has that version any more; nothing for neither
had() {
  if known "$1"; then echo "$1"; return; fi
  version=$(printf %s "${1#*=}" | sed 's/:/%3a/')
  for file in "/var/cache/apt/archives/${1%%=*}_${version}_"*.deb; do
    if [ -f "$file" ]; then echo "$file"; return; fi
  done
}
if leads_back; then
  cat /etc/apt/preferences >"$preferences" 2>/dev/null
  gone=$(rows gone | awk 'NR == FNR { gone[$1] = 1; next } $1 in gone { print $1 "=" $2 }' - $here/packages)
  set -- install --allow-downgrades --allow-change-held-packages
  # shellcheck disable=SC2046
  for package in $(installed $(rows drop)); do set -- "$@" "$package-"; done
  : >$here/left
  for package in $(rows before | tr ' ' '=') $gone; do
    there=$(had "$package")
    if [ -n "$there" ]; then set -- "$@" "$there"
    elif rows release | grep -qxF "${package%%=*}"; then fails "$package, of driver or kernel, cannot be had again"
    else echo "$package" >>$here/left; fi
  done
else
  { cat $here/limits; printf '\n'; cat /etc/apt/preferences 2>/dev/null; } >"$preferences"
  # shellcheck disable=SC2046
  set -- $(installed $(rows only))
  words=$(rows word)
  # shellcheck disable=SC2086 # NAME=VERSION, NAME, or NAME- for what goes
  if [ $# -gt 0 ]; then set -- install --only-upgrade "$@"
  else set -- dist-upgrade ${words:+--allow-downgrades} $words; fi
  # what apt would do now, as `after NAME VERSION` and `gone NAME`, less what was agreed to; a second try does less
  other=$(get -s "$@" | LC_ALL=C sed -nE 's/^Inst ([^ :]+)[^(]*\(([^ )]+).*/after \1 \2/p; s/^Remv ([^ :]+).*/gone \1/p' |
    grep -vxFf $here/plan | head -n 5 | tr '\n' ';')
  [ -z "$other" ] || fails "nothing is installed, for apt would now do what was not agreed to ($other)"
fi
get --download-only "$@" || fails 'the packages cannot be downloaded, and nothing is installed'
note installing || exit
get --no-download "$@" || fails 'the installation broke off'
[ -z "$(dpkg --audit)" ] || fails 'dpkg has left packages unfinished'
hold || fails 'driver and kernel are installed, and cannot be held again: another program has the lock of dpkg'
trap - EXIT
note installed
