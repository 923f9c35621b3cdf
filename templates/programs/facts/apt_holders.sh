#!/bin/sh
# A shell function that prints who holds a lock of apt's, `lock PATH PID NAME`. A lock of another file system
# may have the same inode, so the process must have the very file open.


holders() {
  for lock in $(stat -c '%i:%n' /var/lib/dpkg/lock-frontend /var/lib/dpkg/lock /var/lib/apt/lists/lock /var/cache/apt/archives/lock 2>/dev/null); do
    inode=${lock%%:*} lock=${lock#*:}
    while read -r _ class _ kind pid place _; do
      case "$class $kind $place" in "POSIX WRITE "*":$inode") ;; *) continue ;; esac
      open=$(find -L "/proc/$pid/fd" -maxdepth 1 -samefile "$lock" 2>/dev/null) || :
      if [ -n "$open" ]; then read -r name <"/proc/$pid/comm"; printf 'lock %s %s %s\n' "$lock" "$pid" "$name"; fi
    done </proc/locks
  done
}
