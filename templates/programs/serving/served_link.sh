#!/bin/sh
# starts with the host where it has a file; by hand, for `systemctl disable` finds nothing once the file is gone


if [ -e /etc/systemd/system/sparkrig-serve.service ]; then
  mkdir -p /etc/systemd/system/multi-user.target.wants
  ln -sf /etc/systemd/system/sparkrig-serve.service /etc/systemd/system/multi-user.target.wants/sparkrig-serve.service
else
  rm -f /etc/systemd/system/multi-user.target.wants/sparkrig-serve.service
fi
if [ ! -e /etc/sparkrig/serve/serve.json ]; then rm -f /etc/sparkrig/serve/ray.env; fi
