"""T3: a lone guest gets all that docs/alone.md has, is broken by hand, mended and undone.

What no stand-in proves: that systemd, mkswap, gpasswd and apt do what the programs ask, that a real earlyoom ends
an eater while ssh answers, and that all of it goes again. The desktop is a unit by gdm's name; the GPU's stand-in
takes a cap; earlyoom comes from a repository of the guest's own, for it has no way out.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from sparkrig.resources import clock, oom, swap
from tests.faults.record import Seen
from tests.lab.commands import ROOT, Done, assert_state, deploy, planned, run, wrong
from tests.lab.guests import Guest

pytestmark = pytest.mark.exhaustive  # a boot, two deploys and two undos under emulation

DECLARED = (
    "'docker_users': ['nvidia'], 'headless': True, 'swap_gib': 1, 'adopt': {'/swap.img': 'set-aside'}, "
    "'oom': 'earlyoom', 'gpu_clock_max': 2400"
)
SMI = r"""#!/bin/sh
echo "$*" >>/var/tmp/smi
case $1 in
-lgc) echo "GPU clocks set to \"(gpuClkMin 0, gpuClkMax ${2#*,})\" for GPU 0000000F:01:00.0"; echo "All done." ;;
-rgc) echo "All done." ;;
*) exec /usr/bin/nvidia-smi.lab "$@" ;;
esac
"""
PREPARE = r"""
set -e
sudo mv /usr/bin/nvidia-smi /usr/bin/nvidia-smi.lab
sudo install -m 755 smi /usr/bin/nvidia-smi
printf '[Service]\nExecStart=/bin/sleep infinity\n' | sudo tee /etc/systemd/system/gdm.service
sudo systemctl start gdm.service
sudo systemctl set-default graphical.target
sudo fallocate -l 64MiB /swap.img
sudo chmod 600 /swap.img
sudo mkswap /swap.img
echo '/swap.img none swap sw 0 0' | sudo tee -a /etc/fstab
sudo systemctl daemon-reload
sudo systemctl start swap.img.swap
sudo mkdir /srv/early
sudo mv early.deb Packages /srv/early
echo 'deb [trusted=yes] file:/srv/early ./' | sudo tee /etc/apt/sources.list.d/early.list
"""
EATER = "import time\nheld = []\nwhile True:\n    held.append(b'x' * (4 << 20)); time.sleep(0.02)\n"
# by check, what a person breaks
BREAKS = {
    "host.docker-group": "sudo gpasswd --delete nvidia docker",
    "host.headless": "sudo systemctl set-default graphical.target",
    "host.swap": f"sudo swapoff {swap.SWAP}",
    "host.oom": "sudo systemctl stop earlyoom",
    "host.gpu-clock": f"sudo systemctl stop {clock.UNIT}",
}


@pytest.fixture(scope="module")
def early(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Debian's earlyoom, by apt."""
    folder = tmp_path_factory.mktemp("early")
    subprocess.run(["apt-get", "-q", "download", "earlyoom"], cwd=folder, check=True, capture_output=True)
    [deb] = folder.glob("*.deb")
    return deb


def declared(folder: Path) -> str:
    """The inventory of the lone guest, with all of it."""
    shutil.copytree(ROOT / "inventories", folder / "inventories")
    file = folder / "inventories" / "lab_solo.py"
    old = "_host_data(_SOLO))"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, f"{{**_host_data(_SOLO), {DECLARED}}})"))
    return str(file)


def put(guest: Guest, name: str, content: bytes) -> None:
    """A file in the home folder of a guest."""
    text = base64.b64encode(content).decode()
    guest.output(f"base64 -d >{name} <<'E'\n{text}\nE")


def prepared(guest: Guest, deb: Path) -> None:
    control = subprocess.run(["dpkg-deb", "--field", deb], check=True, capture_output=True, text=True).stdout
    whole = deb.read_bytes()
    rows = f"Filename: ./early.deb\nSize: {len(whole)}\nSHA256: {hashlib.sha256(whole).hexdigest()}\n"
    put(guest, "early.deb", whole)
    put(guest, "Packages", f"{control.rstrip()}\n{rows}".encode())
    put(guest, "smi", SMI.encode())
    guest.output(PREPARE)


def done(what: Done) -> str:
    assert what.code == 0, what.stdout[-2000:] + what.stderr[-3000:]
    return what.stderr


def ended(guest: Guest) -> str:
    """What earlyoom says of an eater that it ended; ssh answers all the while."""
    put(guest, "eater.py", EATER.encode())
    guest.output("(setsid python3 eater.py >/dev/null 2>&1 </dev/null & echo $! >eater.pid)")
    end, slowest = time.monotonic() + 300, 0.0
    while guest.run("kill -0 $(cat eater.pid)").rc == 0:
        asked = time.monotonic()
        assert guest.output("echo alive") == "alive" and asked < end
        slowest = max(slowest, time.monotonic() - asked)
    said = guest.output("sudo journalctl -u earlyoom -o cat | grep 'sending SIG' | tail -n 1")
    assert "python3" in said, said
    return f"{said}; the slowest answer of ssh took {slowest:.1f} s"


def test_all_of_it_comes_is_kept_and_goes(solo: Guest, tmp_path: Path, early: Path, seen: Seen) -> None:
    prepared(solo, early)
    inventory = declared(tmp_path)
    told = done(deploy(inventory=inventory))
    assert "with a login screen (gdm.service) that holds" in told and "as good as root" in told
    assert planned(inventory) == {}, "the second run is empty"
    assert_state(inventory, "tests/state/test_alone.py")
    assert solo.run("systemctl is-active gdm.service").stdout.strip() == "inactive"
    solo.output(BREAKS["host.swap"])
    seen(ended(solo))
    for line in BREAKS.values():
        solo.run(line)
    assert {id for _, id in wrong(run("sparkrig", "drift", inventory, "--json"))} >= BREAKS.keys()
    done(deploy(inventory=inventory))
    assert_state(inventory, "tests/state/test_alone.py")
    for _ in range(2):  # the run that mended it, and the first
        done(run("sparkrig", "undo", inventory, "--yes"))
    assert "docker" not in solo.output("id -nG nvidia").split()
    assert solo.output("systemctl get-default") == "graphical.target"
    assert solo.output("sudo swapon --show=NAME --noheadings") == "/swap.img"
    gone = (swap.SWAP, swap.UNIT_FILE, oom.DROP_IN, oom.UNIT_FILE, clock.UNIT_FILE, clock.LINK, clock.MARK)
    assert solo.output(f"ls -d {' '.join(gone)} 2>/dev/null; true") == ""
    assert solo.output("tail -n 1 /var/tmp/smi") == "-rgc"
