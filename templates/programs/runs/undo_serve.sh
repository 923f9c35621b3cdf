#!/bin/sh
# The units are what their files say again, and a server whose files are back is started; nobody waits for it.


. ../serving/served_stop.sh

rm -rf /var/lib/sparkrig/serve
systemctl daemon-reload
. ../serving/served_link.sh

if [ -e /etc/systemd/system/sparkrig-serve.service ]; then systemctl start --no-block sparkrig-serve.service; fi
