"""A standing Ray cluster of guests: its image, its inventory, what is left of it."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from lab import ssh
from lab.standin_image import RAY
from sparkrig.host.ray import PORT, STATE, UNIT
from sparkrig.resources import ray
from tests.lab.commands import run
from tests.lab.guests import Guest
from tests.lab.inventories import inventory_with
from tests.lab.serving import wrong

TOKEN = "c4n4ry" * 8
JOIN_S = 300  # of an emulated guest, from its power to its node


def inventory(folder: Path, image: str, more: str = "", name: str = "lab") -> str:
    """An inventory of the lab that declares it. image: as Python text, which may ask for `name`; more: data."""
    token = folder.with_suffix(".token")
    token.write_text(f"{TOKEN}\n")
    secrets = {"RAY_AUTH_TOKEN": f"file:{token}"}
    small = "'ray_memory_gib': 0.5, 'ray_store_gib': 0.1, 'ray_wait': 30"
    return inventory_with(folder, f"'ray_image': {image}, 'secrets': {secrets!r}, {small}, {more}", name)


def carry(source: Guest, *others: Guest) -> None:
    """Take the image from one guest to others through this machine; its ID stays."""
    for other in others:
        out = ssh.command(source.node, f"sudo docker save {RAY}")
        into = ssh.command(other.node, "sudo docker load")
        with subprocess.Popen(out, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as saved:
            subprocess.run(into, stdin=saved.stdout, check=True, timeout=300, capture_output=True)
        assert saved.returncode == 0


def left(guest: Guest) -> str:
    """What of Ray is there: units, processes, sockets, shared memory, files."""
    return guest.output(
        f"ls -d {ray.UNIT_FILE} /etc/systemd/system/*.wants/{UNIT}.service {STATE} /tmp/ray 2>/dev/null; "
        f"sudo docker ps -aq --filter name={UNIT}; pgrep -f '[r]ay start'; sudo ls /dev/shm; "
        f"systemctl list-units --all --plain --no-legend '{UNIT}*'; sudo ss -Hltn '( sport = :{PORT} or "
        f"sport = :{ray.DASHBOARD_PORT} )'; true"
    )


def until_whole(inventory: str) -> None:
    """Wait until drift finds nothing of Ray any more, without a deploy."""
    end = time.monotonic() + JOIN_S
    while rows := {row for row in wrong(inventory)[1] if row[1].startswith("ray.")}:
        assert time.monotonic() < end, rows
        time.sleep(5)


def until_missing(inventory: str, name: str) -> None:
    """Wait until the head misses a node."""
    end = time.monotonic() + JOIN_S
    while f"{name} is missing" not in run("sparkrig", "drift", inventory, "--json").stdout:
        assert time.monotonic() < end
