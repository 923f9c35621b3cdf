#!/bin/sh
# service_names: sets $services to the named services of a host, as sparkrig/serving/served.py has their names, no more
# than 8, without a process; services_in FOLDER: to those of a copy of /etc/sparkrig/serve; service_paths NAME: prints
# every file that a deploy writes


services_in() {
  services='' numbered=0
  for service in "$1"/*/serve.json; do
    [ -f "$service" ] || continue
    service=${service%/serve.json} service=${service##*/}
    case $service in
    *[!a-z0-9-]* | -* | *- | port | watch | memory | *-port | *-watch | *-memory | ?????????????????????????*) continue ;;
    esac
    numbered=$((numbered + 1))
    if [ $numbered -gt 8 ]; then break; fi
    services="$services $service"
  done
}
service_names() { services_in "/etc/sparkrig/serve"; }
service_paths() {
  printf '%s\n' "/etc/sparkrig/serve/$1/serve.json" "/etc/sparkrig/serve/$1/serve.env" \
    "/usr/local/lib/sparkrig/serve/$1/start.sh" "/usr/local/lib/sparkrig/serve/$1/steps.py" \
    "/usr/local/lib/sparkrig/serve/$1/watch.py" "/usr/local/lib/sparkrig/serve/$1/brake.sh"
  for each in .service -port.socket -port.service -watch.service; do
    printf '%s\n' "/etc/systemd/system/sparkrig-serve-$1$each"
  done
}
