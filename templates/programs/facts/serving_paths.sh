#!/bin/sh
# adds to $@ the files of each named service, and of $served, which may be new

. ./serving_names.sh
for name in $(service_names) ${served:-}; do
  for each in $(service_paths "$name"); do set -- "$@" "$each"; done
done
