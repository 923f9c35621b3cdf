"""What is measured of rails: at once first, alone where that leaves a rail open, and when once more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sparkrig.bandwidth import bands
from sparkrig.bandwidth.bands import Expected, Figure
from sparkrig.bandwidth.io import fabric_cases
from sparkrig.bandwidth.io.measure import Bench
from sparkrig.bandwidth.measurement import Case, Measurement
from sparkrig.bandwidth.perftest_run import Pace
from sparkrig.verdict import Finding, Verdict
from tests.tables import each_row

CABLE = Expected(path_mtu=4096)
BUSY = Verdict("degraded", "busy", "the load is 40 on 20 cores", "stop it")
# what a trial without a figure comes to
REFUSED = Verdict("unknown", "no-server", "no server came up on spark-b", "again")
KILLED = Verdict("fault", "peer-died", "the server on spark-b was ended in mid-test", "again")
FLAPPED = Verdict("degraded", "link-flap", "the link lost its carrier 2 times", "seat the plugs")

Outcome = float | Verdict | tuple[float, int] | tuple[float, Verdict]
"""Of a rail: Gb/s, with its path MTU, or with a verdict of its own; why there is no figure."""


class Fabric:
    """Rails that reach, one time after the other, what is said of them; and what was asked of them."""

    def __init__(
        self,
        told: Mapping[tuple[int, ...], Sequence[Sequence[Outcome]]],
        *,
        virtual: bool = False,
        expected: Expected = CABLE,
        suspects: Sequence[Verdict] = (),
    ) -> None:
        self._left = {rails: list(runs) for rails, runs in told.items()}
        self._expected, self._suspects = expected, suspects
        self.bench = cast(Bench, SimpleNamespace(pace=Pace(5, 1.0, virtual), expected=expected))
        self.asked: list[tuple[int, ...]] = []
        self.shown: list[str] = []

    def run(self, _: Any, case: Case) -> list[Measurement]:
        self.asked.append(case.rails)
        outcomes = self._left[case.rails].pop(0)
        return [self._share(case, rail, each) for rail, each in zip(case.rails, outcomes, strict=True)]

    def _share(self, case: Case, rail: int, outcome: Outcome) -> Measurement:
        words = case.test, rail, case.sender, case.receiver, case.queue_pairs, case.together
        if isinstance(outcome, Verdict):
            return Measurement(*words, outcome)
        gbps, more = outcome if isinstance(outcome, tuple) else (outcome, 4096)
        mtu = 4096 if isinstance(more, Verdict) else more
        figure = Figure(gbps, mtu, case.queue_pairs, case.together)
        verdict = more if isinstance(more, Verdict) else bands.judge(figure, self._expected, self._suspects)
        return Measurement(*words, verdict, gbps, path_mtu=mtu)

    def added(self, cases: Sequence[Case]) -> None:
        self.shown.append(f"added {[case.rails for case in cases]}")

    def started(self, case: Case) -> None:
        self.shown.append(f"started {case.rails}")

    def finished(self, measured: Sequence[Measurement]) -> None:
        self.shown.append(f"finished {[each.rail for each in measured]}")


def measured(
    monkeypatch: pytest.MonkeyPatch, fabric: Fabric, *, rails: Sequence[int] = (0, 1), thorough: bool = False
) -> tuple[list[Measurement], list[Finding]]:
    monkeypatch.setattr("sparkrig.bandwidth.io.measure.run", fabric.run)
    cases = [
        case
        for case in bands.cases(rails, "spark-a", "spark-b", thorough=thorough)
        # one way and without latency, so that a table can be read
        if case.test == "ib_write_bw" and case.sender == "spark-a" and case.queue_pairs == bands.QUEUE_PAIRS
    ]
    return fabric_cases.all_measured(fabric.bench, cases, fabric)


def worst(found: Sequence[Measurement], rail: int) -> tuple[str, str]:
    from sparkrig.verdict import worst as of

    verdict = of(each.verdict for each in found if each.rail == rail)
    return verdict.level, verdict.cause


OK = ("healthy", "")
BOTH = (0, 1)
REDUCED, SHARED = ("degraded", "reduced"), ("degraded", "pair-reduced")

# what the rails reach at once, and alone; what is measured; the worst verdict of rail 0, and of rail 1
ROWS: dict[str, tuple[Any, ...]] = {
    "healthy": ([[98.0, 97.9]], {}, [BOTH], OK, OK),
    "one twin gets more": ([[111.0, 95.0]], {}, [BOTH], OK, OK),
    "as NVIDIA's guide shows it": ([[92.6, 92.5]], {0: [111.7], 1: [111.8]}, [BOTH, (0,), (1,)], OK, OK),
    "one at half its speed": ([[111.0, 55.0]], {1: [55.2]}, [BOTH, (1,)], OK, REDUCED),
    "one that is reduced by little": ([[98.0, 93.0]], {1: [93.1]}, [BOTH, (1,)], OK, REDUCED),
    "the same, and the sum is usual": ([[103.0, 92.0]], {1: [92.0]}, [BOTH, (1,)], OK, REDUCED),
    "one that started up slowly": ([[111.0, 13.3]], {1: [13.35]}, [BOTH, (1,)], OK, ("fault", "slow-start")),
    "both started up slowly": (
        *([[13.4, 13.3]], {0: [13.35], 1: [13.35]}, [BOTH, (0,), (1,)]),
        *(("fault", "slow-start"), ("fault", "slow-start")),
    ),
    "both slow": ([[55.0, 54.0]], {0: [55.2], 1: [54.9]}, [BOTH, (0,), (1,)], REDUCED, REDUCED),
    "what they share is slow": (
        *([[60.0, 61.0], [60.1, 60.9]], {0: [111.7], 1: [111.8]}, [BOTH, (0,), (1,), BOTH]),
        *(SHARED, SHARED),
    ),
    "what they share is slow, and hits one": (
        *([[110.0, 70.0], [110.0, 71.0]], {1: [111.8]}, [BOTH, (1,), BOTH], OK, SHARED),
    ),
    "one lost for once": ([[111.0, 70.0], [98.0, 97.0]], {1: [111.8]}, [BOTH, (1,), BOTH], OK, OK),
    "one lost for once, the other one then": (
        *([[111.0, 70.0], [70.0, 111.0]], {1: [111.8]}, [BOTH, (1,), BOTH], REDUCED, OK),
    ),
    "slow at once, and one alone, too": (
        *([[60.0, 55.0], [60.0, 55.0]], {0: [111.7], 1: [55.2]}, [BOTH, (0,), (1,), BOTH], SHARED, REDUCED),
    ),
    "a small path MTU": (
        *([[97.0, (97.0, 1024)]], {1: [(97.0, 1024)]}, [BOTH, (1,)], OK, ("degraded", "path-mtu")),
    ),
    "a small path MTU at once only": (
        *([[97.0, (97.0, 1024)]], {1: [111.0]}, [BOTH, (1,)], OK, ("degraded", "path-mtu")),
    ),
    "one does not start": ([[98.0, REFUSED]], {1: [REFUSED]}, [BOTH, (1,)], OK, ("unknown", "no-server")),
    "one does not start at once": ([[98.0, REFUSED]], {1: [111.0]}, [BOTH, (1,)], OK, ("unknown", "no-server")),
    "one that does not start, and the other slow": (
        *([[55.0, REFUSED]], {0: [55.0], 1: [REFUSED]}, [BOTH, (0,), (1,)], REDUCED, ("unknown", "no-server")),
    ),
    "enough beside one that does not start": (
        *([[96.0, REFUSED]], {1: [REFUSED]}, [BOTH, (1,)], OK, ("unknown", "no-server")),
    ),
    "well at once, but slow, for the other one did not start": (
        *([[93.0, REFUSED]], {0: [93.1], 1: [111.0]}, [BOTH, (0,), (1,)], REDUCED, ("unknown", "no-server")),
    ),
    "one after the other, for one started late: a slow one stays slow": (
        *([[111.0, 93.0]], {1: [93.1]}, [BOTH, (1,)], OK, REDUCED),
    ),
    "a flap, and a good figure": (
        *([[98.0, (98.0, FLAPPED)]], {1: [111.0]}, [BOTH, (1,)], OK, ("degraded", "link-flap")),
    ),
    "a flap, and a low figure": (
        *([[98.0, (40.0, FLAPPED)]], {1: [111.0]}, [BOTH, (1,)], OK, ("degraded", "link-flap")),
    ),
    "a flap, and the other one low for once": (
        *([[(98.0, FLAPPED), 60.0], [98.0, 97.0]], {0: [111.0], 1: [111.0]}, [BOTH, (0,), (1,), BOTH]),
        *(("degraded", "link-flap"), OK),
    ),
    "a server that is killed, and the other one low for once": (
        *([[KILLED, 60.0], [98.0, 97.0]], {0: [111.0], 1: [111.0]}, [BOTH, (0,), (1,), BOTH]),
        *(("fault", "peer-died"), OK),
    ),
    "more than a rail can carry": (*([[98.0, 196.0]], {1: [196.0]}, [BOTH, (1,)], OK, ("unknown", "impossible")),),
}


def test_rails_at_once_and_alone_where_that_leaves_one_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def holds(together: Any, alone: Any, asked: Any, rail_0: Any, rail_1: Any) -> None:
        fabric = Fabric({BOTH: together, **{(rail,): [figures] for rail, figures in alone.items()}})
        found, _ = measured(monkeypatch, fabric)
        assert fabric.asked == asked
        assert (worst(found, 0), worst(found, 1)) == (rail_0, rail_1)

    each_row(ROWS, holds)


def test_a_rail_without_another_is_measured_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for gbps, rail in ((111.7, OK), (93.0, REDUCED)):
        fabric = Fabric({(1,): [[gbps]]})
        found, sums = measured(monkeypatch, fabric, rails=[1])
        assert (fabric.asked, worst(found, 1), sums) == ([(1,)], rail, [])


def test_what_a_host_is_known_for_is_named_and_not_what_rails_share(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = Fabric({BOTH: [[60.0, 98.0]] * 2, (0,): [[111.7]]}, suspects=[BUSY])
    found, _ = measured(monkeypatch, fabric)
    assert worst(found, 0) == ("degraded", "busy")


def test_a_link_with_a_floor_of_its_own_is_judged_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def holds(together: Any, alone: Any, asked: Any, rail: Any) -> None:
        told = {BOTH: together, **{(number,): [figures] for number, figures in alone.items()}}
        fabric = Fabric(told, expected=Expected(floor=40.0, path_mtu=4096))
        found, _ = measured(monkeypatch, fabric)
        assert (fabric.asked, worst(found, 1)) == (asked, rail)

    each_row(
        {
            "well": ([[41.0, 40.0]], {}, [BOTH], OK),
            "beside the other enough, alone not": (
                [[41.0, 38.0]],
                {1: [38.0]},
                [BOTH, (1,)],
                ("fault", "below-floor"),
            ),
            "shared": ([[41.0, 20.0]] * 2, {1: [41.0]}, [BOTH, (1,), BOTH], SHARED),
        },
        holds,
    )


def test_what_they_reach_together_is_said_of_healthy_rails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    _, (total,) = measured(monkeypatch, Fabric({BOTH: [[98.0, 97.5]]}))
    assert (total.verdict.level, total.verdict.evidence) == ("healthy", "195.50 Gb/s over 2 rails at once")
    assert measured(monkeypatch, Fabric({BOTH: [[98.0, REFUSED]], (1,): [[111.0]]}))[1] == []
    assert measured(monkeypatch, Fabric({BOTH: [[98.0, 55.0]], (1,): [[55.0]]}))[1] == []


def test_each_step_is_shown_as_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = Fabric({BOTH: [[98.0, 60.0], [98.0, 97.0]], (1,): [[111.0]]})
    measured(monkeypatch, fabric)
    both, lone = ["started (0, 1)", "finished [0, 1]"], ["started (1,)", "finished [1]"]
    assert fabric.shown == [*both, "added [(1,)]", *lone, *both]


def test_a_thorough_check_has_each_rail_alone_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def holds(together: Any, first: Any, asked: Any, rail: Any) -> None:
        fabric = Fabric({BOTH: together, (0,): [[111.7]], (1,): [[first]]})
        found, _ = measured(monkeypatch, fabric, thorough=True)
        assert (fabric.asked, worst(found, 1)) == ([(0,), (1,), *asked], rail)

    each_row(
        {
            "well": ([[98.0, 97.0]], 111.8, [BOTH], OK),
            "low at once, for once": ([[98.0, 60.0], [98.0, 97.0]], 111.8, [BOTH, BOTH], OK),
            "low at once, twice": ([[98.0, 60.0]] * 2, 111.8, [BOTH, BOTH], SHARED),
            "low alone, too": ([[98.0, 55.0]], 55.0, [BOTH], REDUCED),
            "no figure at once": ([[98.0, REFUSED]], 111.8, [BOTH], ("unknown", "no-server")),
            "beside the other at the limit": ([[92.6, 92.5]], 111.8, [BOTH], OK),
        },
        holds,
    )


def test_a_rail_alone_is_measured_again_on_soft_roce_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def holds(virtual: bool, runs: list[Outcome], rail: Any) -> None:
        fabric = Fabric({(0,): [[each] for each in runs]}, virtual=virtual, expected=Expected(0.1, 4096))
        found, _ = measured(monkeypatch, fabric, rails=[0])
        assert (len(fabric.asked), worst(found, 0)) == (len(runs), rail)

    low = ("fault", "below-floor")
    each_row(
        {
            "hardware": (False, [0.0], low),
            "well": (True, [0.2], OK),
            "once": (True, [0.0, 0.2], OK),
            "twice": (True, [0.0, 0.0], low),
            "no figure": (True, [REFUSED], ("unknown", "no-server")),
            "path MTU": (True, [(0.2, 1024)], ("degraded", "path-mtu")),
        },
        holds,
    )


def test_a_rail_that_was_low_at_once_on_soft_roce_has_one_more_try(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = Fabric({BOTH: [[0.2, 0.0]], (1,): [[0.0]]}, virtual=True, expected=Expected(0.1, 4096))
    found, _ = measured(monkeypatch, fabric)
    assert (fabric.asked, worst(found, 1)) == ([BOTH, (1,)], ("fault", "below-floor"))
