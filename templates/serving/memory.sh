#!/bin/sh
# Ends the container of sparkrig-serve before the memory that CPU and GPU share runs out, for a Spark without any
# hangs until it is switched off (docs/serving.md).
#
#   memory.sh LEAST CONTAINER    LEAST: of all memory, in thousandths
set -eu
least=$1 container=$2 low=0

free() { # thousandths of all memory that are available
  while read -r name kib _; do
    case $name in
    MemTotal:) total=$kib ;;
    MemAvailable:) available=$kib ;;
    esac
  done </proc/meminfo
  echo $((available * 1000 / total))
}

while sleep 1; do
  now=$(free)
  if [ "$now" -ge "$least" ]; then
    low=0
    continue
  fi
  low=$((low + 1))
  [ $low -ge 3 ] || continue # a peak of a second or two is no end
  echo "sparkrig: trouble memory $(date -u +%Y-%m-%dT%H:%M:%SZ) $now of 1000 are free, $least are to stay; the server is ended"
  docker kill "$container" || :
  low=0
done
