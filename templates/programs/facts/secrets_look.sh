#!/bin/sh
# $f: the file. The digests are made here, so that no value leaves the host, and by builtins and a pipe, so that no
# process has one in its arguments.


: "${f:?}"
if [ -f "$f" ]; then
  printf 'file %s\n' "$(stat -c '%a %U:%G' "$f")"
  salt=$(sed -n '/^# salt /{s///p;q;}' "$f")
  printf 'salt %s\n' "$salt"
  while IFS= read -r line; do
    name=${line%%=*}
    case $name in '' | "$line" | *[!A-Za-z0-9_]*) continue ;; esac
    sum=$(printf '%s\n%s' "$salt" "$line" | sha256sum)
    printf 'secret %s %s\n' "$name" "${sum%% *}"
  done <"$f"
fi
