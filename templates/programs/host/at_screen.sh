#!/bin/sh
# Sets $screen to the unit of the login screen that runs, or to nothing. at_screen prints who is logged in on a desktop,
# a name a line (loginctl(1)): a person on a text console or by ssh is none of them.

screen=
for unit in gdm gdm3 lightdm sddm; do
  # shellcheck disable=SC2034 # it is for the caller
  if [ -e "/sys/fs/cgroup/system.slice/$unit.service/cgroup.procs" ]; then screen=$unit.service; fi
done
at_screen() {
  timeout -k 2 20 loginctl --no-legend list-sessions | while read -r id _; do
    timeout -k 2 20 loginctl show-session "$id" -p Name -p Class -p Type | (
      name='' class='' type=''
      while IFS='=' read -r key value; do
        case $key in Name) name=$value ;; Class) class=$value ;; Type) type=$value ;; esac
      done
      case $class,$type in user,x11 | user,wayland) printf '%s\n' "$name" ;; esac
    )
  done
}
