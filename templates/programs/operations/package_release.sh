#!/bin/sh
# $name a package that a deploy installed, $note the file that notes that: removes it once the note is gone. It stays
# where another package came to need it. A unit does it, which outlives the connection and waits while another program
# uses dpkg.

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "${name:?}" 2>/dev/null)" = "$1" ]; }
if [ ! -e "${note:?}" ] && { installed installed || installed config-files; } &&
  dpkg --no-act --purge "$name" >/dev/null 2>&1; then
  systemd-run -q --wait --collect --unit=sparkrig-release -p RuntimeMaxSec=600 /bin/sh -c '
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
      if dpkg --purge '"$name"'; then exit; fi
      sleep 2
    done
    exit 1'
fi
