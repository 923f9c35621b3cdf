#!/bin/sh
# adds to $@ the files of each named service, and of $served, which may be new; most hosts have none of either, and
# take no process for it

. ./serving_names.sh
for record in /etc/sparkrig/serve/*/serve.json; do
  [ -f "$record" ] || [ -n "${served:-}" ] || continue
  for name in $(service_names) ${served:-}; do
    for each in $(service_paths "$name"); do set -- "$@" "$each"; done
  done
  break
done
