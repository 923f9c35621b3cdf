"""A standing Ray cluster on the pair: its image, its inventory, and what is seen of it."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from lab import ssh
from sparkrig.resources import ray
from tests.lab.commands import run
from tests.lab.guests import Guest, Pair
from tests.lab.inventories import inventory_with
from tests.lab.serving import wrong

DEPLOY = "deploys/ray.py"
TOKEN = "c4n4ry" * 8
JOIN_S = 300  # of an emulated guest, from its power to its node
SMALL = "'ray_memory_gib': 0.5, 'ray_store_gib': 0.1, 'ray_wait': 30"


def inventory(folder: Path, image: str, token: Path, sizes: str = SMALL) -> str:
    """image: as Python text, which may ask for `name`; sizes: settings of Ray, as Python text."""
    token.write_text(f"{TOKEN}\n")
    secrets = {"RAY_AUTH_TOKEN": f"file:{token}"}
    return inventory_with(folder, f"'ray_image': {image}, 'secrets': {secrets!r}, {sizes}")


def carry(pair: Pair, image: str) -> None:
    """Take an image from spark-a to spark-b through this machine; its ID stays."""
    out = ssh.command(pair.a.node, f"sudo docker save {image}")
    into = ssh.command(pair.b.node, "sudo docker load")
    with subprocess.Popen(out, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as source:
        subprocess.run(into, stdin=source.stdout, check=True, timeout=900, capture_output=True)
    assert source.returncode == 0


def left(guest: Guest) -> str:
    """What of Ray is there: units, processes, sockets, shared memory, files."""
    return guest.output(
        f"ls -d {ray.UNIT_FILE} /etc/systemd/system/*.wants/{ray.UNIT}.service {ray.STATE} /tmp/ray 2>/dev/null; "
        f"sudo docker ps -aq --filter name={ray.UNIT}; pgrep -f '[r]ay start|[r]aylet|[g]cs_server'; "
        f"sudo ls /dev/shm; systemctl list-units --all --plain --no-legend '{ray.UNIT}*'; "
        f"sudo ss -Hltn '( sport = :{ray.PORT} or sport = :{ray.DASHBOARD_PORT} )'; true"
    )


def amiss(inventory: str) -> set[tuple[str, str]]:
    """What drift finds of Ray that is not as declared."""
    return {row for row in wrong(inventory)[1] if row[1].startswith("ray.")}


def until_whole(inventory: str) -> None:
    """Wait until drift finds nothing of Ray any more, without a deploy."""
    end = time.monotonic() + JOIN_S
    while rows := amiss(inventory):
        assert time.monotonic() < end, rows
        time.sleep(5)


def until_missing(inventory: str, name: str) -> None:
    """Wait until the head calls the node of a host lost."""
    end = time.monotonic() + JOIN_S
    while f"{name} is missing" not in run("sparkrig", "drift", inventory, "--json").stdout:
        assert time.monotonic() < end
