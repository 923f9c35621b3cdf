"""NVIDIA's own upgrade at the first start of a Spark."""

from __future__ import annotations

from sparkrig.facts.noun import Noun
from sparkrig.host import first_upgrade

# Most hosts have no such unit, or have its mark, and are asked nothing more. Only root can see the mark.
LOOK = rf"""
for f in /etc/systemd/system /run/systemd/system /usr/local/lib/systemd/system /usr/lib/systemd/system; do
  [ -e "$f/{first_upgrade.UNIT}" ] || continue
  read -r id </proc/sys/kernel/random/boot_id
  printf '{first_upgrade.WORD} boot=%s\n' "$id"
  if [ -e {first_upgrade.MARK} ]; then printf '{first_upgrade.WORD} done=yes\n'; fi
  printf '{first_upgrade.WORD} \n'
  systemctl show -p Id,LoadState,UnitFileState,ActiveState,Job {first_upgrade.UNIT} reboot.target |
    while IFS= read -r row; do printf '{first_upgrade.WORD} %s\n' "$row"; done
  break
done
""".strip("\n")


class FirstUpgrade(Noun[first_upgrade.FirstUpgrade]):
    """The unit, its mark, and the boot that they are of."""

    parse = staticmethod(first_upgrade.parse)
    script = f"{LOOK}\n"
