"""T1: three in a ring, and two to eight on a switch, from out of the box to no drift; and who is lost then."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig.files import MEASURED
from tests import warm
from tests.plan.clustered import MEASURES, PROBE, Cluster, entries, lost
from tests.plan.conftest import ROOT, Deploy, Host, barred, converged, pair, well
from tests.plan.desk import write
from tests.plan.guarded import COMMIT, GUARDED, LINK, REVERT, WAIT, asked
from tests.plan.steps import STEPS

RING = Cluster(3, "ring")
CLUSTERS = {
    "a ring": RING,
    "two on a switch": Cluster(2, "switch"),
    "eight on a switch": Cluster(8, "switch"),
}
NETWORK = "deploys/network.py"


def names(cluster: Cluster) -> set[str]:
    return {f"@fake/{name}" for name in cluster.names}


def drifted(folder: Path, hosts: list[Host], *verb: str) -> tuple[int, dict[str, Any]]:
    """A verb of sparkrig on fake hosts: its exit code, and its JSON."""
    file = write(folder, [host.entry() for host in hosts])
    words = [*(verb or ("drift",)), str(file), "--json"]
    env = {"XDG_STATE_HOME": str(folder / "state"), "NO_COLOR": "1"}
    done = warm.run("sparkrig", *words, env=env, timeout=60)
    assert done.stdout and "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS)
def test_from_out_of_the_box_to_a_second_run_that_does_nothing_and_no_drift(
    deploy: Deploy, tmp_path: Path, cluster: Cluster
) -> None:
    run = well(deploy(cluster.fresh(), "--dry", "--json"))
    assert list(run.plan) == STEPS
    assert {step for step, at in run.plan.items() if at != names(cluster)} == {STEPS[2], STEPS[4]}
    run = well(deploy(cluster.fresh(), "-y"))
    assert {host for host, _ in run.changes} == {*cluster.names}
    confirmed = re.search(r"confirmed on (.*); rollback disarmed", run.stderr)
    assert confirmed and all(name in confirmed[1] for name in cluster.names)
    pairs = cluster.count * (cluster.count - 1) // 2
    assert len([1 for _, text in run.sent if MEASURES in text]) == pairs, "each two measure once"
    run = well(deploy(cluster.settled(), "-y"))
    assert run.changes == [] and len(run.commands) == cluster.count, "one look at each host"
    code, report = drifted(tmp_path / "drift", cluster.settled())
    assert code == 0, [row for host in report["hosts"] for row in host["rows"] if row["status"] != "ok"]
    assert {host["name"] for host in report["hosts"]} == names(cluster)


def test_a_pair_that_is_called_a_cluster_is_as_it_was(deploy: Deploy) -> None:
    """One that was deployed under `pair`, and measured."""
    hosts = pair(converged("a"), converged("b"), cluster="sparks", topology="cable")
    run = well(deploy([replace(each, data={**each.data, "pair": None}) for each in hosts], "-y"))
    assert run.changes == [] and len(run.commands) == 2


def test_the_plan_shows_each_address_of_the_network(tmp_path: Path) -> None:
    code, document = drifted(tmp_path, Cluster(3, "switch").fresh(), "plan")
    assert code == 2
    shown = json.dumps(document)
    assert all(f"10.20.{rail}.{last}/24" in shown for rail in (0, 1) for last in (11, 12, 13))


@pytest.mark.slow  # 64 hosts' looks and plans
def test_64_hosts_in_clusters_of_eight_are_one_report_without_drift(tmp_path: Path) -> None:
    clusters = [Cluster(8, "switch", number) for number in range(1, 9)]
    file = write(tmp_path, list(entries(clusters).values()))
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "NO_COLOR": "1"}
    done = warm.run("sparkrig", "drift", str(file), "--json", env=env, timeout=100)
    report = json.loads(done.stdout)
    assert done.returncode == 0, [
        row for host in report["hosts"] for row in host["rows"] if row["status"] == "drift"
    ]
    assert len(report["hosts"]) == 64 and {host["exit"] for host in report["hosts"]} == {0}


# --- a host that is lost, or refused


ALL = "it was to change on all of @fake/spark-a, @fake/spark-b and @fake/spark-c, or on none"


@pytest.mark.promise(2)
def test_one_of_three_that_is_lost_before_the_commit_takes_all_back(deploy: Deploy) -> None:
    run = deploy(lost(RING.fresh(), "spark-b", WAIT, REVERT), "-y", file=NETWORK)
    assert run.code == 1
    assert "commit" not in [word for name in RING.names for word in asked(run, name)]
    assert asked(run, "spark-a")[-1] == asked(run, "spark-c")[-1] == "revert"
    assert "the network of @fake/spark-a and @fake/spark-c is as it was before" in run.stderr
    assert "@fake/spark-b is unknown (lost)" in run.stderr and ALL in run.stderr


@pytest.mark.promise(2)
def test_one_of_three_that_is_lost_as_it_commits_takes_the_others_back(deploy: Deploy) -> None:
    """The two that confirmed go back, too; what the third has done is not known, so it is asked on and on."""
    run = deploy(lost(RING.fresh(), "spark-b", COMMIT, REVERT), "-y", file=NETWORK)
    assert run.code == 1
    for name in ("spark-a", "spark-c"):
        assert asked(run, name)[-2:] == ["commit", "revert"]
    assert asked(run, "spark-b").count("revert") > 1
    assert ALL in run.stderr and "confirmed on" not in run.stderr


def test_one_of_three_that_cannot_do_it_takes_all_back(deploy: Deploy) -> None:
    hosts = RING.fresh()
    silent = {LINK: ["silent 5 enP2p1s0f1np1 10.20.5.12 8972 ", "done"]}
    hosts[2] = replace(hosts[2], responses={**GUARDED, **silent})
    run = deploy(hosts, "-y", file=NETWORK)
    assert run.code == 1 and "no answer on rail 5 from 10.20.5.12" in run.stderr
    assert [asked(run, name)[-1] for name in RING.names] == ["revert"] * 3
    assert "@fake/spark-a, @fake/spark-b and @fake/spark-c is as it was before" in run.stderr


def test_a_part_of_a_cluster_is_not_set_up(deploy: Deploy) -> None:
    run = deploy(RING.fresh(), "-y", "--limit", "@fake/spark-a", "--limit", "@fake/spark-b")
    assert run.code == 1 and run.changes == []
    assert "its peer @fake/spark-c is not in this run, and a cluster is set up as one" in run.stderr


def test_where_a_measurement_cannot_be_kept_nothing_is_begun(deploy: Deploy) -> None:
    hosts = RING.fresh()
    hosts[1] = replace(hosts[1], seen=barred(hosts[1].seen, f"barred folder {MEASURED} {MEASURED}"))
    run = deploy(hosts, "-y")
    assert run.code == 1 and run.changes == []
    assert f"{MEASURED} is a directory" in run.stderr


def test_a_refused_host_stops_its_cluster_and_no_other(deploy: Deploy) -> None:
    other = Cluster(3, "switch", 2)
    hosts = RING.fresh()
    hosts[1] = replace(hosts[1], seen=hosts[1].seen.replace("uid=0\n", "uid=1000\n"))
    run = deploy([*hosts, *other.fresh()], "-y", together=False)
    assert run.code == 1
    assert {host for host, _ in run.changes} == {*other.names}


def test_a_cluster_that_is_cabled_wrongly_is_refused_before_the_first_change(deploy: Deploy) -> None:
    def crossed(place: int) -> list[str]:
        """Each p0 leads to the p1 of the Spark before."""
        before = RING.names[place - 1], RING.names[(place + 1) % 3]
        rows = [f"sent {netdev} 20" for netdev in RING.fabric(place)]
        for netdev, far in (("enp1s0f0np0", before[0]), ("enp1s0f1np1", before[1])):
            cage = "enp1s0f1np1" if netdev == "enp1s0f0np0" else "enp1s0f0np0"
            rows.append(f"heard {netdev} {RING.mac(far, cage)} 19")
        return [*rows, "end"]

    hosts = [replace(each, first={PROBE: crossed(place)}) for place, each in enumerate(RING.fresh())]
    run = deploy(hosts, "-y")
    assert run.code == 1 and run.changes == []
    assert "p0 of @fake/spark-a reaches p1 of @fake/spark-c, and wanted is p1 of @fake/spark-b" in run.stderr
    apart = Cluster(4, "switch")
    hosts = [
        replace(each, first={PROBE: apart.heard(place, {"spark-c"} if place != 2 else {*apart.names})})
        for place, each in enumerate(apart.fresh())
    ]
    run = deploy(hosts, "-y")
    assert run.code == 1 and run.changes == []
    assert "p0 of @fake/spark-c reaches none of" in run.stderr and "another VLAN or bridge" in run.stderr


# --- the other verbs


def test_status_shows_each_host(tmp_path: Path) -> None:
    code, status = drifted(tmp_path / "status", RING.settled(), "status")
    states = [host["state"] for host in status["hosts"].values()]
    assert code == 0 and [(len(state["rails"]), state["differs"]) for state in states] == [(4, [])] * 3


@pytest.mark.parametrize("cluster", [RING, Cluster(3, "switch")], ids=["ring", "switch"])
def test_the_doctor_and_the_topology_of_a_cluster_that_is_well(tmp_path: Path, cluster: Cluster) -> None:
    code, report = drifted(tmp_path / "doctor", cluster.examined(), "doctor")
    told = [
        (row["id"], row["found"]) for host in report["hosts"] for row in host["rows"] if row["status"] not in OK
    ]
    assert {id for id, _ in told} <= DEAF, told
    ids = [row["id"] for row in report["hosts"][0]["rows"]]
    assert len(ids) == len({*ids}), "one row for each netdev, however many hosts it reaches"
    code, shown = drifted(tmp_path / "topology", cluster.examined(), "topology")
    (group,) = shown["groups"]
    assert group["topology"]["form"] == cluster.topology
    assert [each["verdict"]["level"] for each in group["topology"]["findings"]] == ["healthy"], group["topology"]
    assert code == 0


OK = ("ok", "skipped")
# of the recording: an emulated clock, and what no guest has
DEAF = {"time.synchronised", "health.memory"}


def test_a_peer_that_large_frames_do_not_reach_is_named(tmp_path: Path) -> None:
    cluster = Cluster(3, "switch")
    hosts = cluster.examined({"spark-a": cluster.pinged("spark-a", lost="spark-c")})
    code, report = drifted(tmp_path, hosts, "doctor")
    rows = {
        (host["name"], row["id"]): row
        for host in report["hosts"]
        for row in host["rows"]
        if row["status"] not in OK
    }
    assert {key for key, row in rows.items() if row["id"].endswith(".ping")} == {
        ("@fake/spark-a", f"pair.{netdev}.ping") for netdev in ("enp1s0f0np0", "enP2p1s0f0np0")
    }
    row = rows["@fake/spark-a", "pair.enp1s0f0np0.ping"]
    assert row["cause"] == "short-frames" and row["found"].startswith("@fake/spark-c: 0 of 5 pings of 8972 bytes")
    assert code in (2, 3)


def test_the_inventories_of_this_repository_are_what_the_tests_deploy() -> None:
    from sparkrig import inventory

    for name, count, form in (("ring", 3, "ring"), ("switch", 4, "switch")):
        found, _ = inventory.fleet(ROOT / "inventories" / f"{name}.py")
        assert [len(group) for group in found.groups()] == [count]
        assert {own.form for own in found.values()} == {form}
        assert {len(own.fabric) for own in found.values()} == {4 if form == "ring" else 2}
