#!/bin/sh
# ends whatever of it runs, also what has no file any more; what its watch did, and boots that it ended, are of no
# concern to the next


for each in \
  sparkrig-serve-port.socket sparkrig-serve-port.service sparkrig-serve-watch.service sparkrig-serve-memory.service \
  sparkrig-serve.service; do
  systemctl stop "$each" 2>/dev/null || :
  systemctl reset-failed "$each" 2>/dev/null || :
done
docker rm -f sparkrig-serve >/dev/null 2>&1 || :
rm -f /var/lib/sparkrig/serve/events /var/lib/sparkrig/serve/loads
