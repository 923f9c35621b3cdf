#!/bin/sh
# profile_rows: of what ask_manager found, `device NETDEV:STATE:UUID` of each netdev and the profile that is active
# there, and of each Ethernet profile `profile UUID:TYPE:FILE` and a row `property` for each of its properties. They
# are as nmcli -t prints them: a text of JSON escapes with the same character.

# shellcheck disable=SC2154 # value_of sets it (network_manager.sh)
of_active() { if value_of Uuid "$2"; then active="$active$1 $value$line"; fi; }
device_row() {
  if value_of Real "$2" && [ "$value" = false ]; then return; fi
  value_of Interface "$2" || return 0
  netdev=$value word=unknown uuid=''
  if value_of State "$2"; then
    case $value in
    10) word=unmanaged ;;
    20) word=unavailable ;;
    30) word=disconnected ;;
    [4-9]0) word=connecting ;;
    100) word=connected ;;
    110) word=deactivating ;;
    120) word='connection failed' ;;
    esac
  fi
  if value_of ActiveConnection "$2"; then
    case $line$active in *"$line$value "*) uuid=$line$active uuid=${uuid##*"$line$value "} uuid=${uuid%%"$line"*} ;; esac
  fi
  printf 'device %s:%s:%s\n' "$netdev" "$word" "$uuid"
}
of_settings() { if value_of Filename "$2"; then paths="$paths path $1" files="$files=$value$line"; fi; }
# nmcli ends at a profile that was removed since
properties_read() {
  paths='' files='' properties=''
  each_object /Settings/ of_settings
  # shellcheck disable=SC2086 # a path has no blanks
  [ -z "$paths" ] || properties=$(nmcli -t -f connection.type,connection.uuid,connection.id,connection.interface-name,connection.autoconnect,connection.autoconnect-priority,802-3-ethernet.mtu,ipv4.method,ipv4.addresses,ipv4.never-default,ipv4.may-fail,ipv6.method,802-3-ethernet.mac-address,match.interface-name connection show $paths 2>/dev/null)
}
profile_rows() {
  active='' line='
'
  each_object /ActiveConnection/ of_active
  each_object /Devices/ device_row
  properties_read || { ask_manager; properties_read || :; }
  set -f
  ifs=$IFS IFS=$line
  # shellcheck disable=SC2086 # a row each
  set -- $files
  kind=''
  for row in $properties; do
    case $row in
    connection.type:*)
      kind=${row#*:} file=${1#=}
      if [ $# -gt 0 ]; then shift; fi
      continue
      ;;
    esac
    [ "$kind" = 802-3-ethernet ] || continue
    case $row in connection.uuid:*) printf 'profile %s:%s:%s\n' "${row#*:}" "$kind" "$file" ;; esac
    printf 'property %s\n' "$row"
  done
  IFS=$ifs
  set +f
}
