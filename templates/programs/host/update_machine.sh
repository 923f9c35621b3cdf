#!/bin/sh
# machine: sets $of to what tells this machine from others, by the shell alone. ours: whether the record of an update is
# of this machine; an older sparkrig did not say of which one.

machine() {
  of_board='' of_disk=''
  { read -r of_board </sys/class/dmi/id/product_uuid || :; read -r of_disk </etc/machine-id || :; } 2>/dev/null
  of="$of_board/$of_disk"
}
ours() {
  [ -f /var/lib/sparkrig/update/machine ] || return 0
  machine
  read -r of_record </var/lib/sparkrig/update/machine
  [ "$of_record" = "$of" ]
}
