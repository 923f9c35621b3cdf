#!/bin/sh
# $1 the peer, $2 seconds


if ! said=$(ssh -o BatchMode=yes -o ConnectTimeout="$2" "$1" true 2>&1 </dev/null); then
  echo "no login to $1 over the fabric (${said:-without a word}); try: ssh -v $1 true" >&2; exit 1
fi
