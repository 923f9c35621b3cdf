"""T3: an archive of the virtual pair can be read and has no canary, and nothing on the hosts changes.

No test on @fake can show that what real tools, journals and NetworkManager print of identifiers is found.
"""

from __future__ import annotations

import base64
import re
import shlex
from pathlib import Path

import pytest

from sparkrig.explain.tools import explain
from sparkrig.support import archive
from tests.attacks import canaries
from tests.faults import endstate
from tests.lab.commands import LAB, run
from tests.lab.guests import Guest, Pair

PREFIX = "mlx5_core 0000:01:00.0: "  # what the archive takes of the kernel's journal
# A unit of ours says them once more; the archive takes the journals of all of them.
SAYS = "sudo systemd-run --quiet --wait --unit=sparkrig-canary --property=StandardOutput=journal cat /run/canaries"
WIFI = "/etc/NetworkManager/system-connections/Quill Attic 5G.nmconnection"
PROFILE = f"""[connection]
id=Quill Attic 5G
uuid={canaries.PROFILE}
type=wifi
autoconnect=false

[wifi]
ssid=Quill Attic 5G
cloned-mac-address={canaries.KNOWN.macs[0]}

[wifi-security]
key-mgmt=wpa-psk
psk=hushhush1234
"""
# nothing younger than the mark, but for what services write by themselves
YOUNGER = "sudo find /etc /usr /root /home /boot /srv /var/lib/sparkrig -xdev -newer /run/mark"


def plant(guest: Guest) -> None:
    """Canaries of each kind: in the journals of the kernel and of a unit of ours, and a profile of a Wi-Fi."""
    # without colours, which the kernel's journal writes as text
    lines = [re.sub(r"\033\[[0-9;]*m", "", line) for line in canaries.alone()]
    text = base64.b64encode("".join(f"{PREFIX}{line}\n" for line in lines).encode()).decode()
    guest.output(f"echo {text} | base64 -d | sudo tee /run/canaries >/dev/null")
    # a write to /dev/kmsg is one record
    guest.output(
        'while IFS= read -r line; do printf "%s\\n" "$line" | sudo tee /dev/kmsg; done </run/canaries >/dev/null'
    )
    guest.output(SAYS)
    profile, path = base64.b64encode(PROFILE.encode()).decode(), shlex.quote(WIFI)
    guest.output(f"echo {profile} | base64 -d | sudo tee {path} >/dev/null && sudo chmod 600 {path}")
    guest.output(f"sudo nmcli connection load {path}")


def own(guest: Guest) -> list[str]:
    """What identifies the guest itself, which is no canary of ours."""
    line = (
        "cat /etc/machine-id /proc/sys/kernel/random/boot_id; sudo cat /sys/class/dmi/id/product_uuid; "
        "cat /sys/class/net/e*/address; cut -d' ' -f2 /etc/ssh/ssh_host_*_key.pub; "
        "sed -n 's/.*SERIAL[A-Z_]*=\"*\\([^\"]*\\).*/\\1/p' /etc/dgx-release; "
        "nmcli -t -f NAME,UUID connection show | grep -v ^sparkrig- | cut -d: -f2"
    )
    found = [each.strip() for each in guest.output(line).splitlines() if len(each.strip()) > 5]
    assert len(found) > 8, found
    return found


@pytest.mark.promise(5)
def test_an_archive_of_the_pair_has_no_canary_and_changes_nothing(deployed: Pair, tmp_path: Path) -> None:
    for guest in deployed:
        plant(guest)
        guest.output("sudo touch /run/mark && sleep 1")
    before, file = endstate.of(deployed), tmp_path / "sent.tar.gz"

    done = run("sparkrig", "support", LAB, "--yes", "--output", str(file), timeout=900)

    assert done.code == 0, done.stdout + done.stderr
    files = archive.unpack(file.read_bytes(), "it")
    text = "\n".join([*files, *files.values()])
    assert canaries.shown(text, of="\n".join([*canaries.alone(), PROFILE])) == {}
    for guest in deployed:
        names = {form for each in own(guest) for form in (each, each.replace(":", "").replace("-", ""))}
        left = [each for each in names if each.lower() in text.lower()]
        assert left == [], guest.node
    # the canaries were really there to be taken out
    for machine in ("machine-1", "machine-2"):
        for journal in ("kernel", "sparkrig"):
            said = files[f"{machine}/journals/{journal}.txt"]
            assert said.count(PREFIX) >= 20, journal
            assert all(mark in said for mark in ("token-", "key-", "serial-", "ssid-", "user-", "02:00:00:00:00:"))
        assert "ssid-" in files[f"{machine}/tools/nmcli.txt"]
    # and it can still be read
    for machine in ("machine-1", "machine-2"):
        assert explain(files[f"{machine}/tools/packages.txt"]), "explain reads no package list of it"
        assert '"hosts"' in files["drift.json"] and f"{machine}/looks/examination.txt" in files
    for guest in deployed:
        assert guest.output(YOUNGER) == "", guest.node
    assert endstate.differences(before, endstate.of(deployed)) == []

    shown = run("sparkrig", "support", "--open", str(file))
    assert shown.code == 0 and files[archive.CONTENTS].splitlines()[0] in shown.stdout
