#!/bin/sh
# service_names: the named services of a host, as sparkrig/serving/served.py has their names, no more than 8;
# services_in FOLDER: the same of a copy of /etc/sparkrig/serve; service_paths NAME: every file that a deploy writes


services_in() {
  count=0
  for each in "$1"/*/serve.json; do
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
service_names() { services_in "/etc/sparkrig/serve"; }
service_paths() {
  printf '%s\n' "/etc/sparkrig/serve/$1/serve.json" "/etc/sparkrig/serve/$1/serve.env" \
    "/usr/local/lib/sparkrig/serve/$1/start.sh" "/usr/local/lib/sparkrig/serve/$1/watch.py"
  for each in .service -port.socket -port.service -watch.service; do
    printf '%s\n' "/etc/systemd/system/sparkrig-serve-$1$each"
  done
}
