#!/bin/sh
# $1 an image: pulled where it is not there. Fails where its Ray would ask nobody for the token: Ray does from 2.52 on
# [@ray-auth], and an earlier one takes the variables and ignores them.

docker image inspect "$1" >/dev/null 2>&1 || docker pull -q "$1" || exit
said=$(docker run --rm --network none --entrypoint ray "$1" --version) || exit
version=${said##* } # of `ray, version 2.60.0`
major=${version%%.*} rest=${version#*.}
minor=${rest%%.*}
case $major$minor in '' | *[!0-9]*) echo "the image does not tell its version of Ray" >&2; exit 1 ;; esac
if [ "$((major * 1000 + minor))" -lt 2052 ]; then
  echo "Ray $version asks nobody for the token, and 2.52 or later is expected" >&2
  exit 1
fi
