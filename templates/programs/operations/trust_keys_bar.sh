#!/bin/sh
# What bars FORGET (sparkrig.host.targets); nothing where there is nothing to forget

set -e; umask 077; cd "$(getent passwd "$(id -un)" | cut -d: -f6)"

file=$(readlink -f .ssh/authorized_keys) || exit 0
[ -e "$file" ] || exit 0
set -- "$file"
. ../facts/preflight_bars.sh
