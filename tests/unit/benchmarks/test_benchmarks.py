"""The benchmark's own parts: what counts as a run, whose turn it is, and what the page says of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import measure, page
from benchmarks.contenders import ALL, FLOOR, MITOGEN, PIPELINING, SPARKRIG, STOCK, Command, Contender, Work
from benchmarks.hosts import Place
from benchmarks.measure import Broken, Row, once, rounds

PAIR, LIGHT = "spark-a and spark-b", "light hosts"


def place(folder: Path, *, settled: bool = True) -> Place:
    file = folder / "x"
    return Place(PAIR, 2, file, file, file, file, sudo=True, settled=settled)


@pytest.mark.parametrize(
    ("output", "idle", "did"),
    [
        ("    [spark-a] No changes\n", True, True),
        ("    [spark-a] Success\n    [spark-b] No changes\n", True, False),
        ("    [spark-a] Success\n", False, True),
        ("spark-a : ok=14   changed=0    failed=0\n", True, True),
        ("spark-a : ok=14   changed=2    failed=0\n", True, False),
    ],
)
def test_a_run_that_changes_something_is_no_idle_one(output: str, idle: bool, did: bool) -> None:
    command = Command(["x"], {}, idle=idle)
    assert command.did_it(0, output) is did
    assert not command.did_it(1, output)


@pytest.mark.slow
def test_one_run_tells_its_time_and_its_own_memory(tmp_path: Path) -> None:
    large = [sys.executable, "-c", "import time; x = bytearray(150 << 20); time.sleep(0.2)"]
    small = [sys.executable, "-I", "-S", "-c", "pass"]
    took, peak = once(Command(large, {}), tmp_path / "large.log")
    assert took >= 0.2 and peak > 150 << 10
    assert once(Command(small, {}), tmp_path / "small.log")[1] < 30 << 10, "not that of whoever measures"


def test_a_run_that_fails_has_no_time(tmp_path: Path) -> None:
    with pytest.raises(Broken, match="exit code 3"):
        once(Command(["sh", "-c", "exit 3"], {}), tmp_path / "log")


def test_contenders_take_turns(tmp_path: Path) -> None:
    def one(name: str) -> Contender:
        return Contender(name, lambda _, __: Command(["sh", "-c", f"echo {name} >>{tmp_path}/order"], {}))

    unable, slow = Contender("unable", lambda _, __: None), one("slow")
    able = [one("a"), one("b"), unable, one("c"), slow]
    rows = rounds(able, Work.NOOP, place(tmp_path), 3, tmp_path, seldom=[slow], said=lambda _: None)
    assert (tmp_path / "order").read_text().split() == ["a", "b", "c", "slow", "b", "c", "a", "c", "a", "b"]
    assert [(row.contender, len(row.seconds)) for row in rows] == [("a", 3), ("b", 3), ("c", 3), ("slow", 1)]


def measured(ours: float = 10.0) -> list[Row]:
    """A run in which every goal is held where `ours` is small enough."""
    seconds = {SPARKRIG.name: ours, FLOOR.name: 8.0, STOCK.name: 20.0, PIPELINING.name: 90.0, MITOGEN.name: 44.0}
    rows = [Row(name, work, PAIR, 2, 0, [took]) for work in Work for name, took in seconds.items()]
    rows += [
        Row(name, Work.DRIFT, f"{hosts} {LIGHT}", hosts, 0, [took * hosts / 10], peak_kib=70_000 + 1_000 * hosts)
        for hosts in (8, 64, 128)
        for name, took in seconds.items()
    ]
    rows += [
        Row(name, Work.DRIFT, f"2 {LIGHT}", 2, far, [took + far])
        for far in (0, 30)
        for name, took in seconds.items()
    ]
    return rows


def test_the_page_says_which_goals_were_held() -> None:
    said = page.goals(measured())
    assert "not held" not in said and said.count("| held |") == len(page.GOALS) + 2
    assert "| no-op deploy of the pair | 4 x faster than Ansible, mitogen | 4.40 x | held |" in said
    assert "0.98 MiB" in said


def test_the_page_says_which_goals_were_not_held() -> None:
    said = page.goals(measured(ours=12.5))
    assert "| no-op deploy of the pair | at most 1.5 x the floor | 1.56 x | **not held** |" in said
    assert "| drift of two hosts 30 ms away | at most 2 x the floor | 1.12 x | held |" in said


def test_every_contender_and_every_place_is_in_the_tables() -> None:
    rows = measured()
    pair, light = ([row for row in rows if (LIGHT in row.place) is is_light] for is_light in (False, True))
    said = page.tables({"pair": (pair, {"commit": "abc"}), "light": (light, {"commit": "def"})})
    assert "commit: abc." in said and "commit: def." in said
    assert all(said.count(f"| {contender.name} |") == 3 for contender in ALL)
    assert "| seconds | 8 hosts | 64 hosts | 128 hosts |" in said and "| seconds | 0 ms | 30 ms |" in said


def test_a_spread_is_half_of_what_lies_between_the_ends() -> None:
    assert page._cell(Row("a", "b", "c", 1, 0, [1.0, 2.0, 4.0])) == "2.0 ± 1.5"
    assert page._cell(Row("a", "b", "c", 1, 0, [1.0])) == "1.0"
    assert measure.Row("a", "b", "c", 1, 0, [3.0, 1.0]).median == 2.0
