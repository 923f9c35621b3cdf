#!/bin/sh
# What facts/storage.py reads: checkpoints, docker's images and containers, our caches, and the room. $weights: the
# folder that the settings name. All of it has an end: folders, entries of one, seconds for one, seconds for all: together less than those of a look (sparkrig.facts.bundle).

. ./path_word.sh
. ./serving_standing_of.sh
. ./storage_sum_of.sh
. ../host/mounted_in.sh
. ./serving_names.sh

folders=200 most=20000 each=20 end=$(($(cut -d . -f 1 /proc/uptime) + 120))
late() { [ "$(cut -d . -f 1 /proc/uptime)" -ge $end ]; }
measure() { if late; then size=- kept=- read=-; else sum_of "$1"; fi; }
atime() { # what the disk notes of reading: all, relatime, noatime, unknown
  how=$(timeout -k 2 5 findmnt -nro OPTIONS -T "$1" | head -n 1)
  case ,$how, in ,,) echo unknown ;; *,noatime,*) echo noatime ;; *,relatime,*) echo relatime ;; *) echo all ;; esac
}
: "${weights:?}"
printf 'now %s\n' "$(date +%s)"
root=$(readlink -f "$weights")
printf 'weights %s %s %s\n' "$(path_word "$weights")" "$(path_word "${root:-$weights}")" "$(atime "$weights")"
count=0 odd=0
for d in "$weights"/*/*/; do
  d=${d%/}
  [ -d "$d" ] || continue
  name=${d#"$weights"/}
  case $name in *[!A-Za-z0-9._/-]*) odd=$((odd + 1)); continue ;; esac
  count=$((count + 1))
  if [ $count -gt $folders ]; then echo 'cut weights'; break; fi
  bar=none state=unknown revision=-
  if [ -L "$d" ] || [ "$(readlink -f "$d")" != "$root/$name" ]; then
    printf 'checkpoint %s unknown - - - - link\n' "$name"
    continue
  fi
  if mounted_in "$root/$name"; then bar=mount; fi
  measure "$d"
  if [ "$size" != - ]; then standing_of "$d"; fi
  if [ -f "$d/.sparkrig-revision" ]; then revision=$(head -c 40 "$d/.sparkrig-revision" | tr -cd '0-9a-f'); fi
  printf 'checkpoint %s %s %s %s %s %s %s\n' "$name" "$state" "$size" "$kept" "$read" "${revision:--}" $bar
done
if [ $odd -gt 0 ]; then echo "odd $odd"; fi

set -- root
if [ "${SUDO_USER:-root}" != root ]; then set -- root "$SUDO_USER"; fi
for user; do
  home=$(getent passwd "$user" | cut -d : -f 6)
  hub=$home/.cache/huggingface/hub
  if [ -z "$home" ] || [ ! -d "$hub" ]; then continue; fi
  count=0
  printf 'hub %s %s %s\n' "$user" "$(path_word "$hub")" "$(atime "$hub")"
  for d in "$hub"/models--*--*; do
    name=${d##*/models--} name=${name%%--*}/${name#*--}
    if [ -L "$d" ] || [ ! -d "$d" ]; then continue; fi
    case $name in *[!A-Za-z0-9._/-]*) continue ;; esac
    count=$((count + 1))
    if [ $count -gt $folders ]; then echo "cut hub $user"; break; fi
    measure "$d"
    state=unknown
    if [ "$size" != - ]; then
      state=partial
      if [ -z "$(find "$d" -name '*.incomplete' -print -quit; find "$d" -xtype l -print -quit)" ]; then
        for snapshot in "$d"/snapshots/*; do if [ $state = partial ]; then indexed_of "$snapshot"; fi; done
      fi
    fi
    printf 'cached %s %s %s %s %s %s\n' "$user" "$name" "$state" "$size" "$kept" "$read"
  done
done

for d in /var/cache/sparkrig/serve/*/ "$weights/.huggingface/"; do
  if [ ! -d "$d" ] || [ -L "${d%/}" ]; then continue; fi
  measure "${d%/}"
  printf 'cache %s %s\n' "$(path_word "${d%/}")" "$size"
done

told() { if [ -f "$2" ]; then printf '%s %s\n' "$1" "$(head -c 65536 "$2" | base64 -w0)"; fi; }
told record /etc/sparkrig/serve/serve.json
if [ -e /var/lib/sparkrig/serve/trial ]; then told trial /var/lib/sparkrig/serve/before/etc/sparkrig/serve/serve.json; fi
service_names
for name in $services; do
  told "service $name" "/etc/sparkrig/serve/$name/serve.json"
  if [ -e "/var/lib/sparkrig/serve-$name/trial" ]; then
    told "service $name" "/var/lib/sparkrig/serve-$name/before/etc/sparkrig/serve/$name/serve.json"
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
stopped=$(timeout -k 2 10 systemctl show --value -p InactiveEnterTimestamp --timestamp=unix sparkrig-serve.service)
printf 'stopped %s\n' "${stopped#@}"

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
      'image {{.ID}} {{.Size}} {{with .Created}}{{.}}{{else}}-{{end}}{{range .RepoTags}} {{.}}{{end}}{{range .RepoDigests}} {{.}}{{end}}
layers {{.ID}}{{range .RootFS.Layers}} {{.}}{{end}}' "$@" | sed '/^layers /s/sha256:\([0-9a-f]\{12\}\)[0-9a-f]*/\1/2g'
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
