#!/bin/sh
# $1 container(). Docker refuses to remove what it is removing already, hence the retry; success is only that no
# container of that name is left.


for _ in 1 2 3; do
  timeout -k 5 10 docker rm -f "$1" >/dev/null 2>&1
  left=$(timeout -k 5 10 docker ps -aq --filter "name=$1") && [ -z "$left" ] && exit
  sleep 1
done
echo "docker still has the container $1" >&2
exit 1
