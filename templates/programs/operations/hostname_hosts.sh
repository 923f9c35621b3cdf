#!/bin/sh
# $1 the name of the host, $2 the one before: /etc/hosts has $1 in the place of $2 behind 127.0.1.1, or in a row of its
# own. All other rows stay as they are; a power cut leaves the old or the new file.

. ../runs/journal_intends.sh

set -e
there=/dev/null
new=$(mktemp /etc/.hosts.XXXXXX); trap 'rm -f "$new"' EXIT
if [ -f /etc/hosts ]; then there=/etc/hosts; cp -p "$there" "$new"; else chmod 0644 "$new"; fi
name=$1 old=$2 LC_ALL=C awk '
  BEGIN { name = ENVIRON["name"]; old = ENVIRON["old"]; if (old == name) old = "" }
  $1 == "127.0.1.1" {
    for (i = 2; i <= NF && $i !~ /^#/; i++) {
      if (old != "" && $i == old) $i = name
      else if (old != "" && index($i, old ".") == 1) $i = name substr($i, length(old) + 1)
      if ($i == name) has = 1
    }
  }
  { print }
  END { if (!has) print "127.0.1.1\t" name }
' "$there" >"$new"
sync "$new"
intends /etc/hosts "$new"
mv -fT "$new" /etc/hosts
sync /etc
