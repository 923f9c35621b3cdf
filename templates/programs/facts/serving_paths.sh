#!/bin/sh
# adds to $@ the files of each named service, and of $served, which may be new

. ./serving_names.sh
service_names
for name in $services ${served:-}; do
  for each in $(service_paths "$name"); do set -- "$@" "$each"; done
done
