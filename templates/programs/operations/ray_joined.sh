#!/bin/sh
# $1 how many nodes of Ray there are to be, $2 seconds to wait for them. Fails with the addresses of those that live.

. ../facts/ray_ask.sh

end=$(($(date +%s) + $2))
while
  there=$(ray_asks "/api/v0/nodes?limit=64&$ray_alive" |
    grep -o '"node_ip": "[0-9.]*"' | cut -d '"' -f 4)
  count=$(printf '%s' "$there" | grep -c .)
  [ "$count" -lt "$1" ]
do
  if [ "$(date +%s)" -ge "$end" ]; then
    echo "$count of $1 nodes of Ray live after $2 s: $(printf '%s' "${there:-none}" | tr '\n' ' ')" >&2
    echo "try on each other host: journalctl -u sparkrig-ray -n 50" >&2
    exit 1
  fi
  sleep 2
done
