"""T3: one model on three virtual Sparks in a ring, and on four at a switch, by vLLM's own multi-node launch.

No test on `@fake` shows that image and weights reach hosts which have no cable to where they came from, that
docker and systemd start every part with its own rank, and that the head's store is reached by each of them: over
the management network in a ring, where no subnet of the fabric is in common, and over the fabric at a switch.
What answers is lab/standin.py: no model computes here.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from lab import NODES, layout, pair
from lab.image import Source
from lab.inventory import host_data
from lab.layout import cluster
from lab.standin_image import NAME, build, weights
from lab.waiting import wait_until
from tests.faults.record import Seen
from tests.lab.commands import CLUSTER, ROOT, STATE, run
from tests.lab.guests import Guest
from tests.lab.inventories import inventory_with
from tests.lab.serving import (
    IDS,
    ONE,
    SETTINGS,
    TWO,
    models,
    planned,
    prepare,
    serve,
    unit,
    until_it_answers,
    wrong,
)

pytestmark = pytest.mark.exhaustive  # images are made, copied and started under emulation

MASTER = {"ring": "10.0.2.", "switch": "192.168.100."}
SIZES = {"ring": "--pipeline-parallel-size 3", "switch": "--tensor-parallel-size 4"}


def launched(guest: Guest) -> str:
    """The words of the server in the container, once start.sh has become it."""

    def words() -> str:
        return guest.output("sudo docker exec sparkrig-serve cat /proc/1/cmdline | tr '\\0' ' '")

    wait_until(
        lambda: "--node-rank" in words(),
        300,
        happened=f"{guest.node} starts no server",
        attempt=f"docker logs sparkrig-serve on {guest.node}",
    )
    return words()


def assert_each_has_its_part(guests: Sequence[Guest], topology: str) -> None:
    for rank, guest in enumerate(guests):
        command = launched(guest)
        assert f"--nnodes {len(guests)} --node-rank {rank} --master-addr {MASTER[topology]}" in command, command
        assert SIZES[topology] in command and ("--headless" in command) == bool(rank), command


@pytest.mark.usefixtures("pair_again")
@pytest.mark.parametrize(("topology", "count"), [("ring", 3), ("switch", 4)])
def test_a_cluster_serves_as_one_loses_a_part_and_serves_again(
    topology: str, count: int, source: Source, tmp_path: Path, seen: Seen
) -> None:
    wanted = cluster(topology, count)
    pair.lay(wanted, source)
    pair.restore(wanted)
    inventory = inventory_with(tmp_path, f"'node_ssh': True, {SETTINGS}", f"lab_{topology}")
    guests = [Guest(node) for node in wanted.nodes]
    prepare(guests, inventory)
    head, last = guests[0], guests[-1]
    done = serve(inventory, TWO, "--data", f"serve_nodes={count}")
    assert done.code == 0, done.stderr[-3000:]
    assert TWO in models(head) and [unit(guest) for guest in guests] == ["active"] * count
    assert_each_has_its_part(guests, topology)
    assert planned(inventory) == {} and wrong(inventory) == (0, set())

    pair.cut_power(last.node)
    until_it_answers(head)
    assert [unit(guest) for guest in guests] == ["active"] * count
    assert_each_has_its_part(guests, topology)
    for _ in range(2):
        undone = run("sparkrig", "undo", inventory, "--yes")
        assert undone.code == 0, undone.stdout + undone.stderr
    assert [unit(guest) for guest in guests] == ["inactive"] * count
    seen(f"{TWO} by {SIZES[topology]}, a part lost its power, served again, undone")


@pytest.mark.usefixtures("pair_again")
def test_another_machine_of_the_lan_is_answered_with_the_key_alone(
    source: Source, tmp_path: Path, seen: Seen
) -> None:
    """No other test has a machine beside the Spark on its management network, which the socket is to answer."""
    wanted = layout.pair(lan=True)
    pair.lay(wanted, source)
    pair.restore(wanted)
    spark, other = map(Guest, NODES)
    shutil.copytree(ROOT / "inventories" / "group_data", tmp_path / "inventories" / "group_data")
    (tmp_path / "deploys").symlink_to(ROOT / "deploys")
    data = {**host_data(spark.node), "serve_image": NAME, "serve_seconds": 60, "memory_gib": 121.7}
    file = tmp_path / "inventories" / "sparks.py"
    head = "from sparkrig.inventory import checked as _checked\n"
    file.write_text(f"{head}sparks = _checked([{(spark.node, data)!r}], __file__)\n")
    env = {**os.environ, "HOME": str(tmp_path), "PYINFRA_PROGRESS": "off", "XDG_STATE_HOME": STATE}
    done = run("pyinfra", "-y", str(file), str(ROOT / CLUSTER))
    assert done.code == 0, done.stderr[-3000:]
    build(spark.node)
    weights(spark.node, f"/srv/models/{IDS[ONE]}")

    done = run("sparkrig", "serve", str(file), ONE, "-y", env=env)
    assert done.code == 0 and ONE in models(spark), done.stderr[-3000:]
    address = spark.output("ip -4 -o addr | grep -o '10[.]0[.]2[.][0-9]*' | head -n 1")
    status = f"curl -s -m 20 -o /dev/null -w '%{{http_code}}' http://{address}:8000/v1/models"
    assert other.run(status).stdout == "000", "without --lan it is not reached at all"

    done = run("sparkrig", "serve", str(file), ONE, "--lan", "-y", env=env)
    assert done.code == 0, done.stderr[-3000:]
    key = (tmp_path / ".config" / "sparkrig" / "keys" / spark.node).read_text()
    assert key.strip() not in done.stdout + done.stderr + file.read_text()
    assert other.run(status).stdout == "401"
    pasted = re.findall("^(?:curl +)?(sed .*)$", done.stdout, re.MULTILINE)[0]
    assert f"http://{address}:8000/" in pasted
    other.output(f"mkdir -p ~/.config/sparkrig/keys && echo {key.strip()} >~/.config/sparkrig/keys/{spark.node}")
    assert f'"id": "{ONE}"' in other.output(pasted)
    seen("from another guest: not reached without --lan; refused without the key, answered with it")
