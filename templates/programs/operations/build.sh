#!/bin/sh
# $1... what is built


for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
  if printenv $name >/dev/null; then set -- --build-arg $name "$@"; fi
done
exec docker build "$@"
