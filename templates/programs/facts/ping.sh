#!/bin/sh
# What facts/ping.py reads: pings that must not be cut, all targets at once; needs root, for it binds them to a
# netdev.


count=$1 wait=$2
shift 2
while [ $# -ge 3 ]; do
  {
    told=$(timeout -k 2 60 ping -n -q -c "$count" -i 0.2 -W "$wait" -M "do" -s "$3" -I "$1" "$2" 2>&1) || :
    command -v ping >/dev/null || told='ping: it is not installed'
    counts=$(printf '%s\n' "$told" | sed -n 's/^\([0-9]*\) packets transmitted, \([0-9]*\) received.*/\1 \2/p')
    said=$(printf '%s\n' "$told" | sed -n 's/^.*ping: //p' | head -n 1)
    printf 'ping %s %s@%s %s %s\n' "$1" "$3" "$2" "${counts:-- -}" "$said"
  } &
  shift 3
done
wait
