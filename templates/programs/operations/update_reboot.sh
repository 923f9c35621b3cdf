#!/bin/sh
# The reboot begins once this has ended, and the connection with it.

systemd-run -q --on-active=1 --timer-property=AccuracySec=100ms systemctl reboot
