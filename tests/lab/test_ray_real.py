"""T3: real Ray on the pair, in docker containers that systemd starts: what no stand-in says of its processes.

Its head and workers take more memory than a guest has, so the guests get swap; a GPU is declared, none is there.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from lab import pair as lab
from lab import ssh
from sparkrig.host.ray import UNIT
from sparkrig.resources import ray
from tests.faults.record import Seen
from tests.lab import real_ray
from tests.lab.commands import assert_state, deploy, run
from tests.lab.guests import Guest, Pair
from tests.lab.links import wait_for_carrier
from tests.lab.ray_cluster import TOKEN, carry, inventory, left, until_missing, until_whole
from tests.lab.serving import unit, wrong

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(3600)]

DEPLOY = "deploys/ray.py"
SIZES = "'ray_memory_gib': 1, 'ray_store_gib': 0.1, 'ray_wait': 120, 'ray_cpus': 1"
SWAP = (
    "sudo fallocate -l 2GiB /more && sudo chmod 600 /more && sudo mkswap -q /more && sudo swapon /more && "
    "echo '/more none swap sw 0 0' | sudo tee -a /etc/fstab >/dev/null"
)
WAITS = (
    "import ray, time; ray.init(); print(ray.get(ray.remote(num_gpus=1)(lambda: time.sleep(600) or 1).remote()))"
)


@pytest.fixture
def declared(deployed: Pair, tmp_path: Path) -> str:
    """The inventory of the pair with real Ray in one image on both."""
    for guest in deployed:
        guest.output(SWAP)
    id = real_ray.install(deployed.a.node, tmp_path)
    carry(*deployed, image=real_ray.NAME)
    return inventory(tmp_path / "one", repr(id), sizes=SIZES)


def steps_that_change(declared: str) -> set[str]:
    again = deploy("--json", inventory=declared, file=DEPLOY)
    assert again.code == 0, again.stderr[-3000:]
    return {op["name"] for op in json.loads(again.stdout)["results"]["operations"] if op["success"]}


def gathered(declared: str) -> str:
    done = run("sparkrig", "bandwidth", declared, "--ray")
    assert done.code == 0, done.stdout + done.stderr
    return next(line for line in done.stdout.splitlines() if "all_gather of" in line).strip()


def job(head: Guest) -> subprocess.Popen[bytes]:
    """A job that takes a GPU for ten minutes, begun on the head."""
    line = f"sudo docker exec {UNIT} python3 -c '{WAITS}'"
    return subprocess.Popen(ssh.command(head.node, line), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def test_real_ray_stands_and_whoever_was_lost_joins_again(declared: str, deployed: Pair, seen: Seen) -> None:
    before = [left(guest) for guest in deployed]
    for file in ("deploys/secrets.py", DEPLOY):
        done = deploy(inventory=declared, file=file)
        assert done.code == 0, done.stderr[-3000:]
    for guest in deployed:
        assert unit(guest, UNIT) == "active" and "raylet" in guest.output("ps -eo args")
        assert TOKEN not in guest.output(f"cat {ray.UNIT_FILE}; ps -eo args")
    rows = {id for _, id in wrong(declared)[1]}
    assert not {id for id in rows if id.startswith("ray.")}, rows
    assert_state(declared, "tests/state/test_ray.py")
    assert steps_that_change(declared) == set()
    told = gathered(declared)

    lab.power("spark-b", on=False)
    until_missing(declared, "spark-b")
    lab.power("spark-b", on=True)
    until_whole(declared)
    lab.cut_power("spark-a")
    until_whole(declared)

    running = job(deployed.a)
    lab.cable("spark-a", "p0", plugged=False)
    wait_for_carrier(deployed.b, "p0", "0")
    until_missing(declared, "spark-b")
    lab.cable("spark-a", "p0", plugged=True)
    wait_for_carrier(deployed.b, "p0", "1")
    until_whole(declared)
    running.kill()
    running.wait()

    done = run("sparkrig", "undo", declared, "--yes")
    assert done.code == 0, done.stdout + done.stderr
    assert [left(guest) for guest in deployed] == before
    seen(f"{told}; a worker off, the head cut, a rail cut while a job ran: joined again; undone without a trace")
