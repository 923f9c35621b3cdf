#!/bin/sh
# sudo drops SSH_CONNECTION, so the first ancestor that has it is asked.


pid=$$
set --
while [ "${pid:-0}" -gt 1 ]; do
  set -- "$@" "/proc/$pid/environ"
  parent=
  while read -r key value; do case $key in PPid:) parent=$value; break ;; esac; done <"/proc/$pid/status"
  pid=$parent
done
read -r _ _ address _ <<EOF
$(cat "$@" 2>/dev/null | tr '\0' '\n' | sed -n '/^SSH_CONNECTION=./{s/^SSH_CONNECTION=//p;q}')
EOF
if [ -n "$address" ]; then printf 'ssh %s\n' "$address"; fi
left=60 # a NetworkManager that is just starting is waited for, or still activates what it can after a boot
while :; do
  if devices=$(nmcli -t -f DEVICE,STATE,CON-UUID device 2>/dev/null); then
    case $devices in *:connecting* | *:disconnected* | *:unavailable*) ;; *) break ;; esac
    [ "$(nmcli -t -f STARTUP general 2>/dev/null)" = starting ] || break
    left=$((left - 2))
  else
    case $(systemctl is-active NetworkManager 2>/dev/null) in
    activating) left=$((left - 1)) ;;
    active) left=$((left - 20)) ;; # it came up between the two questions
    *) break ;;
    esac
  fi
  [ $left -gt 0 ] || break
  sleep 1
done
# only now: a link that was still being brought up would have its addresses and MTU of before
set -f # a line of JSON has no need of its blanks
# shellcheck disable=SC2046
printf 'addr %s\n' "$(printf '%s ' $(ip -j addr show))"
# shellcheck disable=SC2046
printf 'route %s\n' "$(printf '%s ' $(ip -4 -j route show table all))"
set +f
. ./network_each.sh
port_row() {
  { read -r carrier <"/sys/class/net/$1/carrier"; } 2>/dev/null || carrier=
  printf 'port %s %s %s %s %s\n' "$1" "${2:--}" "$carrier" "$3" "$4"
}
each_netdev port_row
if [ -n "$devices" ]; then
  printf 'nm running\n'
  while IFS= read -r row; do printf 'device %s\n' "$row"; done <<EOF
$devices
EOF
  set --
  while IFS= read -r row; do
    case ${row%%:*} in '' | *[!0-9A-Za-z-]*) continue ;; esac # what a newline in a file's name left
    case $row in *:802-3-ethernet:*) printf 'profile %s\n' "$row"; set -- "$@" "${row%%:*}" ;; esac
  done <<EOF
$(nmcli -t -f UUID,TYPE,FILENAME connection show)
EOF
  if [ $# -gt 0 ]; then nmcli -t -f connection.uuid,connection.id,connection.interface-name,connection.autoconnect,connection.autoconnect-priority,802-3-ethernet.mtu,ipv4.method,ipv4.addresses,ipv4.never-default,ipv4.may-fail,ipv6.method,802-3-ethernet.mac-address,match.interface-name connection show "$@" | sed '/^$/d; s/^/property /'; fi
fi
set -- /run/netplan /etc/netplan /lib/netplan
. ./network_netplan.sh
