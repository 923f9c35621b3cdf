#!/bin/sh
# flaps NETDEV [RAIL]: how often its link lost the carrier so far; nothing where the netdev is gone. The shell reads
# it, for a process costs an emulated host 20 to 40 ms, and these are read before and after each test.


flaps() {
  { read -r losses <"/sys/class/net/$1/carrier_down_count"; } 2>/dev/null || losses=
  echo "flaps ${2:+$2 }$losses"
}
