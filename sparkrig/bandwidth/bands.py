"""What is measured on a pair, and what the figures mean.

Exit 0 of ib_write_bw is no evidence: a verdict needs a result row, its unit, the path MTU of the report, and
links that held. Each band names its sources; where none is named, its limits are our own reading of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sparkrig.bandwidth.measurement import Case, Measurement, amount
from sparkrig.cure import DEPLOYS, FILE, local, on_host
from sparkrig.verdict import Level, Verdict, worst

if TYPE_CHECKING:
    from sparkrig.settings import Settings

QUEUE_PAIRS = 4

_PCIE_LINKS = "sudo lspci -vv -d 15b3: | grep LnkSta"
_REBOOT = (
    "reboot {0} Sparks with the {1} attached; if it stays, unplug {0} from the wall for a minute, "
    "then bring DGX OS and firmware up to date"
).format
_REBOOT_BOTH = _REBOOT("both", "cable")


@dataclass(frozen=True)
class Band:
    """A range of RDMA write bandwidth of one rail, in Gb/s from `low` up to below `high`, and what it means."""

    low: float
    high: float
    level: Level
    cause: str
    meaning: str
    cure: str
    source: str


BANDS = (
    Band(
        95, float("inf"), "healthy", "", "a healthy ConnectX-7 rail", "",
        "111.71 to 111.86 at 4 and 8 queue pairs [@eugr, @capetron, @sudobasher]; 95 is capetron's rule",
    ),
    Band(
        50, 95, "degraded", "reduced",
        "less than a healthy rail: PCIe width x2 (ASUS BIOS 0103 and older), a busy host, or a switch in between",
        on_host(_PCIE_LINKS, " on both hosts, and measure again while they are idle"),
        "50 to 60 at PCIe x2 [@forum-367853]",
    ),
    Band(
        25, 50, "fault", "low", "far below a healthy rail, and unlike any known fault",
        _REBOOT_BOTH, "no such figure was published",
    ),
    Band(
        8, 25, "fault", "slow-start",
        "a degraded start-up of the ConnectX-7, the same at any number of queue pairs and over TCP",
        _REBOOT_BOTH, "12.74 to 13.39 [@playbooks-108, @forum-363461, @capetron]: 98 to 112 after the cure",
    ),
    Band(
        0, 8, "fault", "detour", "not the fast path: a detour over TCP, or through the CPU of a switch",
        "join the Sparks by a cable without a switch; check that ip route get PEER names the rail's netdev",
        "4.5 to 4.9 through a switch's CPU [@capetron]",
    ),
)  # fmt: skip

# The healthy band starts lower where a figure is known to be: NVIDIA's guide shows 92.6 with both twins busy
# [@nvidia-benchmarking], and 92 to 109 were published for one queue pair [@sudobasher, @capetron, @graham33].
_LOWER_START = 90.0
PAIR_LOW = 180.0  # both twins at once, Gb/s; 190 to 196 are usual [@capetron, @sudobasher]
MOST_GBPS = 126.0  # of PCIe Gen5 x4, which each twin has to itself [@epappas]
LATENCY_HIGH_US = 5.0  # 1.47 to 1.71 us are usual [@eugr, @epappas]; the limit is ours


@dataclass(frozen=True)
class Figure:
    """A bandwidth to be judged. gbps: Gb/s; path_mtu: bytes, None where the output does not have it."""

    gbps: float
    path_mtu: int | None = None
    queue_pairs: int = QUEUE_PAIRS
    together: bool = False


@dataclass(frozen=True)
class Expected:
    """What a rail should reach. floor: the setting bandwidth_floor, Gb/s; path_mtu: bytes, None for any."""

    floor: float | None = None
    path_mtu: int | None = None


def expected(settings: Settings) -> Expected:
    """What the settings of a host ask of its rails."""
    return Expected(settings.bandwidth_floor, settings.bandwidth_path_mtu)


def cases(
    rails: Sequence[int], one: str, other: str, *, thorough: bool, links: Mapping[int, str] | None = None
) -> list[Case]:
    """What to measure between two hosts, in order.

    thorough: each rail alone in both directions with one and with several queue pairs, its latency, then all
    rails at once in both directions; otherwise all rails at once, one way, and alone only a rail that is in no
    such set (`alone` has what those leave open).
    links: the PCIe link of each rail, where it is known.
    """
    together = _at_once(rails, links or {})
    if not thorough:
        lone = [(rail,) for rail in rails if not any(rail in each for each in together)]
        return [Case("ib_write_bw", each, one, other, QUEUE_PAIRS) for each in (*together, *lone)]
    ways = [(one, other), (other, one)]
    return [
        *(
            Case("ib_write_bw", (rail,), sender, receiver, queue_pairs)
            for rail in rails
            for queue_pairs in (1, QUEUE_PAIRS)
            for sender, receiver in ways
        ),
        *(Case("ib_write_lat", (rail,), one, other) for rail in rails),
        *(Case("ib_write_bw", each, *way, QUEUE_PAIRS) for each in together for way in ways),
    ]


def alone(case: Case, shares: Iterable[Measurement], expected: Expected) -> list[Case]:
    """The rails of a case to be measured alone: those that did not reach beside others what one alone has to.

    What a rail carries beside others it carries alone, too. A smaller figure is the same whether the rail is slow
    or what the rails share is the limit. That includes 90 to 95 Gb/s, healthy beside others, but not alone.
    """
    shown = {share.rail for share in shares if _shown(share, expected)}
    return [replace(case, rails=(rail,)) for rail in case.rails if rail not in shown]


def _shown(share: Measurement, expected: Expected) -> bool:
    if share.gbps is None or not share.verdict.healthy:
        return False
    return judge(Figure(share.gbps, share.path_mtu, share.queue_pairs), expected).healthy


def _at_once(rails: Sequence[int], links: Mapping[int, str]) -> list[tuple[int, ...]]:
    """The rails that can all be at full speed at once, in as few sets as they fit into.

    The second cage adds no PCIe link: 01:00.0 and 01:00.1 share one, so that four rails of a healthy pair carry no
    more than two (160 to 198 Gb/s over both cages, servethehome.com on the GB10's ConnectX-7).
    """
    sets: list[dict[str, int]] = []
    for rail in rails:
        link = links.get(rail) or f"rail {rail}"
        free = next((each for each in sets if link not in each), None)
        if free is None:
            sets.append(free := {})
        free[link] = rail
    return [tuple(each.values()) for each in sets if len(each) > 1]


def judge(figure: Figure, expected: Expected, suspects: Iterable[Verdict] = ()) -> Verdict:
    """The verdict on one figure.

    suspects: what is known of both hosts that would explain a reduced figure (PCIe width, a busy host, a
    small MTU); the first that is not healthy is named instead of the list of what it might be.
    """
    known = list(suspects)
    speed, small = _judge_speed(figure, expected, known), _judge_mtu(figure, expected, known)
    return worst([small, speed]) if small else speed


def judge_pair(sum_gbps: float, rails: int, expected: Expected) -> Verdict:
    """The verdict on what all rails reach together."""
    said = f"{sum_gbps:.2f} Gb/s over {rails} rails at once"
    low = PAIR_LOW / 2 * rails if expected.floor is None else expected.floor
    if sum_gbps >= low:
        return Verdict("healthy", evidence=said)
    return Verdict(
        "degraded",
        "pair-reduced",
        f"{said}, at least {low:g} expected",
        "look at each rail's own verdict first; both twins share one cable and two PCIe links",
    )


def judge_shared(share: Measurement, alone: float) -> Verdict:
    """The verdict on a rail that carries too little beside others, and enough alone. alone: Gb/s."""
    return Verdict(
        "degraded",
        "pair-reduced",
        f"{amount(share)} beside other rails, {alone:.2f} alone: the rail is healthy, and what it shares "
        "with them is the limit",
        "measure again while both hosts are idle; if it stays, try another cable: the rails of a cage share it",
    )


def by_figure(verdict: Verdict) -> bool:
    """Whether a verdict has its cause from the figure alone, and not from what is known of a host."""
    return verdict.cause in {"below-floor", *(each.cause for each in BANDS if each.cause)}


def judge_latency(microseconds: float, expected: Expected) -> Verdict:
    """The verdict on ib_write_lat's typical latency; a link with a floor of its own has no known range."""
    said = f"{microseconds:.2f} us typical"
    if expected.floor is not None or microseconds <= LATENCY_HIGH_US:
        return Verdict("healthy", evidence=said)
    return Verdict(
        "degraded",
        "latency-high",
        f"{said}, 1.5 to 1.7 usual",
        "measure again while both hosts are idle, without a switch in between",
    )


def over_switch(verdict: Verdict) -> Verdict:
    """The verdict on what runs over a switch that is declared: its cure does not advise to do without one.

    A second bridge goes through the processor of the switch: 196 down to 4.85 Gb/s [@capetron].
    """
    cures = {
        "detour": "keep all ports in one bridge with hardware offloading, since a second one goes through the "
        "switch's processor; check that ip route get PEER names the rail's netdev",
        "latency-high": "measure again while both hosts are idle",
    }
    return replace(verdict, cure=cures.get(verdict.cause, verdict.cure))


def of_many(verdict: Verdict) -> Verdict:
    """The verdict on more than two hosts at once: its cure is for all of them, not for the two ends of a rail."""
    slow = _REBOOT("all", "cables")
    cures = {
        "reduced": on_host(_PCIE_LINKS, " on each host, and measure again while all are idle"),
        "low": slow,
        "slow-start": slow,
        "latency-high": "measure again while all hosts are idle",
    }
    return replace(verdict, cure=cures.get(verdict.cause, verdict.cure))


def bands(expected: Expected) -> tuple[Band, ...]:
    """The bands that hold for a link: none for one whose own floor no ConnectX-7 would be given."""
    return () if expected.floor is not None and expected.floor < BANDS[1].low else BANDS


def band(gbps: float) -> Band:
    """The band that a figure lies in."""
    return next(each for each in BANDS if gbps >= each.low)


def _judge_speed(figure: Figure, expected: Expected, suspects: Sequence[Verdict]) -> Verdict:
    said = f"{figure.gbps:.2f} Gb/s"
    start = _LOWER_START if figure.together or figure.queue_pairs == 1 else BANDS[0].low
    if expected.floor is not None:
        start = expected.floor * start / BANDS[0].low
    if expected.floor is None and figure.gbps > MOST_GBPS:
        return Verdict(
            "unknown",
            "impossible",
            f"{said}, and no rail of a Spark carries more than {MOST_GBPS:g}: it is another unit, or not one rail",
            local("sparkrig explain OUTPUT", ", with all that ib_write_bw printed"),
        )
    if figure.gbps >= start:
        return Verdict("healthy", evidence=said)
    if not bands(expected):
        again = "measure again while both hosts are idle, or set bandwidth_floor to what this link can do"
        return Verdict("fault", "below-floor", f"{said}, at least {start:g} expected", again)
    found = band(min(figure.gbps, BANDS[0].low - 0.01))
    named = next((suspect for suspect in suspects if not suspect.healthy and suspect.level != "unknown"), None)
    if found.cause == "reduced" and named:
        return Verdict(
            found.level, named.cause, f"{said}, at least {start:g} expected: {named.evidence}", named.cure
        )
    return Verdict(found.level, found.cause, f"{said}, at least {start:g} expected: {found.meaning}", found.cure)


def _judge_mtu(figure: Figure, expected: Expected, suspects: Sequence[Verdict]) -> Verdict | None:
    if expected.path_mtu is None or figure.path_mtu is None or figure.path_mtu >= expected.path_mtu:
        return None
    named = next((suspect for suspect in suspects if suspect.cause == "mtu"), None)
    why = named.evidence if named else "the MTU of one end is too small"
    return Verdict(
        "degraded",
        "path-mtu",
        f"{figure.gbps:.2f} Gb/s at path MTU {figure.path_mtu}, {expected.path_mtu} expected: {why}",
        named.cure
        if named
        else on_host("ip link show", f" on both hosts; then: pyinfra {FILE} {DEPLOYS}/network.py"),
    )
