"""When a case is measured once more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from sparkrig.bandwidth.measurement import Case, Measurement
from sparkrig.bandwidth.perftest_run import Pace
from sparkrig.io import fabric_check
from sparkrig.io.measure import Bench
from sparkrig.verdict import Verdict

GOOD, LOW = Verdict("healthy"), Verdict("fault", "below-floor", "0.00 Gb/s", "again")
TOGETHER, ALONE = (Case("ib_write_bw", rails, "spark-a", "spark-b", 4) for rails in ((0, 1), (0,)))


def share(rail: int, gbps: float | None, verdict: Verdict) -> Measurement:
    return Measurement("ib_write_bw", rail, "spark-a", "spark-b", 4, True, verdict, gbps)


SHORT = Verdict("degraded", "path-mtu", "path MTU 1024, 4096 expected", "ip link show")
NARROW = [share(0, 0.2, SHORT)]
WELL, STARVED = [share(0, 0.2, GOOD), share(1, 0.3, GOOD)], [share(0, 0.2, GOOD), share(1, 0.0, LOW)]
NOTHING = [share(0, None, LOW), share(1, None, LOW)]


@pytest.mark.parametrize(
    ("virtual", "case", "before", "runs", "kept", "times"),
    [
        (False, TOGETHER, WELL, [WELL], WELL, 1),
        (False, TOGETHER, WELL, [STARVED, WELL], WELL, 2),
        (False, TOGETHER, WELL, [STARVED, STARVED], STARVED, 2),
        (False, TOGETHER, STARVED, [STARVED], STARVED, 1),
        (False, TOGETHER, WELL, [NOTHING], NOTHING, 1),
        (False, ALONE, [], [STARVED[1:]], STARVED[1:], 1),
        (True, ALONE, [], [WELL[1:]], WELL[1:], 1),
        (True, ALONE, [], [STARVED[1:], WELL[1:]], WELL[1:], 2),
        (True, ALONE, [], [STARVED[1:], STARVED[1:]], STARVED[1:], 2),
        (True, ALONE, STARVED, [STARVED[1:]], STARVED[1:], 1),
        (True, ALONE, [], [NOTHING], NOTHING, 1),
        (True, ALONE, [], [NARROW], NARROW, 1),
    ],
    ids=[
        *("well", "starved once", "starved twice", "low alone, too", "no figure", "alone"),
        *("virtual, well", "virtual, once", "virtual, twice", "virtual, low before", "virtual, no figure"),
        "virtual, path MTU",
    ],
)
def test_a_rail_that_starves_beside_another_or_on_soft_roce_is_looked_at_twice(
    monkeypatch: pytest.MonkeyPatch,
    virtual: bool,
    case: Case,
    before: list[Measurement],
    runs: list[list[Measurement]],
    kept: list[Measurement],
    times: int,
) -> None:
    left = iter(runs)
    asked: list[Case] = []

    def run(_: Any, which: Case) -> list[Measurement]:
        asked.append(which)
        return next(left)

    monkeypatch.setattr("sparkrig.io.measure.run", run)
    bench = cast(Bench, SimpleNamespace(pace=Pace(5, 1.0, virtual)))
    assert fabric_check._measured(bench, case, before) == kept
    assert asked == [case] * times
