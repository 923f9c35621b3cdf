#!/bin/sh
# What sparkrig/resources/headless.py reads: the target of the next start, the login screen that runs, the bytes that
# it holds with its greeter, and who is logged in on a desktop. Without a desktop it takes no process.

. ../host/at_screen.sh
for place in /etc/systemd/system /run/systemd/system /usr/lib/systemd/system; do
  [ -e "$place/default.target" ] || continue
  target=other
  for name in graphical multi-user; do
    # shellcheck disable=SC3013 # dash knows -ef, and a link takes a process else
    if [ "$place/default.target" -ef "/usr/lib/systemd/system/$name.target" ]; then target=$name.target; fi
  done
  printf 'target %s\n' "$target"
  break
done
if [ -n "$screen" ]; then
  printf 'display %s\n' "$screen"
  set -- "/sys/fs/cgroup/system.slice/$screen"
  while IFS=: read -r name _ uid _; do
    case $name in gdm | Debian-gdm | lightdm | sddm) set -- "$@" "/sys/fs/cgroup/user.slice/user-$uid.slice" ;; esac
  done </etc/passwd
  for group; do
    if [ -r "$group/memory.current" ] && read -r bytes <"$group/memory.current"; then printf 'bytes %s\n' "$bytes"; fi
  done
  at_screen | while read -r name; do printf 'person %s\n' "$name"; done
fi
