#!/bin/sh
# ask_manager: sets $managed to what NetworkManager has, by one question, a row for each object: its path, and after a
# tab each `NAME VALUE` that is used here, the value in JSON; empty where it does not answer. In a text of JSON each
# quote and tab is escaped, so none can be taken for the end of a value or the begin of another. Only what is used goes
# on: the rest has the names of all wireless networks around. busctl would start a NetworkManager that is stopped.
# each_object KIND DOES: calls DOES with the number and the row of each object of that kind.


ask_manager() {
  managed=$(busctl --auto-start=no --timeout=10 --json=short call org.freedesktop.NetworkManager /org/freedesktop org.freedesktop.DBus.ObjectManager GetManagedObjects 2>/dev/null |
    LC_ALL=C sed -nE '
      s/"(\/org\/[^"\\]*)":\{"/\x01\n\1\x02"/g
      s/"(Interface|State|Real|ActiveConnection|Uuid|Filename|Startup|Version|Checkpoints)":\{"type":"[a-z]+","data":("([^"\\]|\\.)*"|[a-z0-9]+|\[[^]]*\])\}/\x01\1 \2\x02/g
      s/\x02[^\x01]*\x01/\t/g
      s/^[^\x01]*\x01//
      s/\x02.*$/\t/p')
}
each_object() {
  set -f
  ifs=$IFS IFS='
'
  for object in $managed; do
    IFS=$ifs
    case $object in
    "/org/freedesktop/NetworkManager$1"*) "$2" "${object%%	*}" "$object" ;;
    esac
  done
  IFS=$ifs
  set +f
}
# value_of NAME ROW: sets $value to it, without the quotes of a text; fails where there is none
value_of() {
  value=''
  case $2 in *"	$1 "*) ;; *) return 1 ;; esac
  value=${2##*"	$1 "} value=${value%%	*} value=${value#\"}
  value=${value%\"}
}
