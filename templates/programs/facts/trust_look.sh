#!/bin/sh
# $user, $home; of the private key only mode and owner are read


: "${user?}" "${home?}"
printf 'user %s\n' "$user"
first_line() { # WORD FILE: the first line of a file that is one, after a word
  if [ -f "$2" ]; then
    text=''
    IFS= read -r text <"$2" || :
    printf '%s %s\n' "$1" "$text"
  fi
}
k=$home/.ssh/id_ed25519_sparkrig
if [ -f "$k" ]; then printf 'private %s\n' "$(stat -c '%a %U' "$k")"; fi
first_line public "$k.pub"
for f in /etc/ssh/ssh_host_*_key.pub; do first_line host "$f"; done
f=$home/.ssh/authorized_keys
if [ -f "$f" ]; then sed -n '/ sparkrig-node-trust\r*$/s/^/authorized /p' "$f"; fi
