#!/bin/sh
# keeps RUN PATH FILE: in that run's folder, that the run writes FILE to PATH, or removes PATH without one. The
# content is for a merge, which secrets never take part in.


keeps() {
  mkdir -p "$1/wrote/files${2%/*}"
  case $2 in
  /etc/sparkrig/secrets.env) ;;
  *)
    rm -rf "$1/wrote/files$2"
    if [ -L "${3:-}" ]; then cp -a "$3" "$1/wrote/files$2"
    elif [ -f "${3:-}" ]; then cp -p "$3" "$1/wrote/files$2" && sync "$1/wrote/files$2"
    fi
    ;;
  esac
  row "$2" "${3:-}" >>"$1/wrote/state" || printf 'file %s absent\n' "$2" >>"$1/wrote/state"
  sync "$1/wrote/state"
}
