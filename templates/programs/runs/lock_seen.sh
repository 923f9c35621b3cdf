#!/bin/sh
# Two rows on the lock, where there is one; again where it became another one while it was read

. ./lock_holder.sh

while [ -e "${lock:?}" ]; do
  id=$(identity)
  holder
  seen=$(text "$lock/owner.json")
  if [ "$id" = "$(identity)" ]; then
    printf 'lock %s %s\n' "$state" "$seen"
    printf 'held %s %s\n' "$id" "${owner_run-}"
    break
  fi
done
