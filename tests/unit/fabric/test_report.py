"""The report is one whole page, says what was found, and loads nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from sparkrig.bandwidth import history
from sparkrig.bandwidth.history import History
from sparkrig.bandwidth.measurement import Edge, End, Host, Measurement, Run
from sparkrig.fabric.render import report
from sparkrig.verdict import Finding, Verdict
from tests.unit.pages import Whole, is_whole_and_loads_nothing
from tests.unit.topologies import states

A, B = "spark-a", "spark-b"
SLOW = Verdict("fault", "slow-start", "13.34 Gb/s at 4 queue pairs", "reboot both Sparks")
DEAD = Verdict("unknown", "unreachable", "spark-b does not answer", "ping spark-b")
EVIL = "<script>alert(1)</script>"


def measured(gbps: float | None = 111.86, verdict: Verdict | None = None, **changed: Any) -> Measurement:
    found = verdict or Verdict("healthy", evidence=f"{gbps} Gb/s")
    return replace(Measurement("ib_write_bw", 0, A, B, 4, False, found, gbps=gbps, path_mtu=4096), **changed)


def run(day: int, *measurements: Measurement, rail: Verdict | None = None, firmware: str = "28.45.4028") -> Run:
    host = Host(f"boot-{day}", "6.11.0-1016-nvidia", "580.95.05", firmware, "24.01.0")
    ends = {
        name: End("rocep1s0f0", 3, "enp1s0f0np0", f"192.168.100.1{index}") for index, name in enumerate((A, B))
    }
    return Run(
        id=f"run-{day}",
        started_at=f"2026-10-{day:02}T12:00:00Z",
        pair="living-room",
        mtu=9000,
        hosts={A: host, B: host},
        rails=(Edge(0, ends, rail or Verdict("healthy", evidence="111.9 Gb/s"), hosts=(A, B), netdevs=("", "")),),
        measurements=measurements or (measured(), measured(sender=B, receiver=A, gbps=111.7)),
        findings=(Finding("pair", Verdict("healthy", evidence="MTU 9000 on both")),),
    )


def past(*runs: Run) -> History:
    return History(tuple(map(history.entry, runs)))


LATENCY = measured(None, Verdict("healthy", evidence="1.6 us"), test="ib_write_lat", queue_pairs=1, latency_us=1.6)
OLD = past(*(run(day, measured(gbps=111 + day / 10), LATENCY) for day in range(1, 8)))
NEW = run(20, measured(13.34, SLOW), LATENCY, rail=SLOW, firmware="28.47.1026")


def page(found: Run = NEW, before: History = OLD) -> str:
    return report.html(found, before, states()["straight"])


FAILED = replace(run(20, rail=DEAD), measurements=(), findings=())
PAGES: dict[str, Callable[[], str]] = {
    "slow, with a history": page,
    "first run": lambda: page(run(1), History()),
    "everything failed": lambda: page(FAILED, History()),
    "everything failed, with a history": lambda: page(FAILED),
    "nothing to measure": lambda: page(replace(FAILED, rails=(), hosts={}), History()),
    "one unmeasured": lambda: page(run(20, measured(None, DEAD), rail=DEAD)),
    "no bands": lambda: report.html(run(20, measured(0.4)), past(run(1, measured(0.5)))),
}


@cache
def drawn(name: str) -> str:
    return PAGES[name]()


@pytest.mark.slow  # a page in each form
@pytest.mark.parametrize("name", PAGES)
def test_each_page_is_whole_and_loads_nothing(name: str) -> None:
    text = drawn(name)
    is_whole_and_loads_nothing(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("slow, with a history", "Rail 0: 13.34 Gb/s at 4 queue pairs"),
        ("slow, with a history", '<p class="cure wrap">reboot both Sparks</p>'),
        ("slow, with a history", "13.34 Gb/s, 111.10 to 111.70 in 7 healthy runs before, 88 % below their median"),
        ("slow, with a history", "firmware 28.45.4028 → 28.47.1026 on spark-a and spark-b"),
        ("slow, with a history", '1.60 <span class="unit">µs</span>'),
        ("slow, with a history", "spark-a: enp1s0f0np0 (rocep1s0f0, GID 3, 192.168.100.10)"),
        ("slow, with a history", "<title>Fabric</title>"),
        ("first run", "1 of 1 rails between 2 hosts are healthy, 111.70 to 111.86 Gb/s"),
        ("first run", "This is the first run"),
        ("everything failed", "Rail 0: spark-b does not answer"),
        ("everything failed", "not measured"),
        ("nothing to measure", "Nothing was measured"),
        ("no bands", '0.40 <span class="unit">Gb/s</span>'),
    ],
)
def test_a_page_says(name: str, words: str) -> None:
    assert words in drawn(name)


def test_figures_of_a_column_have_one_precision_and_stand_under_one_another() -> None:
    """`111.9`, `13.3`, `7.53` and `0.4` under one another were of four sizes at a glance."""
    figures = (111.86, 100.0, 13.34, 7.5, 0.41, 0.0)
    page = report.html(run(20, *(measured(gbps=each) for each in figures), LATENCY), History())
    tables = page.partition("<h2>All measurements</h2>")[2]
    cells = re.findall(r"<td class=\"n(?: [^\"]*)?\"[^>]*>([\d.]+)(?: <|<)", tables)
    shown = [cell for cell in cells if "." in cell]
    assert {f"{each:.2f}" for each in figures} <= set(shown)
    assert all(re.fullmatch(r"\d+\.\d\d", cell) for cell in shown)
    assert '<span class="unit">Gb/s</span>' in tables and '<span class="unit">µs</span>' in tables
    (rule,) = re.findall(r"^\.n \{(.*)\}$", page, re.M)
    assert "text-align: right" in rule and "tabular-nums" in rule


def test_a_page_is_the_same_each_time() -> None:
    assert page() == drawn("slow, with a history")


def test_a_run_that_is_in_the_history_already_counts_once() -> None:
    assert page(NEW, past(NEW)) == page(NEW, History())


def test_other_pairs_in_the_same_file_are_not_shown() -> None:
    assert page(NEW, past(replace(run(3), pair="garage"))) == page(NEW, History())


def test_what_left_the_file_unread_is_said() -> None:
    assert "2 that cannot be read" in page(before=replace(OLD, broken=2))


def test_hostile_text_is_text() -> None:
    """A host, an evidence, a version: whoever can name them cannot write the page."""
    verdict = Verdict("fault", EVIL, f'"> {EVIL} $x^2$ \' onload="x', EVIL)
    hostile = measured(1.0, verdict, sender=EVIL, receiver='"><img src=x>')
    found = replace(
        run(20, hostile, rail=verdict),
        id=EVIL,
        pair=f"</title>{EVIL}",
        hosts={EVIL: Host(EVIL, EVIL, EVIL, EVIL, EVIL), '"><img src=x>': Host()},
        findings=(Finding(EVIL, verdict),),
    )
    text = page(found, past(replace(found, id="before", started_at="2026-10-02T00:00:00Z")))
    assert Whole(text).tags.isdisjoint({"script", "img"})
    assert "&lt;script&gt;" in text
