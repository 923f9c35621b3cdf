#!/bin/sh
# $1 seconds in all, then per rail: number, netdev, peer's address, payload


end=$(($(date +%s) + $1)); shift
while [ $# -gt 0 ]; do
  until said=$(ping -n -q -M "do" -c 1 -W 2 -s "$4" -I "$2" "$3" 2>&1); do
    if [ "$(date +%s)" -ge "$end" ]; then
      echo "silent $1 $2 $3 $4 $(printf %s "$said" | grep -io 'message too long.*' | head -n 1)"; break
    fi
    sleep 0.3
  done
  shift 4
done
echo "done"
