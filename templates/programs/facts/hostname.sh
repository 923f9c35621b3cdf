#!/bin/sh
# What sparkrig/resources/hostname.py reads: the name that the host has now, the one that it has at its next start, and
# whether /etc/hosts has the first behind 127.0.1.1. What else stands there is nobody's business.

name='' static=''
if read -r name </proc/sys/kernel/hostname; then printf 'name %s\n' "$name"; fi
if [ -f /etc/hostname ]; then
  while IFS= read -r static || [ -n "$static" ]; do
    case $static in '' | '#'*) static='' ;; *) break ;; esac
  done </etc/hostname
  printf 'static %s\n' "$static"
fi
if [ -f /etc/hosts ]; then
  case $(LC_ALL=C sed -n 's/#.*//; y/\t/ /; s/$/ /; s/^ *127\.0\.1\.1 / /p' /etc/hosts) in
  *" $name "*) echo hosts ;;
  esac
fi
