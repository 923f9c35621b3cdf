#!/bin/sh
# apt_simulate: has apt say what a dist-upgrade would do now, and prints it as facts/driver.py reads it. apt writes no
# cache of its lists: a look leaves nothing.

apt_simulate() {
  set -- /var/lib/apt/lists/*Release
  if [ -e "$1" ]; then
    set -- -o Debug::NoLocking=1 -o Dir::Cache::PkgCache= -o Dir::Cache::SrcPkgCache=
    { timeout -k 2 240 apt-get -s "$@" dist-upgrade 2>&1; printf '\nsimulated %s\n' $?; } |
      grep -aE '^(Inst|Remv|E:|simulated) ' || true
  else # a simulation that knows no candidate proves nothing
    printf 'E: apt has no package lists\nsimulated 100\n'
  fi
}
