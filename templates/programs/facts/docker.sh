#!/bin/sh
# What sparkrig/resources/docker.py reads, a row each: the members of the group docker, with commas between them, and
# the users of the host.

users=
while IFS=: read -r name _ _ members; do
  case $name in docker) printf 'members %s\n' "$members" ;; esac
done </etc/group
while IFS=: read -r name _; do users="$users $name"; done </etc/passwd
printf 'users%s\n' "$users"
