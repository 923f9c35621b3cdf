"""T3: a standing Ray cluster on the pair, with real docker, systemd and links, and a stand-in for Ray.

Real Ray is in tests/ray: its head needs more memory than a guest has (lab/standin_ray.py).
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lab import pair as lab
from lab.standin_image import RAY, build
from sparkrig.host.ray import UNIT
from sparkrig.resources import ray
from sparkrig.serving import served
from tests.faults.record import Seen
from tests.lab.commands import assert_state, deploy, run
from tests.lab.guests import Guest, Pair
from tests.lab.links import wait_for_carrier
from tests.lab.ray_cluster import TOKEN, carry, inventory, left, until_missing, until_whole
from tests.lab.serving import TWO, planned, serve, unit, until_it_answers, wrong

DEPLOY = "deploys/ray.py"
# what a hand leaves beside a unit that stays as it was declared
DROP_IN = f"""
sudo mkdir -p /run/systemd/system/{UNIT}.service.d &&
printf '[Service]\\nExecStart=\\nExecStart=/usr/bin/docker run --rm --name {UNIT} --entrypoint sleep %s 600\\n' \\
  {{image}} | sudo tee /run/systemd/system/{UNIT}.service.d/hand.conf >/dev/null &&
sudo systemctl daemon-reload && sudo systemctl restart {UNIT} &&
for try in $(seq 60); do sudo docker container inspect {UNIT} >/dev/null 2>&1 && break; sleep 1; done
"""


@pytest.fixture
def declared(deployed: Pair, tmp_path: Path) -> str:
    """The inventory of the pair with one image of the stand-in on both, and their Ray."""
    id = build(deployed.a.node, engine="ray")
    carry(*deployed)
    assert deployed.b.output(f"sudo docker image inspect -f '{{{{.Id}}}}' {RAY}") == id
    return inventory(tmp_path / "one", repr(id))


def test_a_pair_gets_its_cluster_and_undo_leaves_nothing(declared: str, deployed: Pair, seen: Seen) -> None:
    """Systemd and docker: the unit's own words start a container, and an undo takes all of it. 100 s of CI."""
    before = [left(guest) for guest in deployed]
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
    done = deploy(inventory=declared, file=DEPLOY)
    assert done.code == 0, done.stderr[-3000:]
    lab.power("spark-b", on=False)
    until_missing(declared, "spark-b")
    alone = deploy(inventory=declared, file=DEPLOY)
    assert alone.code != 0 and "spark-b" in alone.stderr, "a pair is deployed as one"
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
    done = deploy(inventory=declared, file=DEPLOY)
    assert done.code == 0, done.stderr[-3000:]
    lab.cable("spark-a", "p0", plugged=False)
    wait_for_carrier(deployed.b, "p0", "0")
    until_missing(declared, "spark-b")
    deployed.b.output(f"sudo systemctl stop {UNIT}")
    done = deploy(inventory=declared, file=DEPLOY)
    assert done.code == 1 and "enp1s0f0np0 has no carrier" in done.stderr, done.stderr[-3000:]
    assert unit(deployed.b, UNIT) == "inactive"
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
    done = deploy(inventory=declared, file=DEPLOY)
    assert done.code == 0, done.stderr[-3000:]
    other = build(deployed.b.node, engine="ray", name="ray-other:1", entrypoint='["sh"]')
    each = f"{{'a': {declared_image(declared)!r}, 'b': {other!r}}}[name[-1]]"
    two = inventory(tmp_path / "two", each)
    done = deploy(inventory=two, file=DEPLOY)
    assert done.code == 1 and "and a Ray cluster has one" in done.stderr, done.stderr[-3000:]
    deployed.b.output(DROP_IN.format(image=other), timeout=300)
    assert (
        f"it runs {other[:19]}, and the declared image is" in run("sparkrig", "drift", declared, "--json").stdout
    )
    seen("two images: refused before any change; another one that runs: named by drift")


def declared_image(inventory: str) -> str:
    found = re.search(r"sha256:[0-9a-f]{64}", Path(inventory).read_text())
    assert found
    return found[0]


@pytest.mark.exhaustive
def test_a_server_on_it_stops_before_and_starts_after_it(ready: Pair, tmp_path: Path, seen: Seen) -> None:
    """Docker and systemd: a container in another one's processes and memory, and the order of their units."""
    id = build(ready.a.node, engine="ray")
    carry(*ready)
    on_it = inventory(tmp_path / "one", repr(id), f"'node_ssh': True, 'serve_seconds': 60, 'serve_image': {id!r}")
    done = deploy(inventory=on_it, file=DEPLOY)
    assert done.code == 0, done.stderr[-3000:]
    done = serve(on_it, TWO)
    assert done.code == 0, done.stderr[-3000:]
    assert (unit(ready.a), unit(ready.b)) == ("active", "inactive")
    for space in ("pid", "ipc"):
        names = {ready.a.output(SPACE.format(space=space, name=name)) for name in (UNIT, served.UNIT)}
        assert len(names) == 1, names
    assert not {row for row in wrong(on_it)[1] if row[1].startswith(("ray.", "serve."))}
    assert not planned(on_it, TWO)

    ready.a.output(f"sudo systemctl restart {UNIT}", timeout=300)
    until_it_answers(ready.a)
    node, server = (times(ready.a, name) for name in (UNIT, served.UNIT))
    assert server["InactiveEnter"] <= node["InactiveEnter"] <= node["ActiveEnter"] <= server["ActiveEnter"]
    undone = run("sparkrig", "undo", on_it, "--yes")
    assert undone.code == 0 and unit(ready.a) == "inactive" and unit(ready.a, UNIT) == "active", undone.stdout
    seen("on the head alone, in the node's processes; stopped before and started after it; undone, and Ray stays")


SPACE = "sudo readlink /proc/$(sudo docker container inspect -f '{{{{.State.Pid}}}}' {name})/ns/{space}"


def times(guest: Guest, name: str) -> dict[str, int]:
    """When a unit last began and ended, in microseconds of the guest's own clock."""
    rows = guest.output(f"systemctl show {name} -p InactiveEnterTimestampMonotonic,ActiveEnterTimestampMonotonic")
    pairs = (row.split("=") for row in rows.splitlines())
    return {key.removesuffix("TimestampMonotonic"): int(value) for key, value in pairs}
