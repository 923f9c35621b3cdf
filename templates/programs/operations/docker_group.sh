#!/bin/sh
# Makes each user of /etc/sparkrig/docker-users a member of the group docker, and takes out those whom it made one
# before and who stand there no more. Whom it makes one is noted first: a power cut forgets nobody.

declared=/etc/sparkrig/docker-users
ours=/var/lib/sparkrig/docker-users
(
  set -e
  row=$(getent group docker) || row=
  row=,${row##*:},
  has() { [ -e "$2" ] && grep -qxF -e "$1" "$2"; }
  member() { case $row in *,"$1",*) ;; *) return 1 ;; esac; }
  mkdir -p "${ours%/*}"
  if [ -e "$declared" ]; then
    while read -r user; do
      case $user in '#'* | '') continue ;; esac
      if member "$user"; then continue; fi
      has "$user" "$ours" || { printf '%s\n' "$user" >>"$ours"; sync "$ours"; }
      gpasswd --add "$user" docker >/dev/null
    done <"$declared"
  fi
  [ -e "$ours" ] || exit 0
  : >"$ours.new"
  while read -r user; do
    if has "$user" "$declared"; then printf '%s\n' "$user" >>"$ours.new"
    elif member "$user"; then gpasswd --delete "$user" docker >/dev/null; fi
  done <"$ours"
  if [ -s "$ours.new" ]; then mv -fT "$ours.new" "$ours"; else rm -f "$ours" "$ours.new"; fi
)
