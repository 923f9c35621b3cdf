#!/bin/sh
# Has the rules that run follow the files of the firewall: its unit loads them now and at each start where they are
# there, and is gone with its table where they are not.

unit=sparkrig-firewall.service
if [ -e /etc/sparkrig/firewall.nft ]; then
  systemctl daemon-reload
  systemctl --quiet enable $unit
  systemctl reload-or-restart $unit
else
  systemctl stop $unit 2>/dev/null || :
  rm -f /etc/systemd/system/sysinit.target.wants/$unit
  systemctl daemon-reload
  if nft list table inet sparkrig >/dev/null 2>&1; then nft delete table inet sparkrig; fi
fi
