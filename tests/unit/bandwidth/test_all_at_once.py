"""What every host reaches while all send: judged by what its edge reached in its own round."""

from __future__ import annotations

from dataclasses import replace

from sparkrig.bandwidth import all_at_once, bands, tournament
from sparkrig.bandwidth.bands import Expected, Figure
from sparkrig.bandwidth.measurement import Measurement
from sparkrig.verdict import Verdict
from tests.tables import each_row
from tests.unit.clusters_measured import EXPECTED, NAMES, run, slow_port


def shares(gbps: float | None, least: float | None = None, expected: Expected = EXPECTED) -> list[Measurement]:
    """Of four hosts on a switch: each flow that much on both rails; the first one `least`."""
    found: list[Measurement] = []
    for sender, receiver in tournament.cycle(NAMES[:4]):
        for rail in (0, 1):
            figure = least if least is not None and not found else gbps
            verdict = Verdict("unknown", "no-server", "no server came up", "again")
            if figure is not None:
                verdict = bands.judge(Figure(figure, 4096, together=True), expected)
            found.append(
                Measurement("ib_write_bw", rail, sender, receiver, 4, True, verdict, figure, path_mtu=4096)
            )
    return found


WELL = run().rails


def test_the_verdict_on_all_at_once() -> None:
    def holds(found: list[Measurement], level: str, cause: str, words: str) -> None:
        judged, (finding,) = all_at_once.judge(found, WELL, EXPECTED)
        assert (finding.subject, finding.verdict.level, finding.verdict.cause) == ("all at once", level, cause)
        assert words in finding.verdict.evidence
        assert len(judged) == 8

    each_row(
        {
            "all well": (
                shares(97.0),
                "healthy",
                "all-at-once",
                "4 hosts send at once, each to the next one: 97.00",
            ),
            "as one report has it": (shares(85.0), "healthy", "all-at-once", "85.00 Gb/s on each rail"),
            "one starves": (
                shares(97.0, 60.0),
                *("degraded", "cluster-reduced"),
                "less than in its own round on rail 0, spark-a to spark-b 60.00 Gb/s",
            ),
            "all starve": (shares(13.0), "degraded", "cluster-reduced", " and 4 more"),
            "no figure": (shares(None), "unknown", "no-server", "no figure"),
        },
        holds,
    )


def test_an_edge_that_is_slow_by_itself_is_not_judged_again() -> None:
    edges = run(slow_port("spark-a")).rails
    judged, (finding,) = all_at_once.judge(shares(97.0, 13.0), edges, EXPECTED)
    assert judged[0].verdict.cause == "slow-start", "its own"
    assert finding.verdict.healthy and finding.verdict.evidence == (
        "4 hosts send at once, each to the next one: 97.00 Gb/s on the rails that are healthy in their own round"
    )
    assert all_at_once.judge(shares(13.0), run(lambda *_: 13.0).rails, EXPECTED)[1] == []


def test_a_floor_of_its_own_counts() -> None:
    floor = Expected(floor=9.5)
    found = [replace(each, verdict=bands.judge(Figure(each.gbps or 0), floor)) for each in shares(8.5, 7.0)]
    judged, (finding,) = all_at_once.judge(found, WELL, floor)
    assert [each.verdict.cause for each in judged] == ["cluster-reduced", *[""] * 7]
    assert "at least 8 expected" in judged[0].verdict.evidence and finding.verdict.level == "degraded"
