#!/bin/sh
# Most hosts have no such unit, or have its mark, and are asked nothing more. Only root can see the mark.

for f in /etc/systemd/system /run/systemd/system /usr/local/lib/systemd/system /usr/lib/systemd/system; do
  [ -e "$f/nvidia-spark-run-apt-upgrade-once.service" ] || continue
  read -r id </proc/sys/kernel/random/boot_id
  printf 'first-upgrade boot=%s\n' "$id"
  if [ -e /var/lib/nvidia-spark-run-apt-upgrade-once/done ]; then printf 'first-upgrade done=yes\n'; fi
  printf 'first-upgrade \n'
  while IFS= read -r row; do printf 'first-upgrade %s\n' "$row"; done <<EOF
$(systemctl show -p Id,LoadState,UnitFileState,ActiveState,Job nvidia-spark-run-apt-upgrade-once.service reboot.target)
EOF
  break
done
