"""T1: `sparkrig update` on three in a ring and four on a switch, played: never two at once."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from tests.plan.clustered import Cluster
from tests.plan.conftest import well
from tests.plan.update_desk import Played
from tests.plan.update_story import NEW, OLD
from tests.schemas import complaints

RING, SWITCH = Cluster(3, "ring"), Cluster(4, "switch")
A, B, C = (f"@fake/{name}" for name in RING.names)
ALL = {A, B, C}


@pytest.fixture
def desk(tmp_path: Path) -> Played:
    return Played(tmp_path)


def turns(desk: Played) -> list[str]:
    """The hosts in the order in which something of an update was done on them, each stretch once."""
    tasks = ("install", "boot", "reboot", "prove", "close")
    return [name for name, _ in groupby(name for name, task, *_ in desk.state["order"] if task in tasks)]


def open_ones(desk: Played) -> list[str]:
    return [name for name, each in desk.state["sparks"].items() if each["plan"]]


@pytest.mark.parametrize("cluster", [RING, SWITCH], ids=["ring", "switch"])
def test_one_after_the_other_each_with_the_deploy_of_all(desk: Played, cluster: Cluster) -> None:
    done = well(desk.begins_as(cluster).update())
    names = [f"@fake/{name}" for name in cluster.names]
    assert turns(desk) == names
    assert [row for row in desk.state["order"] if row[-1] == "cluster"] == [[*names, "cluster"]] * cluster.count
    assert desk.kernels() == [NEW] * cluster.count and not open_ones(desk)
    assert f"One after the other: {', then '.join(names)}; the next" in " ".join(done.out.split())


def test_what_they_serve_stops_with_the_first_and_starts_with_the_last(desk: Played) -> None:
    """Two of three serve a model together, so the one that is free comes first."""
    done = well(desk.begins_as(RING, serves=(A, B)).update())
    order = desk.state["order"]
    assert turns(desk) == [C, A, B]
    assert [name for name, task, *_ in order if task == "drain"] == [A, B, A, B], (
        "on no host that does not serve it"
    )
    assert order.index([A, "drain"]) > order.index([C, "close"]), "it serves while the free one is updated"
    serves = [row for row in order if row[-1] == "serve"]
    assert serves == [[A, B, C, "serve"]]
    assert order.index(serves[0]) > max(order.index([name, "reboot"]) for name in (A, B, C))
    assert f"{A}: the server starts again once {B} is updated" in done.said


def test_the_others_wait_for_the_first_that_is_not_proven(desk: Played) -> None:
    done = desk.begins_as(SWITCH, dead=True).update()
    said = " ".join(done.said.split())
    assert done.code == 2 and f"{A}: kernel {NEW} did not come up or was not proven in time" in said, done
    assert turns(desk) == [A] and desk.kernels() == [OLD] * 4
    well(desk.update("--back"))
    assert not open_ones(desk) and desk.kernels() == [OLD] * 4


@pytest.mark.parametrize("task", ["begin", "install", "reboot", "close"])
def test_killed_in_the_middle_one_the_same_command_goes_on_with_that_one(desk: Played, task: str) -> None:
    desk.begins_as(RING)
    desk.trouble(**{f"B_{task}": "killed"})
    assert desk.update().code == 137
    before = {name: len(each["steps"]) for name, each in desk.state["sparks"].items() if each["plan"]}
    well(desk.update())
    if begun := [name for name, steps in before.items() if steps]:
        assert begun == [B] and turns(desk)[0] == B, "never two in the middle of an update"
    assert desk.update().code == 0, "where not all records were kept, the rest is another update"
    assert desk.kernels() == [NEW] * 3


@pytest.mark.parametrize("how", ["lost", "cut"])
def test_a_lost_link_and_a_power_cut_of_the_last_one_are_waited_for(desk: Played, how: str) -> None:
    desk.begins_as(RING)
    desk.trouble(C_reboot=how)
    done = desk.update()
    assert done.code == 0 and "it goes on once the Spark is back" in done.said, done
    assert desk.kernels() == [NEW] * 3 and turns(desk) == [A, B, C]


def test_all_begin_or_none(desk: Played) -> None:
    desk.begins_as(RING)
    desk.trouble(C_begin="failed: no space left on device")
    done = desk.update()
    assert done.code == 1 and "no space left" in done.said, done
    assert not open_ones(desk) and desk.order().count("close") == 3, "also where its answer was lost"


def test_a_deploy_that_is_refused_stops_before_the_next_one(desk: Played) -> None:
    desk.begins_as(RING)
    desk.trouble(cluster="the fabric is not what it was")
    done = desk.update()
    assert done.code == 2 and "the fabric is not what it was" in " ".join(done.said.split()), done
    assert turns(desk) == [A]
    assert desk.update().code == 0 and desk.kernels() == [NEW] * 3


def on(desk: Played, name: str) -> None:
    """Let the machine that sparkrig runs on be a host, in its boot of now."""
    boot = desk.state["sparks"][name]["boot"]
    head = "import sparkrig.ssh.controller\nsparkrig.ssh.controller.boot_id = lambda: {!r}\n"
    text = desk.inventory.read_text().partition("# as the kernel says it\n")[0]
    desk.inventory.write_text(f"{text}# as the kernel says it\n{head.format(boot)}")


def test_broken_off_the_machine_that_it_runs_on_still_comes_last(desk: Played) -> None:
    desk.begins_as(RING)
    on(desk, A)
    desk.trouble(B_close="killed")
    assert desk.update().code == 137 and turns(desk) == [B]
    done = desk.update()
    assert done.code == 2 and "its reboot has begun, and ends this command" in " ".join(done.said.split()), done
    assert turns(desk) == [C, A]
    on(desk, A)
    assert desk.update().code == 0 and desk.kernels() == [NEW] * 3


def test_check_shows_each_host_in_its_order_and_json_too(desk: Played) -> None:
    desk.begins_as(SWITCH, serves=(A,))
    done = desk.typed("update", "--check", "--to", "candidate", "--json")
    assert (done.code, complaints("update", done.report)) == (2, []), done
    assert [host["name"] for host in done.report["hosts"]] == [B, C, "@fake/spark-d", A]
    assert done.report["mixed"] == []
    limited = desk.typed("update", "--check", "--to", "candidate", "--json", "--limit", B)
    assert len(limited.report["hosts"]) == 4, "with its peers"


def test_one_that_has_begun_comes_first_also_from_itself(desk: Played) -> None:
    """The first command was typed elsewhere."""
    desk.begins_as(RING)
    desk.trouble(A_install="killed")
    assert desk.update().code == 137
    on(desk, A)
    assert desk.update().code == 2 and turns(desk) == [A]
    on(desk, A)
    assert desk.update().code == 0 and turns(desk) == [A, B, C]


def test_a_record_that_was_forged_on_one_host_stops_no_server_of_its_peers(desk: Played) -> None:
    desk.begins_as(RING, serves=(B,))
    desk.trouble(A_begin="killed")
    assert desk.update().code == 137
    state = desk.state
    plan = [row for row in state["sparks"][A]["plan"] if row != "end"]
    kept = {A: [*plan, "served small", "served -", "end"], B: [], C: [*plan, "end"]}
    for name, rows in kept.items():  # B serves, and has no record of its own
        state["sparks"][name] |= {"plan": rows, "steps": []}
    desk.keep(state)
    desk.update("--limit", A)
    assert [name for name, task, *_ in desk.state["order"] if task == "drain"] == [A]
