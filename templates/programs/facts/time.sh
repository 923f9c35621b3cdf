#!/bin/sh
# Which service keeps the clock, whether it runs and does, and which servers it asks, where $1 or $2 names some: our
# file of systemd-timesyncd or of chrony. By the shell alone where there is none. busctl starts a timesyncd that was
# stopped, --auto-start=no or not (systemd 257), and timedatectl a service that writes below /var/tmp.

if [ -x /usr/sbin/chronyd ]; then
  echo 'service chrony'
  if [ -e /run/chrony/chronyd.pid ]; then
    echo running
    if timeout -k 2 10 chronyc -n tracking | grep -q '^Leap status *: Normal'; then echo synchronised; fi
    if [ -e "$2" ]; then
      timeout -k 2 10 chronyc -N -c sources -a | while IFS=, read -r _ _ name _; do printf 'asks %s\n' "$name"; done
    fi
  fi
elif [ -x /usr/lib/systemd/systemd-timesyncd ]; then
  echo 'service systemd-timesyncd'
  if [ -d /run/systemd/timesync ]; then
    echo running
    if [ -e /run/systemd/timesync/synchronized ]; then echo synchronised; fi
    if [ -e "$1" ]; then
      name=org.freedesktop.timesync1
      busctl --timeout=10 get-property $name /org/freedesktop/timesync1 $name.Manager SystemNTPServers |
        while IFS= read -r row; do printf 'servers %s\n' "$row"; done
    fi
  fi
fi
