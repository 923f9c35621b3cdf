"""T1: what looks at three, or takes a run of three back: plan, status, undo, support, and an archive."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sparkrig.support import archive
from tests import warm
from tests.plan.archives import asked
from tests.plan.clustered import Cluster
from tests.plan.conftest import JOURNAL, Host, well
from tests.plan.desk import HEAD, Desk, write
from tests.schemas import complaints

RING, SWITCH = Cluster(3, "ring"), Cluster(3, "switch")
A, B, C = (f"@fake/{name}" for name in RING.names)
RUN = "20261122T120000Z-1"
NOW = 1795352400


def journal(on: Sequence[str] = (A, B, C), *, kept: bool = True, committed: bool = True) -> list[str]:
    """What a host prints of one run. on: the hosts that it was made on; kept: whether this one has it."""
    owner = {"run": RUN, "who": "ann@laptop", "why": "pyinfra", "version": "1", "undoes": "", "hosts": [*on]}
    by = json.dumps({"by": owner, "from": "10.0.2.2", "since": NOW - 3600, "boot": "b"})
    if not kept:
        return [f"now {NOW}"]
    return [
        f"now {NOW}",
        f"run {RUN} {by}",
        f"step {NOW - 3600} begun Network | profiles",
        f"step {NOW - 3599} ended 0 Network | profiles",
        "before file /etc/nccl.conf 644 root:root 00",
        f"after end {NOW - 3500}",
        "after file /etc/nccl.conf 644 root:root 01",
        f"guard {'committed' if committed else 'rolled-back lost'}",
        "current file /etc/nccl.conf 644 root:root 01",
    ]


def hosts(*journals: list[str]) -> list[Host]:
    return [
        replace(host, first={**host.first, JOURNAL: rows})
        for host, rows in zip(RING.settled(), journals, strict=True)
    ]


def test_the_plan_of_three_names_each_and_is_empty_once_they_are_settled(desk: Desk) -> None:
    for cluster in (RING, SWITCH):
        done = desk.has(cluster.fresh()).typed("plan", "--json")
        assert done.code == 2 and complaints("plan", done.report) == [], done
        assert {host["name"] for host in done.report["hosts"]} == {A, B, C}
        limited = desk.typed("plan", "--json", "--limit", B)
        assert len(limited.report["hosts"]) == 3, "a cluster is planned as one"
        done = well(desk.has(cluster.settled()).typed("plan", "--json"))


def test_all_hosts_that_hold_up_the_others_are_named(desk: Desk) -> None:
    """The ring's subnets take in the management network, which the rule gives to the first and the last host."""
    overlapping = Cluster(3, "ring", settings=(("fabric_network", "10.0.0.0/16"),))
    shown = desk.has(overlapping.fresh()).typed("plan")
    said = " ".join(shown.out.split())
    assert said.count("collides with the route to 10.0.2.0/24 over enP7s7") == 2, said
    assert f"nothing is done here until {A} and {C} can be changed, too" in said
    assert said.endswith("3 hosts, nothing is done, 2 refused")
    done = desk.typed("plan", "--json")
    assert complaints("plan", done.report) == []
    assert [each["held_up_by"] for each in done.report["hosts"]] == [None, A, None]


def test_the_status_of_three_and_of_an_update_that_is_open_on_one(desk: Desk) -> None:
    done = desk.has(hosts(journal(), journal(), journal())).typed("status", "--json")
    assert (done.code, complaints("status", done.report)) == (0, []), done
    assert set(done.report["hosts"]) == {A, B, C} and done.report["partial"] == []
    one = [*journal(), "update proven OTA2607 (July 2026)"]
    done = desk.has(hosts(journal(), one, journal())).typed("status")
    of_it = " ".join(done.out.split()).partition(B)[2].partition(C)[0]
    assert done.code == 2 and "! an update to OTA2607 (July 2026) is open (last step: proven)" in of_it, done


def test_a_run_that_two_of_three_committed_is_named(desk: Desk) -> None:
    made = hosts(journal(), journal(), journal(committed=False))
    done = desk.has(made).typed("status", "--json")
    (halved,) = done.report["partial"]
    assert done.code == 2 and (halved["on"], halved["others"]) == ([A, B], [C])
    assert f"only {A} and {B} committed the network of run {RUN}; that of {C} is as it was" in halved["said"]


def test_a_run_of_three_is_undone_on_all_or_none(desk: Desk) -> None:
    done = desk.has(hosts(journal(), journal(), journal())).typed("undo", "--dry", "--json")
    (group,) = done.report["groups"]
    assert (done.code, complaints("undo", done.report)) == (0, []), done
    assert set(group["plans"]) == {A, B, C} and all(each["changes"] for each in group["plans"].values())
    said = " ".join(desk.typed("undo", "--dry").out.split())
    assert f"{A}: the clock is " in said and "Try: timedatectl; sudo systemctl restart" in said, said
    for limit in (("--limit", A), ("--limit", A, "--limit", C)):
        done = desk.typed("undo", "--dry", *limit)
        said = " ".join(done.out.split())
        assert done.code == 1 and "a cluster goes back as one; nothing is undone" in said, done
    done = desk.has(hosts(journal(), journal(kept=False), journal())).typed("undo", "--dry")
    said = " ".join(done.out.split())
    assert done.code == 3 and f"what stood before on {B} is not known" in said, done


def test_a_run_of_the_pair_goes_back_on_the_two_once_there_are_three(desk: Desk) -> None:
    pair = journal((A, B))
    done = desk.has(hosts(pair, pair, journal(kept=False))).typed("undo", "--dry", "--json")
    (group,) = done.report["groups"]
    assert done.code == 0 and group["outcome"] == "planned", done
    assert [bool(group["plans"][name]["changes"]) for name in (A, B, C)] == [True, True, False]


def test_the_doctor_names_a_cable_while_one_of_four_is_gone(desk: Desk) -> None:
    """The port of the third is in another VLAN, and the second is off."""
    cluster = Cluster(4, "switch")
    apart = {
        place: cluster.heard(place, {"spark-c"} if place != 2 else {*cluster.names})
        for place in range(cluster.count)
    }
    made = [
        replace(host, responses={**host.responses, "SPARKRIG_PROBE": apart[place]})
        for place, host in enumerate(cluster.examined())
    ]
    rows = [host.entry() for host in made]
    off = {"ssh_hostname": "127.0.0.1", "ssh_port": 1, "ssh_user": "ann", "ssh_strict_host_key_checking": "yes"}
    rows[1] = ("spark-b", {**cluster.data, **off})
    desk.inventory.write_text(HEAD + f"sparks = _checked({rows!r}, __file__)\n")
    done = desk.typed("doctor", "--json")
    assert done.code == 3 and complaints("doctor", done.report) == [], done.said
    row = done.row(A, "pair.cabling")
    assert (row["status"], row["cause"]) == ("drift", "switch-apart"), row
    assert "p0 of @fake/spark-c reaches none of p0 of @fake/spark-a and p0 of @fake/spark-d" in row["found"]
    assert "spark-b could not be read: Could not connect" in row["found"] and "spark-b" not in row["cure"]


@pytest.mark.parametrize("cluster", [RING, SWITCH], ids=["ring", "switch"])
def test_an_archive_of_three_holds_each_without_its_name_and_is_opened(tmp_path: Path, cluster: Cluster) -> None:
    made = [replace(each, first={**asked(), **each.first}) for each in cluster.examined()]
    inventory = write(tmp_path, [host.entry() for host in made])
    file = tmp_path / "sent.tar.gz"
    env = {"NO_COLOR": "1", "XDG_STATE_HOME": str(tmp_path / "state")}
    done = warm.run("sparkrig", "support", str(inventory), "-o", str(file), "--yes", env=env)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stdout + done.stderr
    files = archive.unpack(file.read_bytes(), "it")
    assert archive.manifest(files, "it")["hosts"] == ["machine-1", "machine-2", "machine-3"]
    left = [re.findall(r"(?<!nvidia-)spark-[abc]\b", text) for text in files.values()]
    assert not any(left), "the names of the inventory; nvidia-spark-avahi-conf is a package"
    shown = warm.run("sparkrig", "support", "--open", str(file), env=env)
    assert shown.returncode == 0 and "--- machine-3/" in shown.stdout, shown.stdout + shown.stderr
