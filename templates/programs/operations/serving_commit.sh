#!/bin/sh
# the trial is over: from now on the port opens with the server, and what the watch did before counts no more


set -e
rm -f /var/lib/sparkrig/serve/trial /var/lib/sparkrig/serve/events
rm -rf /var/lib/sparkrig/serve/before
sync -f /var/lib/sparkrig/serve
if [ -e /etc/systemd/system/sparkrig-serve-port.socket ]; then systemctl start sparkrig-serve-port.socket; fi
