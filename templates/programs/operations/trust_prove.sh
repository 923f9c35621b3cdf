#!/bin/sh
# $1 seconds for each, then the peers


seconds=$1
shift
for peer; do
  if ! said=$(ssh -o BatchMode=yes -o ConnectTimeout="$seconds" "$peer" true 2>&1 </dev/null); then
    echo "no login to $peer over the fabric (${said:-without a word}); try: ssh -v $peer true" >&2; exit 1
  fi
done
