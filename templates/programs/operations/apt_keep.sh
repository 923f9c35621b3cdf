#!/bin/sh
# Leaves on the host what apt simulates now, with all that it depends on, for the looks that come
# (facts/apt_simulation.sh). One that is still good stays, and apt is not asked. Nothing is left where the simulation
# fails, where something changes in the meantime, and where apt reads files of other names than its own defaults.
# Valid-Until is until when a list of packages is good, by apt-secure(8).

. ../facts/apt_simulation.sh
LC_ALL=C.UTF-8; export LC_ALL

# whether apt reads the files that apt_inputs looks at, and no more
usual() {
  if unusual; then return 1; fi
  [ "$(apt-config shell a Dir::State::status/f b Dir::State::extended_states/f c Dir::State::lists/d \
    d Dir::Etc::sourcelist/f e Dir::Etc::sourceparts/d f Dir::Etc::preferences/f g Dir::Etc::preferencesparts/d \
    h Dir::Etc::main/f i Dir::Etc::parts/d j Dir::State::cdroms/f k Dir::Bin::dpkg/f)" = "a='/var/lib/dpkg/status'
b='/var/lib/apt/extended_states'
c='/var/lib/apt/lists/'
d='/etc/apt/sources.list'
e='/etc/apt/sources.list.d/'
f='/etc/apt/preferences'
g='/etc/apt/preferences.d/'
h='/etc/apt/apt.conf'
i='/etc/apt/apt.conf.d/'
j='/var/lib/apt/cdroms.list'
k='/usr/bin/dpkg'" ] || return 1
  ! grep -qs '#include' /etc/apt/apt.conf /etc/apt/apt.conf.d/* # apt reads it behind another entry, too
}
# the first time at which a list is no longer good; one that names no day is good for ever
good_until() {
  first=99999999999
  days=$(sed -n 's/^Valid-Until: //p' /var/lib/apt/lists/*Release 2>/dev/null | date -f - +%s) || return 1
  for each in $days; do
    if [ "$each" -lt "$first" ]; then first=$each; fi
  done
  echo "$first"
}

record=/var/lib/sparkrig/apt-simulation
if [ ! -d "${record%/*}" ]; then exit 0; fi # no run has changed anything here
if kept_simulation >/dev/null; then exit 0; fi
new=; trap 'rm -f "$new"' EXIT; trap 'exit 1' HUP TERM
rm -f "$record".?????? # of one that was killed
apt_inputs
before=$inputs
own() { case $(stat -L -c '%a %u' "${record%/*}") in 7[05][05]' 0') ;; *) return 1 ;; esac; } # none puts a link there
if own && usual && rows=$(apt_simulate) && until=$(good_until) && apt_inputs && [ "$inputs" = "$before" ]; then
  case $rows in
  *'
simulated 0' | 'simulated 0')
    umask 077
    new=$(mktemp "$record.XXXXXX") &&
      printf 'at %s\nuntil %s\n%ssimulation\n%s\nend\n' "$now" "$until" "$inputs" "$rows" >"$new" && mv -fT "$new" "$record"
    exit
    ;;
  esac
fi
rm -f "$record"
