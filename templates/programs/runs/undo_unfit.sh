#!/bin/sh
# unfit FILE: why docker does not start with it, in a row; nothing where it would. A link leads from its own place,
# not from where it is kept.


unfit() {
  file=$1
  if [ -L "$1" ]; then
    file=$(readlink "$1")
    case $file in /*) ;; *) file=/etc/docker/$file ;; esac
  fi
  said=$(timeout 30 dockerd --validate --config-file "$file" 2>&1 </dev/null) && return
  said=$(printf '%s\n' "$said" | tail -n 1 | head -c 400)
  printf 'unfit %s\n' "${said:-dockerd --validate fails and does not say why}"
}
