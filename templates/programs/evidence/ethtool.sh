#!/bin/sh
# Link, driver, cable, pauses and counters of each fabric netdev.

. ./run.sh
. ../facts/network_each.sh
of_a_port() {
  case $2:$3 in p[0-9]:?*) ;; *) return ;; esac
  run ethtool "$1"; run ethtool -i "$1"; run ethtool -m "$1"; run ethtool -a "$1"
  run ethtool -S "$1" | grep -v ': 0$'
}
each_netdev of_a_port
