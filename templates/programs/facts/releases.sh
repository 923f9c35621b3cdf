#!/bin/sh
# What facts/releases.py reads: NVIDIA's recipes of its releases of DGX OS, and which of the packages that they name
# are installed. A recipe of 147 packages has 14 kB, and eleven of them have 8 kB once they are compressed. Names with
# other letters than NVIDIA's are not printed.

metadata=/opt/nvidia/spark-ota-check/metadata
if [ -d "$metadata" ]; then
  # a link is of no type f, as find follows none
  found=$(LC_ALL=C find "$metadata" -mindepth 1 -maxdepth 1 -name '*.json' \
    \( -name '*[!A-Za-z0-9._-]*' -printf 'left - its name has other letters than a recipe of NVIDIA\n' \
    -o ! -type f -printf 'left %f it is no plain file\n' \
    -o -size +32768c -printf 'left %f it has more than 32768 bytes\n' \
    -o -printf 'recipe %f\n' \) 2>/dev/null | LC_ALL=C sort -r)
  set -f
  ifs=$IFS IFS='
'
  set --
  left=0 more=''
  for row in $found; do
    case $row in
    left*) left=$((left + 1)); if [ $left -le 40 ]; then printf '%s\n' "$row"; fi ;;
    recipe*) if [ $# -lt 40 ]; then set -- "$@" "${row#recipe }"; else more=1; fi ;;
    esac
  done
  IFS=$ifs
  if [ -n "$more" ]; then echo 'left - this Spark has more than 40 recipes'; fi
  if [ $# -gt 0 ]; then
    printf 'recipes '
    tar -C "$metadata" -c -b 1 --format=gnu --no-recursion -f - -- "$@" 2>/dev/null | head -c 1572864 |
      gzip -c | base64 -w0
    printf '\n'
    cd "$metadata" || exit 1
    # shellcheck disable=SC2046 # names of packages are words
    set -- $(grep -ahoE '"name"[[:space:]]*:[[:space:]]*"[a-z0-9][a-z0-9+.-]+"' -- "$@" |
      sed 's/"$//; s/.*"//' | LC_ALL=C sort -u | head -n 1000)
    if [ $# -gt 0 ]; then
      # it fails where one of them is not installed
      dpkg-query -W -f='dpkg ${db:Status-Want} ${db:Status-Status} ${Package} ${Version}\n' -- "$@" 2>/dev/null || :
    fi
  fi
fi
