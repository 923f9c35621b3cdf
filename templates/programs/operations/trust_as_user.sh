#!/bin/sh
# $1 a user, $2 a script that runs as that user, $3 and later its words. Root never writes below a home folder
# itself: a link there would lead it elsewhere.


set -e
user=$1; shift
exec runuser -u "$user" -- sh -c "$@"
