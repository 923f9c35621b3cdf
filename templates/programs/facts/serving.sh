#!/bin/sh
# What facts/serving.py reads: all of it. weights: the folder that the settings name, empty for the one of a host that
# serves: then only that is looked at, and its own folder.
# All images, for docker 29 hides those without a tag [@docker-cli-6574], also one pulled by digest.

. ./serving_standing_of.sh
. ../host/images_content_of.sh
. ./serving_names.sh
. ./serving_events_of.sh
record=/etc/sparkrig/serve/serve.json revision=.sparkrig-revision

told() { [ ! -f "$record" ] || sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$record"; }

# look_at NAME: what there is of one service; empty for the server without a name
look_at() {
  unit=sparkrig-serve${1:+-$1} record=/etc/sparkrig/serve/${1:+$1/}serve.json
  token=/etc/sparkrig/serve/${1:+$1/}ray.env state=/var/lib/sparkrig/serve${1:+-$1}
  if [ -e "$state/trial" ]; then printf 'trial\n'; fi
  events_of "$state/events"
  if [ -f "$token" ] && [ -O "$token" ] && [ "$(stat -c %a "$token")" = 600 ]; then
    printf 'token %s\n' "$(sha256sum <"$token" | cut -c 1-16)"
  fi
  if [ "$(told form)" = standing ] && [ "$(told rank)" != 0 ]; then printf 'part\n'; fi
  about=$(systemctl show -p LoadState,ActiveState,SubState,UnitFileState,NRestarts "$unit.service")
  printf '%s\n' "$about" | sed 's/^/unit /'
  printf 'port %s\n' "$(systemctl show --value -p ActiveState "$unit-port.socket")"
  if [ -n "$docker" ]; then
    timeout -k 2 20 docker container inspect -f 'container {{.Image}} {{.State.StartedAt}}' "$unit" 2>/dev/null |
      grep .
  fi
  open=$(told port)
  printf '%s\n' "$sockets" | while read -r _ _ _ local _; do
    if [ -n "$local" ] && [ "${local##*:}" = "$open" ]; then printf 'bound %s\n' "$local"; fi
  done
  case $about in
  *ActiveState=active*)
    at=$(told trial_port)
    if [ -n "$at" ] && [ "$(told rank)" = 0 ]; then
      printf 'health %s\n' "$(curl -s -o /dev/null -m 5 --noproxy '*' -w '%{http_code}' "http://127.0.0.1:$at/health")"
    fi
    ;;
  esac
}

service_names
if [ -z "$weights" ]; then
  for name in '' $services; do
    record=/etc/sparkrig/serve/${name:+$name/}serve.json
    if [ -f "$record" ]; then break; fi
  done
  [ -f "$record" ] || exit 0
  weights=$(told weights)
fi
printf 'looked\n'
total='' available=''
while read -r key size _; do
  case $key in MemTotal:) total=$size ;; MemAvailable:) available=$size ;; esac
done </proc/meminfo
printf 'memory %s %s\n' "$total" "$available"
if systemctl -q is-active ollama.service; then printf 'other ollama.service\n'; fi
docker=
. ./docker_about.sh
if command -v docker >/dev/null && [ "$docker_active" = active ]; then
  docker=yes
  timeout -k 2 20 docker container ls --format '{{.Names}}' 2>/dev/null | grep -vx sparkrig-serve | sed 's/^/other container /'
  store=${docker_about%% *}
  case $docker_about in *io.containerd.snapshotter*) store=/var/lib/containerd ;; esac
  if [ -d "$store" ]; then printf 'store %s %s\n' "$(df -B1 --output=avail "$store" | tail -n 1)" "$store"; fi
  ids=$(timeout -k 2 60 docker image ls -a -q --no-trunc | sort -u)
  if [ -n "$ids" ]; then
    # shellcheck disable=SC2086 # IDs are words
    set -- $ids
    timeout -k 2 60 docker image inspect -f \
      'image {{.Id}} {{.Architecture}}{{range .RepoTags}} {{.}}{{end}}{{range .RepoDigests}} {{.}}{{end}}{{"\n"}}size {{.Id}} {{.Size}}' "$@"
    content_of "$@"
  fi
fi
for d in "$weights"/*/*/; do
  [ -d "$d" ] || continue
  name=${d#"$weights"/} name=${name%/}
  standing_of "${d%/}"
  case $name in *[!A-Za-z0-9._/-]*) continue ;; esac
  printf 'weights %s %s %s%s\n' "$name" $state "$(du -sbL "$d" | cut -f1)" "${stray:+ $stray}"
  if [ -f "$d$revision" ]; then
    printf 'revision %s %s\n' "$name" "$(head -c 40 "$d$revision" | tr -cd '0-9a-f')"
  fi
done
# files that llama.cpp serves; a part that is not whole has another name until it is
find -L "$weights" -mindepth 3 -maxdepth 3 -type f -name '*.gguf' -printf '%s %P\n' 2>/dev/null |
  grep -x '[0-9]* [A-Za-z0-9._/-]*' | head -n 500 | sed 's/^/gguf /'
p=$weights
while [ ! -e "${p:-/}" ]; do p=${p%/*}; done
printf 'room %s\n' "$(df -B1 --output=avail "${p:-/}" | tail -n 1)"
sockets=$(ss -Hltn)
printf '%s\n' "$sockets" | while read -r _ _ _ local _; do
  if [ -n "$local" ]; then printf 'listen %s\n' "${local##*:}"; fi
done
look_at ''
for name in $services; do
  printf 'service %s\n' "$name"
  look_at "$name"
done
exit 0
