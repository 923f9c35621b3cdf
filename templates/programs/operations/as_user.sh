#!/bin/sh
# $1 a user, or nothing for the ssh user, $2 a script that runs as that user, $3 and later its words. Root never writes
# below a home folder itself: a link there would lead it elsewhere.

set -e
user=${1:-${SUDO_USER:-$(id -un)}}; shift
exec runuser -u "$user" -- sh -c "$@"
