#!/bin/sh
# the trial is over: from now on the port opens with the server


set -e
rm -f /var/lib/sparkrig/serve/trial
rm -rf /var/lib/sparkrig/serve/before
sync -f /var/lib/sparkrig/serve
if [ -e /etc/systemd/system/sparkrig-serve-port.socket ]; then systemctl start sparkrig-serve-port.socket; fi
