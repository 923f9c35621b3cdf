#!/bin/sh
# end_trial: no timer boots the earlier kernel any more


trial=/var/lib/sparkrig/update/trial units=/etc/systemd/system
end_trial() {
  if [ -e $trial ]; then rm -f $trial && sync -f "${trial%/*}"; fi
  if [ -e $units/sparkrig-update-trial.timer ]; then
    systemctl -q disable --now sparkrig-update-trial.timer 2>/dev/null
    rm -f $units/sparkrig-update-trial.timer $units/sparkrig-update-trial.service
    systemctl daemon-reload
  fi
}
