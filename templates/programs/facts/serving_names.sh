#!/bin/sh
# service_names [FOLDER]: the named services of a host, or of a run's copy of /etc/sparkrig/serve, as
# sparkrig/serving/served.py has their names, no more than 8; service_paths NAME: every file that a deploy writes for one


service_names() {
  at=${1:-"/etc/sparkrig/serve"} count=0
  for each in "$at"/*/serve.json; do
    [ -f "$each" ] || continue
    each=${each%/serve.json} each=${each##*/}
    case $each in
    *[!a-z0-9-]* | -* | *- | port | watch | memory | *-port | *-watch | *-memory | ?????????????????????????*) continue ;;
    esac
    count=$((count + 1))
    if [ $count -gt 8 ]; then break; fi
    printf '%s\n' "$each"
  done
}
service_paths() {
  printf '%s\n' "/etc/sparkrig/serve/$1/serve.json" "/etc/sparkrig/serve/$1/serve.env" \
    "/usr/local/lib/sparkrig/serve/$1/start.sh" "/usr/local/lib/sparkrig/serve/$1/watch.py"
  for each in .service -port.socket -port.service -watch.service; do
    printf '%s\n' "/etc/systemd/system/sparkrig-serve-$1$each"
  done
}
