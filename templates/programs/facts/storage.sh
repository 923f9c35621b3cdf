#!/bin/sh
# What facts/storage.py reads: checkpoints, docker's images and containers, our caches, and the room. $weights: the
# folder that the settings name. All of it has an end: folders, entries of one, seconds for one, and seconds for all,
# together less than those of a look (sparkrig.facts.bundle).

. ./path_word.sh
. ./serving_standing_of.sh
. ../host/mounted_in.sh
. ./serving_names.sh

folders=200 most=20000 each=20 end=$(($(cut -d . -f 1 /proc/uptime) + 120))
late() { [ "$(cut -d . -f 1 /proc/uptime)" -ge $end ]; }
measure() { # the bytes that a folder takes on the disk, `-` where they were not counted to the end
  size=
  if ! late; then size=$(timeout -k 2 $each du -sxB1 "$1" 2>/dev/null); fi
  size=${size%%[!0-9]*} size=${size:--}
}
many() { [ "$(timeout -k 2 $each find "$1" -xdev -printf . 2>/dev/null | head -c $((most + 1)) | wc -c)" -gt $most ]; }
: "${weights:?}"
root=$(readlink -f "$weights")
printf 'weights %s %s\n' "$(path_word "$weights")" "$(path_word "${root:-$weights}")"
count=0 odd=0
for d in "$weights"/*/*/; do
  d=${d%/}
  [ -d "$d" ] || continue
  name=${d#"$weights"/}
  case $name in *[!A-Za-z0-9._/-]*) odd=$((odd + 1)); continue ;; esac
  count=$((count + 1))
  if [ $count -gt $folders ]; then echo 'cut weights'; break; fi
  bar=none state=unknown size=-
  if [ -L "$d" ] || [ "$(readlink -f "$d")" != "$root/$name" ]; then
    printf 'checkpoint %s unknown - link\n' "$name"
    continue
  fi
  if mounted_in "$root/$name"; then bar=mount; fi
  if ! late && ! many "$d"; then measure "$d"; fi
  if [ "$size" != - ]; then standing_of "$d"; fi
  printf 'checkpoint %s %s %s %s\n' "$name" "$state" "$size" $bar
done
if [ $odd -gt 0 ]; then echo "odd $odd"; fi

cache() { if [ -d "$1" ] && [ ! -L "$1" ]; then measure "$1"; printf 'cache %s %s\n' "$(path_word "$1")" "$size"; fi; }
for d in /var/cache/sparkrig/serve/*/; do cache "${d%/}"; done
cache "$weights/.huggingface"
for user in root "${SUDO_USER:-root}"; do
  home=$(getent passwd "$user" | cut -d : -f 6)
  if [ -n "$home" ]; then cache "$home/.cache/huggingface/hub"; fi
done

told() { if [ -f "$2" ]; then printf '%s %s\n' "$1" "$(head -c 65536 "$2" | base64 -w0)"; fi; }
told record /etc/sparkrig/serve/serve.json
if [ -e /var/lib/sparkrig/serve/trial ]; then told trial /var/lib/sparkrig/serve/before/etc/sparkrig/serve/serve.json; fi
service_names
for name in $services; do
  told "record $name" "/etc/sparkrig/serve/$name/serve.json"
  if [ -e "/var/lib/sparkrig/serve-$name/trial" ]; then
    told "trial $name" "/var/lib/sparkrig/serve-$name/before/etc/sparkrig/serve/$name/serve.json"
  fi
done
for run in /var/lib/sparkrig/runs/*; do
  case ${run##*/} in *[!A-Za-z0-9.-]*) continue ;; esac
  told "kept ${run##*/}" "$run/before/files/etc/sparkrig/serve/serve.json"
  services_in "$run/before/files/etc/sparkrig/serve"
  for name in $services; do
    told "kept ${run##*/} $name" "$run/before/files/etc/sparkrig/serve/$name/serve.json"
  done
done

data=
if ! command -v docker >/dev/null; then echo 'docker absent'
elif ! systemctl -q is-active docker; then echo 'docker stopped'
elif ! ids=$(timeout -k 2 30 docker image ls -a -q --no-trunc) ||
  ! running=$(timeout -k 2 30 docker container ls -a -q --no-trunc); then echo 'docker failed'
else
  echo 'docker running'
  data=$(timeout -k 2 20 docker info -f '{{.DockerRootDir}}')
  ids=$(printf '%s\n' "$ids" | sort -u)
  if [ "$(printf '%s\n' "$ids" | wc -l)" -gt 300 ]; then echo 'cut images'; fi
  if [ "$(printf '%s\n' "$running" | wc -l)" -gt 300 ]; then echo 'cut containers'; fi
  # shellcheck disable=SC2046 # IDs are words
  set -- $(printf '%s\n' "$ids" | head -n 300)
  if [ $# -gt 0 ]; then
    # {{.ID}} and not {{.Id}}: sparkrig/host/images.py
    timeout -k 2 40 docker image inspect -f \
      'image {{.ID}} {{.Size}}{{range .RepoTags}} {{.}}{{end}}{{range .RepoDigests}} {{.}}{{end}}' "$@"
  fi
  # shellcheck disable=SC2046
  set -- $(printf '%s\n' "$running" | head -n 300)
  if [ $# -gt 0 ]; then
    timeout -k 2 40 docker container inspect -f \
      'container {{.Image}} {{.State.Status}} {{json .Name}} {{json .Config.Image}}{{range .Mounts}}
mounted {{json .Source}}{{end}}' "$@"
  fi
fi

for p in "$weights" /var/cache/sparkrig/serve "$data" /var/lib/containerd / "${home:-/}"; do
  [ -n "$p" ] || continue
  while [ ! -e "${p:-/}" ]; do p=${p%/*}; done
  timeout -k 2 10 df -B1 --output=size,avail,target "${p:-/}" | tail -n 1 | while read -r size room target; do
    printf 'room %s %s %s\n' "$size" "$room" "$(path_word "$target")"
  done
done
exit 0
