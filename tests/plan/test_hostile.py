"""A host that answers with garbage, beside one that is in order: no traceback, and the other is told in full."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sparkrig import inventory
from sparkrig.deploys import drifted
from sparkrig.doctor.examination import Seen, judged
from sparkrig.doctor.render import doctor as picture
from sparkrig.fabric.neighbours import Neighbours
from sparkrig.facts.examination import Examination
from sparkrig.facts.spark import Spark
from sparkrig.operations.subject import subjects
from sparkrig.status.figures import figures
from tests import warm
from tests.attacks.looks import looks, survives
from tests.attacks.texts import BOMB, DEEP
from tests.plan import fleet
from tests.plan.clean import CLEAN, clean
from tests.plan.conftest import APT, JOURNAL, A, B, Deploy, converged, joined, pair, recorded, sections
from tests.plan.desk import Desk, write
from tests.plan.examined import examined
from tests.plan.examined import hosts as examinees
from tests.plan.states import netplan
from tests.tables import each_row

# by what is wrong: the noun, what it prints in place of its rows, and a piece of the sentence
GARBAGE = {
    "deep JSON": ("network", f"addr {DEEP}\n", "network: cannot be understood (JSON nests deeper than 32 levels)"),
    "a number without end": (
        "network",
        'addr [{"ifname": "x", "mtu": 1e999}]\n',
        "network: cannot be understood (1e999 is no finite number)",
    ),
    "noise": ("driver", ("\x1b]0;x\x07" + "n" * 990 + "\n") * 2500, "driver: cannot be understood (2500 rows of"),
    "a forged marker": (
        "rdma",
        "x\n#sparkrig:end rdma 0\n",
        "rdma: could not be read (its end was printed twice)",
    ),
    "no object": ("containers", "docker\ninfo [1]\n", "containers: cannot be understood (a row has another form"),
    "a code in a key": ("trust", "user \x1b[31mx\n", "trust: cannot be understood ('\\x1b[31mx' is no plain name"),
}


def spoilt(whole: str, noun: str, text: str) -> str:
    """A look with one noun that prints something else."""
    return joined({**sections(whole), noun: text})


@pytest.mark.slow  # several verbs
def test_drift_and_status_tell_the_other_half_in_full(desk: Desk) -> None:
    healthy = desk.has(pair(converged("a"), converged("b"))).drift("--limit", A).report["hosts"][0]

    def holds(noun: str, text: str, said: str) -> None:
        desk.has(pair(converged("a"), spoilt(converged("b"), noun, text)))
        done = desk.drift()
        clean(done)
        one, other = done.report["hosts"]
        assert (done.code, one["exit"], other["exit"]) == (3, 0, 3)
        assert said in other["unread"] and "pyinfra" in other["cure"] and len(other["unread"]) < 400
        assert {row["id"] for row in healthy["rows"]} <= {row["id"] for row in one["rows"]}

    each_row(GARBAGE, holds)
    shown = desk.typed("status", "--json")  # of the last of them
    clean(shown)
    rows = json.loads(shown.out)["hosts"]
    assert shown.code == 3 and "trust: cannot be understood" in rows[B]["state"]["unread"]
    assert len(rows[A]["state"]["rails"]) == 2 and rows[B]["runs"] == []
    clean(desk.typed("status"))


@pytest.mark.slow  # several verbs
def test_doctor_tells_the_other_half_in_full(desk: Desk) -> None:
    def holds(noun: str, text: str, said: str) -> None:
        desk.has(examinees(examined("a"), spoilt(examined("b"), noun, text)))
        done = desk.typed("doctor", "--json")
        clean(done)
        one, other = done.report["hosts"]
        assert (done.code, one["read"], other["read"], other["exit"]) == (3, True, False, 3)
        look = done.row(B, "access.look")
        assert (
            said in look["found"]
            and look["status"] == "unknown"
            and "fact sparkrig.facts.spark.Spark" in look["cure"]
        )
        assert len(one["rows"]) > 30 and {row["status"] for row in one["rows"]} <= {"ok", "skipped"}

    each_row(GARBAGE, holds)


def test_status_tells_the_other_half_in_full(desk: Desk) -> None:
    def holds(text: str, said: str) -> None:
        one, other = pair(converged("a"), converged("b"))
        made = [replace(one, first={JOURNAL: [CLEAN]}), replace(other, first={JOURNAL: text.split("\n")})]
        done = desk.has(made).typed("status", "--json")
        clean(done)
        hosts = json.loads(done.out)["hosts"]
        assert done.code == 3 and "runs" in hosts[A] and said in hosts[B]["unread"], hosts

    each_row(
        {
            "no run": ("step 1 begun x\n", "journal: cannot be understood (cannot read the row 'step'"),
            "noise": ("n" * 3_000_000, "journal: cannot be understood (1 rows of 3000000 characters"),
            "a huge number": (f"now {'9' * 5000}\n", "journal: cannot be understood (a number has more than"),
            "a word": ("now soon\x1b[31m\n", "journal: cannot be understood (invalid literal"),
        },
        holds,
    )


def test_a_lock_with_deep_json_or_a_time_without_end_is_still_shown(desk: Desk) -> None:
    """Only what the controller wrote is garbled; that the host is locked is known."""

    def holds(owner: str) -> None:
        one, other = pair(converged("a"), converged("b"))
        made = [
            replace(one, first={JOURNAL: [CLEAN]}),
            replace(other, first={JOURNAL: [CLEAN, f"lock alive {owner}"]}),
        ]
        done = desk.has(made).typed("status")
        clean(done)
        assert done.code == 0 and "locked by an unknown holder" in done.out, done

    by = dict.fromkeys(("run", "who", "why", "version", "undoes"), "x")
    whole: dict[str, Any] = {"by": by, "from": "", "boot": ""}
    each_row(
        {
            "deep": (DEEP,),
            "inf": (json.dumps({**whole, "since": 0}).replace('"since": 0', '"since": 1e999'),),
            "a year of many digits": (json.dumps({**whole, "since": 10**17}),),
        },
        holds,
    )


def test_the_deploy_refuses_a_pair_of_which_one_half_prints_garbage(deploy: Deploy) -> None:
    """In words of ours, before anything is changed; and a Spark of another group is deployed."""
    noun, text, said = GARBAGE["deep JSON"]
    single = replace(pair(recorded("fresh-a"), "")[0], name="@fake/spark-s", data={"fabric": {}})
    halves = pair(recorded("fresh-a"), spoilt(recorded("fresh-b"), noun, text))
    run = deploy([*halves, single], "-y", together=False)
    told = " ".join(run.stderr.split())
    assert "Traceback" not in told and said in told
    assert "the host cannot be read (the lines above say what went wrong)" in told
    assert {host for host, _ in run.changes} == {"spark-s"}


def test_a_second_look_that_is_garbage_fails_that_host_in_words(deploy: Deploy) -> None:
    """The packages are looked at again after the holds."""
    halves = [
        replace(each, later={"driver": "9" * 200} if each.name == B else {})
        for each in pair(recorded("fresh-a"), recorded("fresh-b"))
    ]
    run = deploy(halves, "-y")
    told = " ".join(run.stderr.split())
    assert run.code != 0 and "Traceback" not in told
    assert "driver: could not be read again (the lines above say why)" in told


def test_a_holder_of_apt_s_locks_that_is_garbage_refuses_the_pair_in_words(deploy: Deploy) -> None:
    one, other = pair(recorded("fresh-a"), recorded("fresh-b"))
    run = deploy([one, replace(other, first={APT: ["lock /var/lib/dpkg/lock none apt"]})], "-y")
    told = " ".join(run.stderr.split())
    assert run.code != 0 and "Traceback" not in told and run.steps == []
    assert "who uses apt cannot be read (holders: cannot be understood (invalid literal" in told


def test_a_netplan_file_that_hurts_is_one_more_definition(desk: Desk) -> None:
    """An alias in it is not followed: the file is shown as not to be read, and nothing else is lost."""
    seen = netplan("/etc/netplan/40-cx7.yaml", BOMB)(converged("b"))
    done = desk.has(pair(converged("a"), seen)).drift()
    clean(done)
    assert done.code == 2 and done.wrong[A] == set()
    found = [row["found"] for row in done.report["hosts"][1]["rows"] if "40-cx7.yaml" in row["found"]]
    assert found and "(not to be read)" in " ".join(found)


def judge(folder: Path, seed: int, count: int) -> None:
    """Mutated looks of one host, each judged by drift, status and doctor beside a host that is in order."""
    warm.spare_pyinfra()  # a third of the time went there
    entries = fleet.faked(2)
    a, b = entries
    group, data = inventory.fleet(write(folder, list(entries.values())))
    (one, other), now = data, datetime.now(UTC)
    in_order = Spark().process(converged("b", b, 0).split("\n"))
    second = Examination().process(examined("b").split("\n"))
    for lines in looks(converged("a", a, 0), seed, count):
        if found := survives(Spark(), lines):
            states = {one: found, other: in_order}
            assert drifted.judged(str(folder / "sparks.py"), group, data, states, {}, now, 0.0).hosts[1].rows
            assert all(map(figures, subjects(group, states).values()))
    for lines in looks(examined("a"), seed, count):
        if looked := survives(Examination(), lines):
            heard = {one: Neighbours(), other: Neighbours()}
            seen = Seen({one: looked, other: second}, {}, heard)
            made = judged("x", group, data, seen, subjects(group, seen.hosts), [], now, 0.0)
            assert list(picture.lines(made, everything=True, ascii_only=True, width=None))


@pytest.mark.slow  # hundreds of looks
def test_what_is_understood_can_be_judged(tmp_path: Path) -> None:
    """Mutated looks that parsers take."""
    judge(tmp_path, seed=18, count=20)


@pytest.mark.exhaustive
@pytest.mark.slow  # minutes of the same, with other seeds
@pytest.mark.parametrize("seed", range(10))  # each has the time of a test
def test_much_that_is_understood_can_be_judged(tmp_path: Path, seed: int) -> None:
    judge(tmp_path, seed, count=200)
