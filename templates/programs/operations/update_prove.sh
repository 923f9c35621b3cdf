#!/bin/sh
# The kernel that runs is proven: no timer boots another one, and GRUB's default is what it was before the update. On
# the way back, what came new goes first: it would be the newest kernel.

. ./update_note.sh
. ./update_grub.sh
. ./update_trial.sh

end_trial
grub-editenv /boot/grub/grubenv unset next_entry 2>/dev/null || :
if leads_back; then
  # shellcheck disable=SC2046 # names of packages
  set -- $(installed $(rows new))
  if [ $# -gt 0 ]; then
    away() {
      DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 -o APT::Get::AutomaticRemove=false \
        --allow-change-held-packages "$@"
    }
    if away -s remove "$@" | sed -n 's/^Remv \([^ :]*\).*/new \1/p' | grep -vqxFf $here/plan; then
      echo 'what came with the update cannot be removed alone' >&2
      exit 1
    fi
    away remove "$@" || { echo 'what came with the update cannot be removed' >&2; exit 1; }
  fi
fi
free_default && note proven
