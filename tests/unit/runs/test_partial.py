"""What was done to one host of a pair alone, as the journals of both tell it, and what is said of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sparkrig.checks import pair
from sparkrig.runs.journal import Journal, Run, Step
from sparkrig.runs.lock import Lock, Owner
from sparkrig.runs.partial import partial_runs
from tests.tables import each_row
from tests.unit.statuses import shown

WHY = "pyinfra inventories/pair.py deploys/cluster.py"  # what its operator typed, elsewhere
AGAIN = "pyinfra pair.py deploys/cluster.py"
A, B = "spark-a", "spark-b"
FILE = {"file /etc/nccl.conf": "644 a"}


def run(
    number: int, guard: str = "", *, undoes: str = "", done: bool = True, hosts: tuple[str, ...] = (A, B)
) -> Run:
    owner = Owner(f"R{number}", "ann@laptop", WHY, undoes=undoes, since=number, hosts=hosts)
    steps = (Step("Network | profiles", 1, 2, 0 if done else 1),)
    before, after = (FILE, {}) if undoes else ({}, FILE)
    return Run(
        f"R{number}", owner, steps, before, after if done else None, 9 if done else None, guard, number=number
    )


def host(*runs: Run, lock: Lock | None = None) -> Journal:
    return Journal(99, lock, tuple(reversed(runs)))


COMMITTED, BACK = run(1, "committed", done=False), run(1, "rolled-back the deadline passed", done=False)
ONCE_MORE = run(2, "committed")
UNDONE = run(2, undoes="R1", hosts=(A,))
AT_WORK = Lock(Owner("R1"), alive=True)
ALONE = "only spark-a committed the network of run R1; that of spark-b is as it was before, or goes back by itself"
STANDS = "run R1 is undone on spark-a alone, and still stands on spark-b"
LOST = "run R1 is undone on spark-a alone, and spark-b keeps nothing of it"
# what spark-a and spark-b keep, what is said, and what is to be typed
TABLE: dict[str, tuple[Journal, Journal, str, str]] = {
    "only one committed": (host(COMMITTED), host(BACK), ALONE, AGAIN),
    "the other will go back": (host(COMMITTED), host(run(1, "applied", done=False)), ALONE, AGAIN),
    "it is at work": (host(COMMITTED, lock=AT_WORK), host(run(1, "applied", done=False)), "", ""),
    "both committed": (host(COMMITTED), host(COMMITTED), "", ""),
    "both went back": (host(BACK), host(BACK), "", ""),
    "the other had nothing to change": (host(run(1, "committed")), host(run(1)), "", ""),
    "mended since": (host(COMMITTED, ONCE_MORE), host(BACK, ONCE_MORE), "", ""),
    "not mended by one that broke off": (
        *(host(COMMITTED, run(2, done=False)), host(BACK, run(2, done=False))),
        *(ALONE, AGAIN),
    ),
    "undone where it was committed": (host(COMMITTED, run(2, undoes="R1")), host(BACK), "", ""),
    "one host was undone": (host(run(1), UNDONE), host(run(1)), STANDS, "sparkrig undo pair.py R1"),
    "an undo broke off on one": (
        *(host(run(1), run(2, undoes="R1")), host(run(1), run(2, undoes="R1", done=False))),
        *(STANDS, "sparkrig undo pair.py R1"),
    ),
    "one host was undone, the other keeps nothing": (host(run(1), UNDONE), host(), LOST, AGAIN),
    "a run of one host was undone": (host(run(1, hosts=(A,)), UNDONE), host(), "", ""),
    "both are undone": (host(run(1), run(2, undoes="R1")), host(run(1), run(2, undoes="R1")), "", ""),
    "deployed since": (host(run(1), UNDONE, run(3)), host(run(1), run(3)), "", ""),
}


def test_what_was_done_to_one_half_alone() -> None:
    def row(a: Journal, b: Journal, said: str, cure: str) -> None:
        expected = [(said, cure)] if said else []
        assert [(each.said, each.cure) for each in partial_runs({A: a, B: b})] == expected
        both = [(each.said, each.cure) for each in partial_runs({B: b, A: a})]
        assert both == expected, "whichever is named first"

    each_row(TABLE, row)


def test_one_half_alone_tells_nothing() -> None:
    assert partial_runs({A: host(COMMITTED)}) == []


@pytest.fixture
def inventory(tmp_path: Path) -> str:
    halves = [
        (f"spark-{half}", {"pair": "p", "fabric": {"enp1s0f0np0": f"192.168.1.{last}/24"}})
        for last, half in ((1, "a"), (2, "b"))
    ]
    file = tmp_path / "pair.py"
    file.write_text(f"sparks = {halves!r}\n")
    return str(file)


def test_status_says_it_in_one_sentence(monkeypatch: pytest.MonkeyPatch, inventory: str) -> None:
    done = shown(monkeypatch, inventory, {A: host(COMMITTED), B: host(BACK)})
    assert done.exit_code == 2
    assert done.stdout.splitlines()[-1] == f"{ALONE}. Try: pyinfra {inventory} deploys/cluster.py"
    assert done.stdout.count("Try: ") == 1 and "by the same again" not in done.stdout


def test_status_has_an_exit_code_for_it(monkeypatch: pytest.MonkeyPatch, inventory: str) -> None:
    done = shown(monkeypatch, inventory, {A: host(run(1), UNDONE), B: host(run(1))})
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (2, f"{STANDS}. Try: sparkrig undo {inventory} R1")


def test_doctor_has_a_check_of_it() -> None:
    class Fleet(dict[str, Any]):
        def group(self, _: str) -> tuple[str, ...]:
            return A, B

    class Subject:
        name, fleet = B, Fleet.fromkeys((A, B))

    subject: Any = Subject
    (found,) = pair.partial(subject, {A: host(COMMITTED), B: host(BACK)})
    assert (found.id, found.status, found.found, found.cure) == ("pair.halves", "drift", ALONE, AGAIN)
    (found,) = pair.partial(subject, {A: host(COMMITTED), B: "no route"})
    assert (found.status, found.found) == ("unknown", "the journal of spark-b was not read: no route")
    (found,) = pair.partial(subject, {A: host(COMMITTED), B: host(COMMITTED)})
    assert found.status == "ok"
    assert [*pair.partial(subject, {B: host(BACK)})] == []
