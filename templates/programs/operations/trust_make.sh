#!/bin/sh
# $1 the key file, $2 its comment

. ./trust_home.sh

mkdir -p .ssh
rm -f "$1" "$1.pub"
ssh-keygen -q -t ed25519 -N '' -C "$2" -f "$1" </dev/null
sync "$1" "$1.pub" .ssh
