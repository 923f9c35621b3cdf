#!/bin/sh
# $1 the kernel that is to be booted, $2 seconds for its proof. Where it is not the one that runs, GRUB boots it once,
# and a timer boots the earlier one again if it is not proven by then: what comes up without its network is so no
# Spark that is lost, and neither is what comes up in systemd's emergency mode. The trial is off the disk before that
# timer reboots, so it does so once. The way back leads to a kernel that did run, which becomes the default at once.
# The step is noted before GRUB has anything to boot: whatever boots from here on is this update's.

. ./update_note.sh
. ./update_grub.sh
. ./update_trial.sh

if leads_back; then
  end_trial
  keep_default "$1" && note armed
  exit
fi
if [ "$1" = "$(uname -r)" ]; then
  end_trial
  note armed
  exit
fi
entry=$(entry_of "$1") || exit
one_shot && keep_default "$(uname -r)" || exit
printf '%s\n' "$1" >$trial || exit
cat >$units/sparkrig-update-trial.service <<EOF || exit
[Unit]
Description=Boot the earlier kernel again: the one of an update is not proven
DefaultDependencies=no
IgnoreOnIsolate=yes
ConditionPathExists=$trial
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'test "\$(uname -r)" = "\$(cat $trial)" || exit 0; rm $trial && sync -f $here && systemctl reboot'
EOF
cat >$units/sparkrig-update-trial.timer <<EOF || exit
[Unit]
Description=The time that the kernel of an update has for its proof
DefaultDependencies=no
IgnoreOnIsolate=yes
[Timer]
OnBootSec=$2
[Install]
WantedBy=sysinit.target emergency.target rescue.target
EOF
systemctl daemon-reload && systemctl -q enable sparkrig-update-trial.timer || exit
note armed || exit
grub-reboot "$entry" || exit
sync
