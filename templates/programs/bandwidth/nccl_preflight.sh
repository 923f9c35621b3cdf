#!/bin/sh
# $1 image, $2 first port, $3 last port, $4 environment file

. ../host/images_content_of.sh

image=$1 port=$2 last=$3 environment=$4
version=$(timeout -k 2 20 docker version --format '{{.Server.Version}}' 2>/dev/null) || version=
if [ -n "$version" ]; then
  printf 'docker %s\n' "$version"
  id=$(timeout -k 2 20 docker image inspect --format '{{.Id}}' "$image" 2>/dev/null) && printf 'image %s\n' "$id"
  content_of "$image"
fi
printf 'gpus %s\n' "$(timeout -k 2 30 nvidia-smi -L 2>/dev/null | grep -c '^GPU ')"
for device in /dev/infiniband/uverbs*; do [ -e "$device" ] && { echo rdma; break; }; done
[ -f "$environment" ] && [ -r "$environment" ] && echo environment
sed -n 's/^\(MemTotal\|MemAvailable\):[[:space:]]*\([0-9]*\) kB.*/\1 \2/p' /proc/meminfo
while [ "$port" -le "$last" ] && ss -Hltn "sport = :$port" | grep -q .; do port=$((port + 1)); done
[ "$port" -le "$last" ] && printf 'port %s\n' "$port"
:
