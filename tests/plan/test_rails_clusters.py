"""T1: `sparkrig bandwidth` and the probe on a ring of three and a switch of four: who measures, what is found."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.plan.clustered import ENDS, MEASURES, SERVES, Cluster, lost, trials
from tests.plan.conftest import REBOOTED, Deploy, Host, Run, converged, pair, run_deploy, well
from tests.plan.conftest import B as PAIRS_B
from tests.plan.desk import Desk, Done, commands, noted
from tests.tables import each_row

RING, SWITCH = Cluster(3, "ring"), Cluster(4, "switch")
A, B, C, D = (f"@fake/spark-{letter}" for letter in "abcd")
ANSWERS = "sh -c : sparkrig"  # the question whether a host is there
WRITES = "while read -r folder name mode content"


def measured(desk: Desk, hosts: list[Host], *words: str) -> tuple[Done, dict[str, Any]]:
    done = noted(desk, hosts).typed("bandwidth", *(words or ("--quick",)), "--json")
    (found,) = done.report["clusters"]
    assert done.report["pairs"] == []
    return done, found


def wrong(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    """All that is not healthy: findings, then edges that no finding explains."""
    edges = [
        (f"rail {each['number']}, {' and '.join(each['hosts'])}", each["verdict"])
        for each in found["rails"]
        if not each["because"]
    ]
    rows = [*((each["subject"], each["verdict"]) for each in found["findings"]), *edges]
    return [(subject, each["level"], each["cause"]) for subject, each in rows if each["level"] != "healthy"]


def test_a_ring_measures_each_edge_after_the_other(desk: Desk) -> None:
    done, found = measured(desk, RING.measuring())
    assert (done.code, wrong(found)) == (0, []), done.said
    assert trials(desk, RING) == [(B, C, "45"), (A, C, "23"), (A, B, "01")]
    assert [(each["number"], each["hosts"], each["twin"]) for each in found["rails"]] == [
        *((0, [A, B], 0), (1, [A, B], 1)),
        *((2, [A, C], 0), (3, [A, C], 1)),
        *((4, [B, C], 0), (5, [B, C], 1)),
    ]
    assert [(each["host"], each["netdevs"]) for each in found["ports"]][:2] == [
        (A, ["enp1s0f0np0", "enp1s0f1np1"]),
        (A, ["enP2p1s0f0np0", "enP2p1s0f1np1"]),
    ]


def test_a_switch_measures_disjoint_pairs_in_three_rounds(desk: Desk) -> None:
    done, found = measured(desk, SWITCH.measuring())
    assert (done.code, wrong(found)) == (0, []), done.said
    asked = trials(desk, SWITCH)
    rounds = [{*map(frozenset, (each[:2] for each in asked[first : first + 2]))} for first in (0, 2, 4)]
    assert rounds == [
        {frozenset({A, D}), frozenset({B, C})},
        {frozenset({A, C}), frozenset({B, D})},
        {frozenset({A, B}), frozenset({C, D})},
    ]
    assert {each[2] for each in asked} == {"01"}, "both rails at once, and none alone"
    assert (found["topology"], found["pair"], [*found["hosts"]]) == ("switch", "lab-0", [A, B, C, D])
    assert [each["level"] for each in (port["verdict"] for port in found["ports"])] == ["healthy"] * 8


def test_what_a_client_and_its_server_are_sent(desk: Desk) -> None:
    """The same words as of a pair, with the addresses of the edge."""
    measured(desk, SWITCH.measuring())
    sent = [(host, text) for host, text in map(ast.literal_eval, commands(desk)) if "--report_gbits'" in text]
    words = {
        (host, mark): text[text.index("sparkrig ", text.rindex("\n")) :]
        for host, text in sent
        for mark in (MEASURES, SERVES)
        if mark in text
    }
    perf = "'ib_write_bw -D 5 -q 4 -s 65536 -u 18 -F --report_gbits'"
    (client,) = [text for (host, mark), text in words.items() if (host, mark) == (C, MEASURES)]
    assert client.startswith(
        f"sparkrig 5 20 {perf} 0 enp1s0f0np0 rocep1s0f0 1 10.20.0.14 18515 1 enP2p1s0f0np0 roceP2p1s0f0 1 "
        "10.20.1.14 18516"
    ), client
    server = re.sub(r"18614 \w{8} ", "18614 RUN ", words[D, SERVES])
    assert server.startswith(
        f"sparkrig 35 15 18515 18614 RUN {perf} 0 enp1s0f0np0 rocep1s0f0 1 1 enP2p1s0f0np0 roceP2p1s0f0 1"
    ), server


def test_what_it_costs_each_host(desk: Desk) -> None:
    """Its lock is ordered, taken, kept and given back; one look; a trial with each of the others."""
    measured(desk, SWITCH.measuring())
    sent = [host for host, _ in map(ast.literal_eval, commands(desk))]
    # a client is one command, a server two: its start and its end
    assert {host: sent.count(host) - 5 for host in (A, B, C, D)} == {A: 3, B: 1 + 1 + 2, C: 1 + 2 + 2, D: 6}


def slow(*hosts: str, rails: Sequence[int] = range(6)) -> Any:
    names = {host.removeprefix("@fake/") for host in hosts}
    return lambda sender, receiver, rail: 13.35 if names & {sender, receiver} and rail in rails else 111.8


def edge(*hosts: str, gbps: float = 55.0) -> Any:
    names = {host.removeprefix("@fake/") for host in hosts}
    return lambda sender, receiver, rail: gbps if {sender, receiver} == names and rail % 2 else 111.8


P0 = "enp1s0f0np0 and enP2p1s0f0np0"
FAULTS: dict[str, tuple[Cluster, list[Host], int, list[tuple[str, str, str]]]] = {
    "a slow port": (SWITCH, SWITCH.measuring(slow(B)), 2, [(f"{B} {P0}", "fault", "port-slow")]),
    "a slow edge of a ring": (
        RING,
        RING.measuring(edge(A, C)),
        2,
        [(f"rail 3, {A} and {C}", "degraded", "reduced")],
    ),
    "all slow": (SWITCH, SWITCH.measuring(lambda *_: 13.35), 2, [("rails 0 and 1", "fault", "all-slow")]),
    "a host that does not answer any more": (
        SWITCH,
        lost(SWITCH.measuring(), "spark-d", SERVES, MEASURES, ENDS, ANSWERS),
        3,
        [(D, "unknown", "host-lost")],
    ),
}


def test_each_fault_alone_is_said_once(desk: Desk) -> None:
    def holds(cluster: Cluster, hosts: list[Host], code: int, said: list[tuple[str, str, str]]) -> None:
        done, found = measured(desk, hosts)
        assert (done.code, wrong(found)) == (code, said), done.said
        for _, _, cause in said:
            assert done.said.rpartition("row to column")[2].count(cause) == 1, done.said

    each_row(FAULTS, holds)


def test_a_lost_host_leaves_the_edges_of_the_others_and_is_not_waited_for(desk: Desk) -> None:
    _, found = measured(desk, FAULTS["a host that does not answer any more"][1])
    gone = {(each["number"], *each["hosts"]) for each in found["rails"] if each["verdict"]["level"] != "healthy"}
    assert gone == {(rail, other, D) for rail in (0, 1) for other in (A, B, C)}
    asked = [text for host, text in map(ast.literal_eval, commands(desk)) if host == D]
    assert len([text for text in asked if SERVES in text]) == 1, "one time-out, whatever it would have had to do"


def test_a_dark_port_of_a_switch_leaves_the_other_edges(desk: Desk) -> None:
    hosts = SWITCH.measuring()
    look = "\n".join(hosts[1].responses["#sparkrig:end nics"])
    dark = re.sub(r"^(port (?:enp1s0f0np0|enP2p1s0f0np0) p0) 1", r"\1 0", look, flags=re.M)
    assert dark != look
    hosts[1] = replace(hosts[1], responses={**hosts[1].responses, "#sparkrig:end nics": dark.splitlines()})
    done, found = measured(desk, hosts)
    well = {tuple(each["hosts"]) for each in found["rails"] if each["verdict"]["level"] == "healthy"}
    assert (done.code, well) == (2, {(A, C), (A, D), (C, D)}), done.said
    assert {each[:2] for each in trials(desk, SWITCH)} == well
    assert done.said.rpartition("row to column")[2].count("cable-out") == 1, done.said


def test_in_full_each_edge_is_measured_both_ways_and_the_page_shows_it(desk: Desk) -> None:
    page = desk.folder / "page.html"
    words = ("--html", str(page), "--seconds", "2")
    done, found = measured(desk, RING.measuring(slow(B)), *words)
    assert done.code == 2 and [each[2] for each in wrong(found)] == ["port-slow"]
    kinds = {
        (each["sender"], each["receiver"], each["queue_pairs"], each["together"]) for each in found["measurements"]
    }
    ways = {(one, other) for one in (A, B, C) for other in (A, B, C) if one != other}
    assert kinds >= {(*way, pairs, False) for way in ways for pairs in (1, 4)} | {(*way, 4, True) for way in ways}
    assert "3 Sparks in a ring" in page.read_text() and "13.3✗" in page.read_text()
    text = " ".join(done.said.split())
    assert "rails 0, 2 and 4 Gb/s, row to column" in text and "2 of 6 rails between 3 hosts are healthy" in text


def test_the_history_of_a_cluster_is_one_file_with_each_edge(desk: Desk) -> None:
    for _ in range(3):
        measured(desk, SWITCH.measuring())
    done, _ = measured(desk, SWITCH.measuring(slow(B)))
    (file,) = (desk.folder / "state").rglob("*.jsonl")
    assert file.stem == "lab-0"
    assert "in 3 healthy runs before" in done.said and len(file.read_text().splitlines()) == 4, done.said


def test_pairs_and_a_cluster_in_one_inventory_are_two_lists(desk: Desk) -> None:
    """The document of a pair has no field more."""
    own = Cluster(3, "switch", 2)
    (one, other) = pair(converged("a"), converged("b"))
    done = noted(desk, [one, other, *own.measuring()]).typed("bandwidth", "--quick", "--json")
    assert [each["pair"] for each in done.report["pairs"]] == ["sparks"], done.said
    assert [each["pair"] for each in done.report["clusters"]] == ["lab-2"]
    assert {*done.report["clusters"][0]} - {*done.report["pairs"][0]} == {"topology", "ports", "missing"}
    done = desk.has([one, other]).typed("bandwidth", "--quick", "--json")
    assert [*done.report] == ["schema", "pairs"]
    assert PAIRS_B in done.report["pairs"][0]["hosts"]


# --- the step of the deploy, and what it keeps


def probed(folder: Path, hosts: list[Host], *words: str) -> Run:
    return run_deploy(folder, hosts, *words, file="deploys/probe.py")


def booted(cluster: Cluster, place: int = 1) -> list[Host]:
    """A settled cluster that answers a measurement, one host of which was booted since the last one."""
    hosts = cluster.measuring()
    seen = re.sub(r"^(boot_id[= ]).*$", rf"\g<1>{REBOOTED}", hosts[place].seen, flags=re.M)
    # the deploy's own look stands first, as it is in cluster.settled()
    plain = [
        replace(host, first={**{k: v for k, v in host.first.items() if "identity" not in k}}) for host in hosts
    ]
    plain[place] = replace(plain[place], seen=seen)
    return plain


def test_what_was_measured_is_not_measured_again(tmp_path: Path, deploy: Deploy) -> None:
    for cluster in (RING, SWITCH):
        run = probed(tmp_path, cluster.settled(), "-y")
        assert run.code == 0 and run.changes == [] and len(run.commands) == cluster.count, run.stderr


def test_after_a_boot_a_plan_says_that_rails_would_be_measured(tmp_path: Path) -> None:
    run = probed(tmp_path, booted(SWITCH), "--dry", "--json")
    assert run.code == 0 and set().union(*run.plan.values()) == set()
    assert f"not measured since the boot of {B}: the rails would be measured, which is no change" in run.stderr


@pytest.mark.parametrize("cluster", [RING, SWITCH], ids=["ring", "switch"])
def test_the_probe_measures_from_the_host_that_leads_and_keeps_it_on_all(tmp_path: Path, cluster: Cluster) -> None:
    run = well(probed(tmp_path, booted(cluster), "-y"))
    count = cluster.count * (cluster.count - 1) // 2
    assert len([1 for _, text in run.sent if MEASURES in text]) == count
    said = " ".join(run.stderr.split())
    assert f"{count * 2} of {count * 2} rails between {cluster.count} hosts are healthy" in said
    assert "round 1 of 3" in said and re.search(r"rails [0-5, and]+: healthy beside other rails", said)
    assert {host for host, text in run.sent if WRITES in text} == {*cluster.names}, "kept on all"


def reaching(figure: Any) -> list[Host]:
    """The same, whose clients reach that much."""

    def clients(host: Host) -> dict[str, Any]:
        return {key: rows for key, rows in host.first.items() if " 185" in key}

    measuring = SWITCH.measuring(figure)
    return [
        replace(host, first={**host.first, **clients(other)})
        for host, other in zip(booted(SWITCH), measuring, strict=True)
    ]


def test_what_is_slow_fails_the_deploy_with_one_sentence_and_is_kept(tmp_path: Path) -> None:
    def holds(figure: Any, subject: str, cause: str) -> None:
        run = probed(tmp_path, reaching(figure), "-y")
        said = " ".join(run.stderr.split())
        assert run.code == 1
        sentences = re.findall(rf"{re.escape(subject)}: {cause}: [^.]*(?:\.\d[^.]*)*\. Try: ", said)
        assert len(sentences) == 2 and said.count(". Try: ") == 2, "once in the log, and as the last word"
        assert {host for host, text in run.sent if WRITES in text} == {*SWITCH.names}

    each_row(
        {
            "a port": (slow(B), f"{B} {P0}", "port-slow"),
            "an edge": (edge(A, D), f"rail 1, {A} and {D}", "reduced"),
        },
        holds,
    )
