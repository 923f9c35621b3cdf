"""When a case is measured once more."""

from __future__ import annotations

from typing import Any, cast

import pytest

from operations import check
from sparkrig.measurement import Case, Measurement
from sparkrig.verdict import Verdict

GOOD, LOW = Verdict("healthy"), Verdict("fault", "below-floor", "0.00 Gb/s", "again")
TOGETHER, ALONE = (Case("ib_write_bw", rails, "spark-a", "spark-b", 4) for rails in ((0, 1), (0,)))


def share(rail: int, gbps: float | None, verdict: Verdict) -> Measurement:
    return Measurement("ib_write_bw", rail, "spark-a", "spark-b", 4, True, verdict, gbps)


WELL, STARVED = [share(0, 0.2, GOOD), share(1, 0.3, GOOD)], [share(0, 0.2, GOOD), share(1, 0.0, LOW)]
NOTHING = [share(0, None, LOW), share(1, None, LOW)]


@pytest.mark.parametrize(
    ("case", "before", "runs", "kept", "times"),
    [
        (TOGETHER, WELL, [WELL], WELL, 1),
        (TOGETHER, WELL, [STARVED, WELL], WELL, 2),
        (TOGETHER, WELL, [STARVED, STARVED], STARVED, 2),
        (TOGETHER, STARVED, [STARVED], STARVED, 1),
        (TOGETHER, WELL, [NOTHING], NOTHING, 1),
        (ALONE, [], [STARVED[1:]], STARVED[1:], 1),
    ],
    ids=["well", "starved once", "starved twice", "low alone, too", "no figure", "alone"],
)
def test_a_rail_that_starves_beside_another_is_looked_at_twice(
    monkeypatch: pytest.MonkeyPatch,
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

    monkeypatch.setattr("operations.trial.run", run)
    assert check._measured(cast(Any, None), case, before) == kept
    assert asked == [case] * times
