#!/bin/sh
# a file of its own that no other user could ever read, from standard input


set -e
new=$(mktemp /etc/sparkrig/serve/ray.env.XXXXXX) # 0600 from the start
cat >"$new"
sync -f "$new"
mv -T "$new" /etc/sparkrig/serve/ray.env
