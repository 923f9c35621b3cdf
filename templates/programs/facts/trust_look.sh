#!/bin/sh
# $user, $home; of the private key only mode and owner are read


: "${user?}" "${home?}"
printf 'user %s\n' "$user"
k=$home/.ssh/id_ed25519_sparkrig
if [ -f "$k" ]; then printf 'private %s\n' "$(stat -c '%a %U' "$k")"; fi
if [ -f "$k.pub" ]; then printf 'public %s\n' "$(head -n 1 "$k.pub")"; fi
for f in /etc/ssh/ssh_host_*_key.pub; do
  if [ -f "$f" ]; then printf 'host %s\n' "$(head -n 1 "$f")"; fi
done
f=$home/.ssh/authorized_keys
if [ -f "$f" ]; then sed -n '/ sparkrig-node-trust\r*$/s/^/authorized /p' "$f"; fi
