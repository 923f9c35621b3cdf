#!/bin/sh
# Has sshd read its files again. The connections that it has stay.

for unit in ssh.service sshd.service; do
  if [ "$(systemctl is-active $unit)" = active ]; then
    timeout -k 2 50 systemctl reload $unit
    exit
  fi
done
pid=$(cat /run/sshd.pid 2>/dev/null) && kill -HUP "$pid"
