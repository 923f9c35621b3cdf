"""What is measured, and what a figure means: the bands, the path MTU."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkrig.bandwidth import bands
from sparkrig.bandwidth.bands import BANDS, Expected, Figure, judge, judge_latency, judge_pair
from sparkrig.bandwidth.measurement import Case, Measurement
from sparkrig.verdict import Verdict
from tests.tables import each_row

CABLE = Expected(path_mtu=4096)


@pytest.mark.parametrize(
    ("figure", "level", "cause"),
    [
        # published healthy figures [@eugr, @capetron, @sudobasher, @graham33]
        (Figure(111.86), "healthy", ""),
        (Figure(111.71), "healthy", ""),
        (Figure(95.0), "healthy", ""),
        (Figure(109.1, queue_pairs=1), "healthy", ""),
        (Figure(93.0, queue_pairs=1), "healthy", ""),
        (Figure(92.57, queue_pairs=1, together=True), "healthy", ""),
        (Figure(98.04, together=True), "healthy", ""),
        # published faults
        (Figure(13.35), "fault", "slow-start"),
        (Figure(13.35, queue_pairs=1), "fault", "slow-start"),
        (Figure(12.74), "fault", "slow-start"),
        (Figure(13.39, together=True), "fault", "slow-start"),
        (Figure(4.9), "fault", "detour"),
        (Figure(0.0), "fault", "detour"),
        (Figure(55.0), "degraded", "reduced"),
        (Figure(30.0), "fault", "low"),
        # the edges
        (Figure(94.99), "degraded", "reduced"),
        (Figure(89.99, together=True), "degraded", "reduced"),
        (Figure(50.0), "degraded", "reduced"),
        (Figure(49.99), "fault", "low"),
        (Figure(25.0), "fault", "low"),
        (Figure(24.99), "fault", "slow-start"),
        (Figure(8.0), "fault", "slow-start"),
        (Figure(7.99), "fault", "detour"),
    ],
    ids=str,
)
def test_the_bands_of_a_connectx7(figure: Figure, level: str, cause: str) -> None:
    verdict = judge(replace(figure, path_mtu=4096), CABLE)
    assert (verdict.level, verdict.cause) == (level, cause)
    assert f"{figure.gbps:.2f} Gb/s" in verdict.evidence
    assert bool(verdict.cure) is (level != "healthy")


def test_a_slow_start_names_its_cure() -> None:
    verdict = judge(Figure(13.35), CABLE)
    assert "start-up of the ConnectX-7" in verdict.evidence
    assert "reboot both Sparks with the cable attached" in verdict.cure


@pytest.mark.parametrize(
    ("floor", "hold"), [(None, True), (55.0, True), (50.0, True), (49.9, False), (0.01, False)]
)
def test_the_bands_are_not_shown_for_another_kind_of_link(floor: float | None, hold: bool) -> None:
    assert bands.bands(Expected(floor)) == (BANDS if hold else ())


def test_the_bands_leave_no_gap_and_name_their_source() -> None:
    assert [band.high for band in BANDS[1:]] == [band.low for band in BANDS[:-1]]
    assert (BANDS[0].high, BANDS[-1].low) == (float("inf"), 0)
    assert all(band.source and band.meaning for band in BANDS)


NARROW = Verdict("fault", "pcie-width", "PCIe x2 where x4 is expected", "update the BIOS")
BUSY = Verdict("degraded", "busy", "the load is 40 on 20 cores", "stop it")
UNTOLD = Verdict("unknown", "load-unknown", "no load")


@pytest.mark.parametrize(
    ("gbps", "suspects", "cause"),
    [
        (55.0, [NARROW], "pcie-width"),
        (55.0, [Verdict("healthy"), UNTOLD, BUSY], "busy"),
        (55.0, [UNTOLD], "reduced"),
        (13.35, [NARROW, BUSY], "slow-start"),  # neither explains a tenth
        (111.86, [NARROW, BUSY], ""),
    ],
)
def test_a_known_suspect_is_named_where_it_explains_the_figure(
    gbps: float, suspects: list[Verdict], cause: str
) -> None:
    verdict = judge(Figure(gbps, 4096), CABLE, suspects)
    assert verdict.cause == cause
    assert verdict.evidence.startswith(f"{gbps:.2f} Gb/s")


@pytest.mark.parametrize(
    ("figure", "level", "cause"),
    [
        (Figure(97.0, 1024), "degraded", "path-mtu"),
        (Figure(111.0, None), "healthy", ""),  # a pasted row tells no path MTU
        (Figure(94.0, 1024), "degraded", "path-mtu"),  # the cause before its effect
        (Figure(13.35, 1024), "fault", "slow-start"),  # no MTU explains a tenth
    ],
)
def test_a_small_path_mtu(figure: Figure, level: str, cause: str) -> None:
    small = Verdict("degraded", "mtu", "enp1s0f0np0 on spark-b has MTU 1500, 9000 expected", "mend it")
    verdict = judge(figure, CABLE, [small])
    assert (verdict.level, verdict.cause) == (level, cause)
    if cause == "path-mtu":
        assert "path MTU 1024, 4096 expected: enp1s0f0np0 on spark-b has MTU 1500" in verdict.evidence


@pytest.mark.parametrize(
    ("gbps", "together", "floor", "level"),
    [
        (0.5, False, 0.4, "healthy"),
        (0.3, False, 0.4, "fault"),
        (0.38, True, 0.4, "healthy"),  # 0.4 x 90 / 95
        (0.37, True, 0.4, "fault"),
        (60.0, False, 55.0, "healthy"),  # a Spark whose owner knows of its x2
        (54.0, False, 55.0, "degraded"),
        (120.0, False, 150.0, "degraded"),  # whatever the bands say
    ],
)
def test_a_floor_of_its_own(gbps: float, together: bool, floor: float, level: str) -> None:
    assert judge(Figure(gbps, 4096, together=together), Expected(floor, 4096)).level == level


@pytest.mark.parametrize(
    ("total", "level"), [(196.08, "healthy"), (180.0, "healthy"), (179.9, "degraded"), (26.6, "degraded")]
)
def test_both_rails_at_once(total: float, level: str) -> None:
    assert judge_pair(total, 2, CABLE).level == level


@pytest.mark.parametrize(
    ("microseconds", "floor", "level"),
    [(1.62, None, "healthy"), (5.0, None, "healthy"), (5.1, None, "degraded"), (900.0, 0.01, "healthy")],
)
def test_latency(microseconds: float, floor: float | None, level: str) -> None:
    assert judge_latency(microseconds, Expected(floor)).level == level


def test_what_is_measured_thoroughly() -> None:
    found = bands.cases([0, 1], "a", "b", thorough=True)
    alone = [case for case in found if not case.together and case.test == "ib_write_bw"]
    assert {(case.rails, case.sender, case.queue_pairs) for case in alone} == {
        ((rail,), sender, pairs) for rail in (0, 1) for sender in "ab" for pairs in (1, 4)
    }
    assert [case.rails for case in found if case.test == "ib_write_lat"] == [(0,), (1,)]
    assert [case for case in found if case.together] == [
        Case("ib_write_bw", (0, 1), "a", "b", 4),
        Case("ib_write_bw", (0, 1), "b", "a", 4),
    ]


def test_what_is_measured_quickly() -> None:
    assert bands.cases([0, 1], "a", "b", thorough=False) == [Case("ib_write_bw", (0, 1), "a", "b", 4)]
    assert bands.cases([1], "a", "b", thorough=False) == [Case("ib_write_bw", (1,), "a", "b", 4)]
    assert bands.cases([], "a", "b", thorough=False) == bands.cases([], "a", "b", thorough=True) == []


def share(gbps: float | None, path_mtu: int | None = 4096) -> Measurement:
    verdict = judge(Figure(gbps, path_mtu, together=True), CABLE) if gbps else Verdict("fault", "timed-out")
    return Measurement("ib_write_bw", 0, "a", "b", 4, True, verdict, gbps, path_mtu=path_mtu)


def test_what_a_rail_reaches_beside_another_shows_that_it_is_healthy_where_it_is_enough_alone() -> None:
    case = Case("ib_write_bw", (0, 1), "a", "b", 4)

    def holds(found: Measurement, rails: list[tuple[int, ...]]) -> None:
        others = bands.alone(case, [found], CABLE)
        assert [each.rails for each in others] == [*rails, (1,)], "rail 1 has no share at all"
        assert {(each.test, each.sender, each.receiver, each.queue_pairs) for each in others} == {
            ("ib_write_bw", "a", "b", 4)
        }

    flapped = replace(share(98.0), verdict=Verdict("degraded", "link-flap", "it went", "seat the plugs"))
    each_row(
        [
            (share(98.0), []),
            (share(95.0), []),
            (share(94.99), [(0,)]),  # healthy beside another, from 90
            (share(55.0), [(0,)]),
            (share(98.0, 1024), [(0,)]),
            (share(126.1), [(0,)]),
            (share(None), [(0,)]),
            (flapped, [(0,)]),
        ],
        holds,
    )


def test_a_low_share_of_a_rail_that_is_healthy_alone_is_what_the_rails_share() -> None:
    verdict = bands.judge_shared(share(60.0), 111.71)
    assert (verdict.level, verdict.cause) == ("degraded", "pair-reduced")
    assert "60.00 Gb/s beside other rails, 111.71 alone" in verdict.evidence and verdict.cure


@pytest.mark.parametrize(
    ("links", "sets"),
    [
        ({}, [(0, 1, 2, 3)]),
        ({0: "0000:01:00", 1: "0002:01:00", 2: "0000:01:00", 3: "0002:01:00"}, [(0, 1), (2, 3)]),
        ({0: "0000:01:00", 1: "0000:01:00", 2: "0002:01:00", 3: "0002:01:00"}, [(0, 2), (1, 3)]),
        ({0: "0000:01:00", 1: "0000:01:00", 2: "0000:01:00", 3: "0000:01:00"}, [(0,), (1,), (2,), (3,)]),
        ({0: "0000:01:00", 1: "0002:01:00", 2: "0000:01:00", 3: "0000:01:00"}, [(0, 1), (2,), (3,)]),
    ],
    ids=["unknown", "a cage after the other", "a link after the other", "one link", "two of four"],
)
def test_rails_that_share_a_pcie_link_are_not_measured_at_once(
    links: dict[int, str], sets: list[tuple[int, ...]]
) -> None:
    """Each rail is in one case of a quick check: in a set, or by itself."""
    found = bands.cases([0, 1, 2, 3], "a", "b", thorough=False, links=links)
    assert [case.rails for case in found] == sets
    together = [case.rails for case in bands.cases([0, 1, 2, 3], "a", "b", thorough=True, links=links)]
    assert [rails for rails in together if len(rails) > 1][::2] == [each for each in sets if len(each) > 1]


@pytest.mark.parametrize("gbps", [126.1, 390.1, 13334.7])
def test_more_than_a_spark_can_carry_is_not_healthy(gbps: float) -> None:
    verdict = judge(Figure(gbps, 4096), CABLE)
    assert (verdict.level, verdict.cause) == ("unknown", "impossible")
    assert judge(Figure(gbps, 4096), Expected(floor=100.0)).healthy, "a floor of its own is for any other link"
