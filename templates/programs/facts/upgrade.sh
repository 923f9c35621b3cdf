#!/bin/sh
# What facts/upgrade.py reads: apt's forecast of $what, its words, once the holds of $released, names with blanks around,
# are gone, and with a hold on each of $held; with $limits, preferences that come first. Other holds stay. Both are shown
# to apt in files of their own, which only root can read, and which go with this program; the host stays as it is. It
# takes up to $within seconds.


files=$(mktemp -d /run/sparkrig-XXXXXX) || exit
trap 'rm -rf "$files"' EXIT
trap 'exit 143' HUP INT TERM
awk -v released="${released-}" -v held="${held-}" '
  /^Package: / { free = index(released, " " $2 " "); stays = index(held, " " $2 " ") }
  /^Status: hold / && free { sub("hold", "install") }
  /^Status: install / && stays { sub("install", "hold") }
  { print }' /var/lib/dpkg/status >"$files/status" || exit
# of two records for one version apt takes the first (tests/unit/facts/test_upgrade.py)
{ printf '%s\n\n' "${limits-}"; cat /etc/apt/preferences 2>/dev/null; } >"$files/preferences"
# Both halves of a pair are to get the same: phasing goes by a host's machine-id (apt_preferences(5)). apt's caches of
# what it parsed are left alone, for this one is of another status.
# shellcheck disable=SC2086 # words, and names of packages
forecast() {
  timeout -k 2 $((${within:-240} * 2 / 5)) apt-get -o Debug::NoLocking=1 -o Dir::State::Status="$files/status" \
    -o Dir::Etc::Preferences="$files/preferences" -o Dir::Cache::PkgCache= -o Dir::Cache::SrcPkgCache= \
    -o APT::Get::Always-Include-Phased-Updates=true "$@" ${what-dist-upgrade} 2>&1
}
set -- /var/lib/apt/lists/*Release
if [ ! -e "$1" ]; then # a forecast that knows no candidate shows nothing
  printf 'E: apt has no package lists\nsimulated 100\n'
  exit 0
fi
{ forecast -s; printf '\nsimulated %s\n' $?; } | LC_ALL=C sed -nE '
  /^(Inst|Remv|E:|simulated) /p
  /^The following packages have been kept back:/,/^[^ ]/s/^  +/kept /p' | LC_ALL=C awk '
  BEGIN {
    while ((getline row < "/var/lib/apt/extended_states") > 0) {
      if (row ~ /^Package: /) name = substr(row, 10)
      if (row == "Auto-Installed: 1") auto[name]
    }
  }
  { print }
  $1 == "Remv" { sub(":.*", "", $2); if (!($2 in auto)) print "manual " $2 }'
# of each file that is not in the cache yet: its URI, name, size and sum
forecast -qq -y --print-uris | LC_ALL=C awk -F "'" '
  NF == 3 {
    split($2, part, "/"); split($3, rest, " ")
    bytes += rest[2]; from[part[3]] += rest[2]
  }
  END {
    printf "bytes %.0f\n", bytes
    for (name in from) if (name != "") printf "from %s %.0f\n", name, from[name]
  }'
