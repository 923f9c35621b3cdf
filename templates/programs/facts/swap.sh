#!/bin/sh
# What sparkrig/resources/swap.py reads, a row each, in kB: each swap in use with its type, size and what it holds, the
# memory available, and the file system of /. It takes no process.

while read -r path type size used _; do
  case $path in /*) printf 'swap %s %s %s %s\n' "$path" "$type" "$size" "$used" ;; esac
done </proc/swaps
while read -r key size _; do case $key in MemAvailable:) printf 'available %s\n' "$size" ;; esac; done </proc/meminfo
root=
while read -r _ at type _; do case $at in /) root=$type ;; esac; done </proc/self/mounts
printf 'root %s\n' "$root"
