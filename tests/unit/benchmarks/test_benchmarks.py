"""The benchmark's own parts: what counts as a run, whose turn it is, and what the page says of it."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from benchmarks import __main__ as bench
from benchmarks import machine, measure, page, thousand
from benchmarks.contenders import ALL, FLOOR, MITOGEN, PIPELINING, SPARKRIG, SSH, STOCK, Command, Contender, Work
from benchmarks.hosts import Place
from benchmarks.measure import SLOW_S, Broken, Late, Row, Used, once, rounds

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


def test_a_run_that_reached_no_host_did_nothing(tmp_path: Path) -> None:
    recap = "spark-a : ok=14   changed=0    failed=0\nspark-b   : ok=14   changed=0    failed=0\n"
    lost = "spark-a : ok=14   changed=0\nspark-b : ok=0    changed=0    unreachable=1\n"
    command = PIPELINING.command(Work.NOOP, place(tmp_path))
    assert command and command.did_it(0, recap)
    for output in ("[WARNING]: No inventory was parsed\n", "skipping: no hosts matched\n", lost):
        assert not command.did_it(0, output)


@pytest.mark.slow
def test_one_run_tells_its_time_and_its_own_memory(tmp_path: Path) -> None:
    large = [sys.executable, "-c", "import time; x = bytearray(150 << 20); time.sleep(0.2)"]
    small = [sys.executable, "-I", "-S", "-c", "pass"]
    took, cpu, peak = once(Command(large, {}), tmp_path / "large.log")
    assert took >= 0.2 and peak > 150 << 10
    assert 0 < cpu < took, "it sleeps most of the time"
    assert once(Command(small, {}), tmp_path / "small.log").peak_kib < 30 << 10, "not that of whoever measures"


def test_a_run_that_fails_has_no_time(tmp_path: Path) -> None:
    with pytest.raises(Broken, match="exit code 3"):
        once(Command(["sh", "-c", "exit 3"], {}), tmp_path / "log")


@pytest.mark.slow  # it waits until what was ended would have left a trace
def test_a_run_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    still = tmp_path / "still"
    command = Command(["sh", "-c", f"(sleep 1; touch {still}) & wait"], {})
    with pytest.raises(Late, match="0"):
        once(command, tmp_path / "log", 0.2)
    time.sleep(1.2)
    assert not still.exists()


class Turns:
    """Contenders that do nothing, and the order in which they ran; a clock that each run moves by its seconds."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.order, self.now, self.said = folder, list[str](), 0.0, list[str]()
        self.takes: dict[str, list[float | Exception]] = {}
        self.limits: dict[str, float] = {}
        monkeypatch.setattr(measure, "monotonic", lambda: self.now)
        monkeypatch.setattr(measure, "timed", self._timed)

    def one(self, name: str, *takes: float | Exception) -> Contender:
        self.takes[name] = [*takes]
        return Contender(name, lambda _, __: Command(["x"], {}))

    def _timed(self, contender: Contender, _: Work, __: Place, ___: Path, limit_s: float) -> Used:
        self.order.append(contender.name)
        self.limits[contender.name] = limit_s
        takes = self.takes[contender.name]
        took = takes.pop(0) if len(takes) > 1 else takes[0]
        if isinstance(took, Exception):
            self.now += limit_s if isinstance(took, Late) else 0
            raise took
        self.now += took
        return Used(took, took, 1)

    def rounds(self, contenders: Sequence[Contender], count: int = 3, **how: Any) -> dict[str, Row]:
        rows = rounds(contenders, Work.NOOP, place(self.folder), count, self.folder, said=self.said.append, **how)
        return {row.contender: row for row in rows}


@pytest.fixture
def turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Turns:
    return Turns(tmp_path, monkeypatch)


def test_contenders_take_turns_and_a_slow_one_has_one(turns: Turns) -> None:
    unable = Contender("unable", lambda _, __: None)
    able = [turns.one("a", 1), turns.one("b", 1), unable, turns.one("c", 1), turns.one("slow", SLOW_S + 1)]
    rows = turns.rounds(able)
    assert turns.order == ["a", "b", "c", "slow", "b", "c", "a", "c", "a", "b"]
    assert {name: len(row.seconds) for name, row in rows.items()} == {"a": 3, "b": 3, "c": 3, "slow": 1}


def test_a_contender_that_breaks_off_loses_itself_and_not_the_run(turns: Turns) -> None:
    mended: list[str] = []
    bad = turns.one("bad", 1, Broken("exit code 3"))
    rows = turns.rounds([bad, turns.one("good", 1)], mend=lambda: mended.append("again"))
    assert turns.order == ["bad", "good", "good", "bad", "good"]
    assert rows["bad"].broken == "exit code 3" and rows["bad"].seconds == [1]
    assert len(rows["good"].seconds) == 3 and not rows["good"].broken
    assert mended == ["again"]
    assert any("bad broke off: exit code 3" in line for line in turns.said)


def test_a_run_that_is_not_proved_has_no_time(turns: Turns) -> None:
    def proved(_: Contender) -> None:
        raise Broken("the state was not reached")

    rows = turns.rounds([turns.one("a", 1)], after=proved)
    assert not rows["a"].done and rows["a"].broken == "the state was not reached"


def test_what_is_left_of_the_time_ends_a_run_and_what_comes_later_is_not_begun(turns: Turns) -> None:
    late = turns.one("late", Late("90"))
    rows = turns.rounds([turns.one("a", 10), late, turns.one("last", 1)], within_s=100)
    assert turns.order == ["a", "late"]
    assert turns.limits["late"] == 90
    assert rows["late"].over == 90 and not rows["late"].done
    assert rows["last"].broken == "no time was left"
    assert len(rows["a"].seconds) == 1, "no further round"


def test_a_round_that_may_not_end_in_time_is_not_begun(turns: Turns) -> None:
    rows = turns.rounds([turns.one("a", 10)], count=9, within_s=55)
    assert len(rows["a"].seconds) == 4


def test_all_parts_take_less_than_40_minutes() -> None:
    pair = bench.SETTLE_S + bench.NOOP_S + bench.DRIFT_S + bench.CONVERGE_S
    light = sum(seconds for _, seconds in bench.FLEETS.values())
    far = bench.FAR_S * len(bench.ROUND_TRIPS_MS)
    assert pair + light + far + sum(map(thousand.within_s, thousand.SIZES)) < 39.5 * 60


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[list[str], Result]:
    """The parts that were written, of a run whose part `light` breaks off."""
    written: list[str] = []

    def lost(*_: Any) -> list[Row]:
        raise Broken("no sshd")

    parts = {name: (lost if name == "light" else lambda *_: []) for name in bench.PARTS}
    monkeypatch.setattr(bench, "PARTS", parts)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(machine, "described", dict)
    monkeypatch.setattr(page, "write", lambda part, *_: written.append(part))
    return written, CliRunner().invoke(bench.main, words)


def test_a_part_that_breaks_off_leaves_the_others_and_the_exit_code_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written, done = called(monkeypatch)
    assert written == ["pair", "distance", "thousand"]
    assert done.exit_code == 1 and "the part light broke off" in done.output and "no sshd" in done.output


def test_a_part_is_measured_alone_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    written, done = called(monkeypatch, "--part", "thousand")
    assert written == ["thousand"] and done.exit_code == 0


def measured(ours: float = 10.0) -> list[Row]:
    """A run in which every goal is held where `ours` is small enough."""
    seconds = {
        SPARKRIG.name: ours,
        FLOOR.name: 8.0,
        SSH.name: 9.0,
        STOCK.name: 20.0,
        PIPELINING.name: 90.0,
        MITOGEN.name: 44.0,
    }
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
    rows += [
        Row(
            SPARKRIG.name,
            Work.DRIFT,
            f"{hosts} hosts from memory",
            hosts,
            0,
            [30.0],
            300 << 10,
            [1 + 0.02 * hosts],
        )
        for hosts in (100, 1000)
    ]
    return rows


def test_the_page_says_which_goals_were_held() -> None:
    said = page.goals(measured())
    assert "not held" not in said and said.count("| held |") == len(page.GOALS) + 5
    assert "| no-op deploy of the pair | 4 x faster than Ansible, mitogen | 4.40 x | held |" in said
    assert "0.98 MiB" in said


def test_the_page_says_which_goals_were_not_held() -> None:
    said = page.goals(measured(ours=12.5))
    assert "| no-op deploy of the pair | at most 1.5 x the floor | 1.56 x | **not held** |" in said
    assert "| drift of two hosts 30 ms away | at most 1.5 x the floor | 1.12 x | held |" in said


def test_the_floor_is_the_faster_one() -> None:
    rows = measured()
    for row in rows:
        if row.contender == FLOOR.name:
            row.seconds = [99.0]
    said = page.goals(rows)  # 40 s, and 39 s of one ssh each
    assert "| drift of two hosts 30 ms away | at most 1.5 x the floor | 1.03 x | held |" in said


def test_a_slow_contender_that_was_ended_holds_a_goal_by_what_it_took_at_least() -> None:
    rows = measured()
    for row in rows:
        if row.contender == PIPELINING.name:
            row.seconds, row.over = [], 85 if row.work == Work.NOOP else 600
    said = page.goals(rows)
    assert "| no-op deploy of the pair | 8 x faster than Ansible, pipelining | more than 8.50 x | held |" in said
    for row in rows:
        row.over = 0
    assert "| no-op deploy of the pair | 8 x faster than Ansible, pipelining | broke off | **not held** |" in (
        page.goals(rows)
    )


def test_the_controllers_own_share_is_its_processor_time_and_memory() -> None:
    rows = [row for row in measured() if "memory" in row.place]
    assert [line.split(" | ")[1:] for line in page._of_memory(rows)] == [
        ["at most 30 s", "21.0 s", "held |"],
        ["at most 400 MiB", "300 MiB", "held |"],
        ["level", "30 ms, 21 ms", "held |"],
    ]
    rows[1].cpu, rows[1].peak_kib = [40.0], 500 << 10
    assert all("**not held**" in line for line in page._of_memory(rows))
    rows[0].seconds = []
    assert "broke off | **not held**" in page._of_memory(rows)[0]


def test_every_contender_and_every_place_is_in_the_tables() -> None:
    rows = measured()
    parts: dict[str, list[Row]] = {"pair": [], "light": [], "distance": [], "thousand": []}
    for row in rows:
        kind = "pair" if row.place == PAIR else "thousand" if "memory" in row.place else "light"
        parts["distance" if kind == "light" and row.hosts == 2 else kind].append(row)
    said = page.tables({name: (found, {"commit": name}) for name, found in parts.items()})
    assert all(f"commit: {name}." in said for name in parts)
    own = {SPARKRIG.name: 5}
    assert all(said.count(f"| {each.name} |") == own.get(each.name, 3) for each in ALL)
    assert "| seconds | 8 hosts | 64 hosts | 128 hosts |" in said and "| seconds | 0 ms | 30 ms |" in said
    assert "| sparkrig | 1,000 | 30.0 | 21.0 s | 21 ms |  | 300 MiB |" in said


def test_the_results_in_git_are_those_of_the_page() -> None:
    kept = json.loads(page.RESULTS.read_text())
    parts = {name: ([Row(**row) for row in part["rows"]], part["machine"]) for name, part in kept.items()}
    assert set(parts) <= set(bench.PARTS)
    assert {row.contender for rows, _ in parts.values() for row in rows} <= {each.name for each in ALL}
    assert page.tables(parts) in page.PAGE.read_text()


def test_a_spread_is_half_of_what_lies_between_the_ends() -> None:
    assert page._cell(Row("a", "b", "c", 1, 0, [1.0, 2.0, 4.0])) == "2.0 ± 1.5"
    assert page._cell(Row("a", "b", "c", 1, 0, [1.0])) == "1.0"
    assert page._cell(Row("a", "b", "c", 1, 0, broken="x")) == "broke off"
    assert page._cell(Row("a", "b", "c", 1, 0, broken="x", over=90)) == "more than 90"
    assert measure.Row("a", "b", "c", 1, 0, [3.0, 1.0]).median == 2.0
