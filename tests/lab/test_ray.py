"""T3: a standing Ray cluster on the pair, with real docker, systemd and links, and a stand-in for Ray.

Real Ray is in tests/ray: its head needs more memory than a guest has (lab/standin_ray.py).
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path

import pytest

from lab import pair as lab
from lab import ssh
from lab.standin_image import RAY, build
from sparkrig.host.ray import PORT, STATE, UNIT
from sparkrig.resources import ray
from tests.faults.record import Seen
from tests.lab.commands import assert_state, deploy, run
from tests.lab.guests import Guest, Pair
from tests.lab.inventories import inventory_with
from tests.lab.links import wait_for_carrier
from tests.lab.serving import unit, wrong

DEPLOY = "deploys/ray.py"
TOKEN = "c4n4ry" * 8
JOIN_S = 300  # of an emulated guest, from its power to its node


@pytest.fixture
def declared(deployed: Pair, tmp_path: Path) -> str:
    """The inventory of the pair with one image of the stand-in on both, and their Ray."""
    id = build(deployed.a.node, engine="ray")
    carry(deployed)
    assert deployed.b.output(f"sudo docker image inspect -f '{{{{.Id}}}}' {RAY}") == id
    token = tmp_path / "token"
    token.write_text(f"{TOKEN}\n")
    return inventory(tmp_path / "one", repr(id), token)


def inventory(folder: Path, image: str, token: Path) -> str:
    """image: as Python text, which may ask for `name`."""
    secrets = {"RAY_AUTH_TOKEN": f"file:{token}"}
    small = "'ray_memory_gib': 0.5, 'ray_store_gib': 0.1, 'ray_wait': 30"
    return inventory_with(folder, f"'ray_image': {image}, 'secrets': {secrets!r}, {small}")


def carry(pair: Pair) -> None:
    """Take the image from spark-a to spark-b through this machine; its ID stays."""
    out = ssh.command(pair.a.node, f"sudo docker save {RAY}")
    into = ssh.command(pair.b.node, "sudo docker load")
    with subprocess.Popen(out, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as source:
        subprocess.run(into, stdin=source.stdout, check=True, timeout=300, capture_output=True)
    assert source.returncode == 0


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


def test_a_pair_gets_its_cluster_and_undo_leaves_nothing(declared: str, deployed: Pair, seen: Seen) -> None:
    """Systemd and docker: the unit's own words start a container, and an undo takes all of it. 100 s of CI."""
    before = [left(guest) for guest in deployed]
    done = deploy(inventory=declared, file="deploys/secrets.py")
    assert done.code == 0, done.stderr[-3000:]
    done = deploy(inventory=declared, file=DEPLOY)
    assert done.code == 0, done.stderr[-3000:]
    for guest in deployed:
        assert unit(guest, UNIT) == "active"
        assert TOKEN not in guest.output(f"cat {ray.UNIT_FILE}; ps -eo args")
    rows = {id for _, id in wrong(declared)[1]}
    assert not {id for id in rows if id.startswith("ray.")}, rows
    assert_state(declared, "tests/state/test_ray.py")
    again = deploy("--json", inventory=declared, file=DEPLOY)
    steps = {op["name"]: op["success"] for op in json.loads(again.stdout)["results"]["operations"]}
    assert again.code == 0 and {name for name, hosts in steps.items() if hosts} == set(), again.stderr[-3000:]
    assert steps.keys() >= {"Ray | node", "Ray | all nodes join"}
    done = run("sparkrig", "undo", declared, "--yes")
    assert done.code == 0, done.stdout + done.stderr
    assert [left(guest) for guest in deployed] == before
    seen("two nodes joined, found settled, undone: no unit, container, socket, shared memory or file is left")


@pytest.mark.exhaustive
def test_who_was_off_joins_by_itself_whoever_leads(declared: str, deployed: Pair, seen: Seen) -> None:
    """A power cut and a boot of each half: nothing but systemd brings the cluster back."""
    for file in ("deploys/secrets.py", DEPLOY):
        done = deploy(inventory=declared, file=file)
        assert done.code == 0, done.stderr[-3000:]
    lab.power("spark-b", on=False)
    end = time.monotonic() + JOIN_S
    while "spark-b is missing" not in run("sparkrig", "drift", declared, "--json").stdout:
        assert time.monotonic() < end
    waited = deploy(inventory=declared, file=DEPLOY)
    assert waited.code != 0, "a pair is deployed as one"
    lab.power("spark-b", on=True)
    until_whole(declared)
    lab.cut_power("spark-a")
    lab.power("spark-a", on=True)
    until_whole(declared)
    seen("spark-b was off and joined again; the head was cut off, and both are there again")


@pytest.mark.exhaustive
def test_a_rail_that_is_cut_is_found_and_keeps_a_node_from_starting(
    declared: str, deployed: Pair, seen: Seen
) -> None:
    """The link itself: a node is lost with its cable, is no reason to start another, and joins when it is back."""
    for file in ("deploys/secrets.py", DEPLOY):
        done = deploy(inventory=declared, file=file)
        assert done.code == 0, done.stderr[-3000:]
    lab.cable("spark-a", "p0", plugged=False)
    wait_for_carrier(deployed.b, "p0", "0")
    end = time.monotonic() + JOIN_S
    while "spark-b is missing" not in run("sparkrig", "drift", declared, "--json").stdout:
        assert time.monotonic() < end
    deployed.b.output(f"sudo systemctl stop {UNIT}")
    done = deploy(inventory=declared, file=DEPLOY)
    assert done.code == 1 and "Ray is not started" in done.stderr, done.stderr[-3000:]
    lab.cable("spark-a", "p0", plugged=True)
    wait_for_carrier(deployed.b, "p0", "1")
    deployed.b.output(f"sudo systemctl start {UNIT}")
    until_whole(declared)
    seen("a cut rail: spark-b was missing, no node was started, and it joined once the cable was back")


@pytest.mark.exhaustive
def test_two_images_are_refused_and_one_that_runs_in_the_place_of_the_declared_is_found(
    declared: str, deployed: Pair, tmp_path: Path, seen: Seen
) -> None:
    """Docker: which image a container runs, and which one the declared ID leads to."""
    for file in ("deploys/secrets.py", DEPLOY):
        done = deploy(inventory=declared, file=file)
        assert done.code == 0, done.stderr[-3000:]
    other = build(deployed.b.node, engine="ray", name="ray-other:1", entrypoint='["sh"]')
    each = f"{{'a': {declared_image(declared)!r}, 'b': {other!r}}}[name[-1]]"
    two = inventory(tmp_path / "two", each, tmp_path / "token")
    done = deploy(inventory=two, file=DEPLOY)
    assert done.code == 1 and "and a Ray cluster has one" in done.stderr, done.stderr[-3000:]
    hand = f"sudo docker run -d --name {UNIT} --entrypoint sleep {other} 600"
    deployed.b.output(f"sudo docker rm -f {UNIT}; {hand}")
    assert ("spark-b", "ray.unit") in wrong(declared)[1]
    seen("two images: refused before any change; another one that runs: named by drift")


def declared_image(inventory: str) -> str:
    found = re.search(r"sha256:[0-9a-f]{64}", Path(inventory).read_text())
    assert found
    return found[0]
