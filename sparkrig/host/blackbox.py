"""What the black box of a host kept before the last end that was not asked for, and what of it stands out.

templates/watch/blackbox.py writes it; blackbox_rows reads it. Each sign has its source; where it has none it is
our own reasoning.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

from sparkrig.host import gpu as graphics
from sparkrig.host import health
from sparkrig.host.nvidia_smi import THERMAL, Gpu
from sparkrig.text import listed
from sparkrig.value import Value

STEP_S = 10
RECENT_S = 24 * 3600  # in which a doctor reports a reset, from when the host came back
GIB = 2**20  # kB

# A fall is one that goes on to the end: it rises by no more than 1 % of all memory in between, and takes 5 %.
FALL_PERCENT, RISE_PERCENT, MARK_PERCENT = 5, 1, 0.5
STALLED_PERCENT = 60  # of ten seconds in which no process got on: systemd-oomd's own limit [@oomd-conf]
NVRM_LINES, NVRM_S = 5, 60  # one line alone means little: 6,697 in two months on one machine [@gb10-ops]
HOT_C, HOT_S = 88, 240  # a Spark was lost after 417 s [@gb10-ops]
LATE_S = 3 * STEP_S  # without a row
LAST_S = 600  # of what came last, where a sign says nothing of how long
NAMED_PERCENT, UNHELD_PERCENT = 2, 10  # of all memory, from which on a process, or what none has, is named
POWER = frozenset({"HW Slowdown", "HW Power Brake Slowdown"})
ENDS_PERCENT = 3  # of all memory, below which the guard stops a server: LOW_PERCENT of the program
# Below which it does so while processes wait for memory: NEAR_PERCENT of the program. A pair that served had 6 %
# and more [@gb10-ops].
NEAR_PERCENT = 5


@dataclass(frozen=True)
class Process:
    """name: as the kernel has it, without its arguments; kb: in memory."""

    name: str
    pid: int
    kb: int


@dataclass(frozen=True)
class Lines:
    """Of one kind in the kernel's log, in one step. first: some of them."""

    count: int
    first: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step(Value):
    """One row: what the host showed at one moment; what it did not show is left out.

    at: seconds since 1970, by the host's clock; boot: the first eight digits of its id; memory: kB (total,
    available, free, cached, anon, shmem, slab, swap_total, swap_free); pressure: percent of ten seconds
    (memory_full, ...); gpu: used (percent), mhz, watts, celsius, margin (degrees up to its limit); reasons: why
    its clock is what it is, None where that is not known; zones: degrees Celsius by type; down: carrier losses by
    netdev; rdma: errors by device; top: the processes with the most memory; log: by kind (nvrm, aer, killed);
    resumed: whether the black box had been stopped before it, by a deploy or by hand.
    """

    at: float
    boot: str
    memory: Mapping[str, float] = field(default_factory=dict)
    pressure: Mapping[str, float] = field(default_factory=dict)
    gpu: Mapping[str, float] = field(default_factory=dict)
    reasons: tuple[str, ...] | None = None
    zones: Mapping[str, float] = field(default_factory=dict)
    down: Mapping[str, float] = field(default_factory=dict)
    rdma: Mapping[str, float] = field(default_factory=dict)
    top: tuple[Process, ...] = ()
    log: Mapping[str, Lines] = field(default_factory=dict)
    resumed: bool = False

    @property
    def hottest(self) -> float | None:
        """The highest temperature of SoC and GPU, in degrees Celsius."""
        soc = [celsius for kind, celsius in self.zones.items() if health.SOC_ZONE.fullmatch(kind)]
        return max([*soc, *([self.gpu["celsius"]] if "celsius" in self.gpu else [])], default=None)

    @property
    def swapped(self) -> float | None:
        """Swap in use, in kB."""
        total, free = self.memory.get("swap_total"), self.memory.get("swap_free")
        return None if total is None or free is None else total - free

    @property
    def unheld(self) -> float:
        """What neither processes nor caches have of the memory, in kB: the driver's, and so CUDA's."""
        named = ("free", "cached", "anon", "slab")
        if "total" not in self.memory or any(name not in self.memory for name in named):
            return 0
        return max(0, self.memory["total"] - sum(self.memory[name] for name in named))

    def lines(self, kind: str) -> int:
        return self.log[kind].count if kind in self.log else 0


@dataclass(frozen=True)
class Sign:
    """Something that stood out. id: its fixed name; text: a sentence without a full stop."""

    id: str
    text: str


@dataclass(frozen=True)
class Zone:
    """The host's time zone. offsets: at some moments (seconds since 1970) the minutes by which it is ahead of UTC.

    There is one for each time that a person reads, since summer time may have begun or ended in between.
    """

    offsets: tuple[tuple[float, int], ...] = ((0.0, 0),)

    def when(self, at: float) -> datetime:
        """A time as the host's clock showed it, by the offset of the nearest moment that is known."""
        _, minutes = min(self.offsets, key=lambda known: abs(known[0] - at))
        return datetime.fromtimestamp(at, UTC).astimezone(timezone(timedelta(minutes=minutes)))


@dataclass(frozen=True)
class Reset(Value):
    """An end that was not asked for. steps: the rows before it, oldest first, those of earlier boots among them.

    booted: when the host came back, in seconds since 1970; zone: of its clock; asked: the boots among them whose
    end was asked for.
    """

    steps: tuple[Step, ...]
    booted: float
    zone: Zone = Zone()
    asked: tuple[str, ...] = ()

    @property
    def at(self) -> float:
        """When it was last known to live, to within one step."""
        return self.steps[-1].at

    @property
    def boot(self) -> tuple[Step, ...]:
        """The rows of the boot that ended so."""
        return tuple(step for step in self.steps if step.boot == self.steps[-1].boot)

    @property
    def signs(self) -> list[Sign]:
        """What stood out, the weightiest first; nothing where there is no row to judge by."""
        return [*_signs(self.boot), *self._again()]

    def _again(self) -> Iterator[Sign]:
        """The end before this one, where it was not asked for either: the first of two has the cause."""
        others = [step for step in self.steps if step.boot != self.steps[-1].boot]
        if others and others[-1].boot not in self.asked:
            last = [step for step in others if step.boot == others[-1].boot]
            first = next(_signs(last), None)
            why = f"; {first.text}" if first else ""
            yield Sign(
                "again", f"it was reset before that, too, at {self.when(last[-1].at):%H:%M on %Y-%m-%d}{why}"
            )

    @property
    def sentence(self) -> str:
        """`it was reset at 03:12 on 2026-11-26; memory was falling for 40 minutes`."""
        signs = self.signs
        why = signs[0].text if signs else "nothing stood out before: the power was cut, or it stopped at once"
        return f"it was reset at {self.when(self.at):%H:%M on %Y-%m-%d}; {why}"

    def when(self, at: float) -> datetime:
        """A time by the host's own clock."""
        return self.zone.when(at)

    def last(self, seconds: float) -> list[Step]:
        """The rows of that time before it, of earlier boots too."""
        return [step for step in self.steps if step.at > self.at - seconds]


@dataclass(frozen=True)
class Act:
    """What the guard did, and why. at: seconds since 1970; text: to follow `it`."""

    at: float
    text: str

    def when(self, black_box: BlackBox) -> datetime:
        """By the host's own clock."""
        return black_box.zone.when(self.at)

    def sentence(self, black_box: BlackBox) -> str:
        """`stopped the server at 03:10 on 2026-11-26: 2.1 % of the memory was available`."""
        done, _, seen = self.text.partition(": ")
        return f"{done} at {self.when(black_box):%H:%M on %Y-%m-%d}: {seen}"


@dataclass(frozen=True)
class BlackBox(Value):
    """runs: whether it runs; now: the host's clock, in seconds since 1970; reset: the last that it saw.

    zone: of its clock; acts: what its guard did, the last few.
    """

    runs: bool = False
    now: float = 0
    reset: Reset | None = None
    zone: Zone = Zone()
    acts: tuple[Act, ...] = ()

    @property
    def recent_acts(self) -> tuple[Act, ...]:
        """What the guard did, while it is news."""
        return tuple(act for act in self.acts if self.now - act.at < RECENT_S)

    @property
    def recent(self) -> Reset | None:
        """The last reset, while it is news."""
        return self.reset if self.reset and self.now - self.reset.booted < RECENT_S else None


# --- what stood out


def _signs(steps: Sequence[Step]) -> Iterator[Sign]:
    """What one boot shows before its end, the weightiest first."""
    last = [step for step in steps if step.at > steps[-1].at - LAST_S]
    yield from _falling(steps)
    yield from _low(steps[-1])
    yield from _stalled(last)
    yield from _nvrm(steps)
    yield from _killed(steps)
    yield from _hot(steps)
    yield from _slowed(steps)
    yield from _clamped(last)
    yield from _silent(last)
    yield from _counted(steps, "down", "carrier", lambda name, count: f"{name} lost its carrier {_times(count)}")
    yield from _counted(steps, "rdma", "rdma", lambda name, count: f"{name} counted {count:g} RDMA errors")
    if count := sum(step.lines("aer") for step in steps):
        yield Sign("aer", f"PCIe reported errors in {count} lines (AER): {_first(steps, 'aer')}")


def _falling(steps: Sequence[Step]) -> Iterator[Sign]:
    """Whether the memory fell up to the end, since when, and from where."""
    levels = [(step.at, step.memory["available"]) for step in steps if "available" in step.memory]
    total = steps[-1].memory.get("total", 0)
    if not levels or not total:
        return
    since, mark = end, low = levels[-1]
    for at, level in reversed(levels):
        if level < mark - total * RISE_PERCENT / 100:
            break  # it rose after this
        if level >= mark + total * MARK_PERCENT / 100:
            since, mark = at, level
    if mark - low >= total * FALL_PERCENT / 100:
        fell = f"from {mark / GIB:.1f} to {low / GIB:.1f} GiB available"
        yield Sign("memory-falling", f"memory was falling for {_span(end - since)}, {fell}")


def _low(step: Step) -> Iterator[Sign]:
    """Whether little memory was left at the end, and what had it."""
    found = health.Health(
        "", "", memory_total_kb=_whole(step, "total"), memory_available_kb=_whole(step, "available")
    )
    if health.memory(found).cause != "memory-low":
        return
    total, available = step.memory["total"], step.memory["available"]
    large = [each for each in step.top[:2] if each.kb > total * NAMED_PERCENT / 100]
    had = [f"{each.name} (pid {each.pid}) had {each.kb / GIB:.1f} GiB" for each in large]
    if step.unheld > total * UNHELD_PERCENT / 100:
        had.append(f"{step.unheld / GIB:.1f} GiB was held by no process, as what CUDA takes is")
    who = f"; {listed(had)}" if had else ""
    yield Sign("memory-low", f"{available / GIB:.1f} of {total / GIB:.1f} GiB memory was available at last{who}")


def _whole(step: Step, name: str) -> int | None:
    return int(step.memory[name]) if name in step.memory else None


def _stalled(steps: Sequence[Step]) -> Iterator[Sign]:
    worst = max((step.pressure.get("memory_full", 0) for step in steps), default=0)
    if worst >= STALLED_PERCENT:
        yield Sign("stalled", f"for {worst:.0f} % of ten seconds every process waited for memory")


def _nvrm(steps: Sequence[Step]) -> Iterator[Sign]:
    """The busiest minute of the driver's lines."""
    counts = [(step.at, step.lines("nvrm")) for step in steps if step.lines("nvrm")]
    most = _busiest(counts)
    if most >= NVRM_LINES:
        ago = steps[-1].at - counts[0][0]
        since = f", the first {_span(ago)} before the end" if ago >= NVRM_S else ""
        yield Sign("nvrm", f"the driver logged {most} lines in a minute{since}: {_first(steps, 'nvrm')}")


def _busiest(counts: Iterable[tuple[float, int]]) -> int:
    """The most lines within NVRM_S. counts: when, and how many."""
    most = within = 0
    window: deque[tuple[float, int]] = deque()
    for at, count in sorted(counts):
        window.append((at, count))
        within += count
        while at - window[0][0] >= NVRM_S:
            within -= window.popleft()[1]
        most = max(most, within)
    return most


def _killed(steps: Sequence[Step]) -> Iterator[Sign]:
    if count := sum(step.lines("killed") for step in steps):
        yield Sign(
            "killed", f"the kernel ended processes to get memory ({_times(count)}): {_first(steps, 'killed')}"
        )


def _hot(steps: Sequence[Step]) -> Iterator[Sign]:
    """The longest time without a break at HOT_C and more."""
    longest = since = 0.0
    hottest, before = 0.0, None
    for step in steps:
        warm = step.hottest is not None and step.hottest >= HOT_C
        if not warm:
            before = None
            continue
        since = since if before is not None and step.at - before <= LATE_S else step.at
        before, hottest = step.at, max(hottest, step.hottest or 0)
        longest = max(longest, step.at - since + STEP_S)
    if longest >= HOT_S:
        yield Sign(
            "hot", f"it was at {HOT_C} C and more for {_span(longest)} without a break, {hottest:g} C at most"
        )


def _slowed(steps: Sequence[Step]) -> Iterator[Sign]:
    """How long heat, or power, held the GPU's clock down."""
    for id, word, reasons in (("slowed", "heat", THERMAL), ("braked", "power", POWER)):
        seen = [set(step.reasons or ()) & reasons for step in steps]
        if count := sum(map(bool, seen)):
            names = listed(sorted(set.union(*seen)))
            yield Sign(id, f"{word} slowed the GPU for {_span(count * STEP_S)} ({names})")


def _clamped(steps: Sequence[Step]) -> Iterator[Sign]:
    """The clock under load, by the verdict that a doctor has, too."""
    verdict = graphics.power_clamp_under_load(_gpu(step) for step in steps)
    if verdict and verdict.level == "fault":
        yield Sign("power-clamp", verdict.evidence)


def _gpu(step: Step) -> Gpu:
    return Gpu(
        utilization=step.gpu.get("used"),
        sm_mhz=step.gpu.get("mhz"),
        power_w=step.gpu.get("watts"),
        temperature_c=step.gpu.get("celsius"),
        reasons=step.reasons,
        margin_c=step.gpu.get("margin"),
    )


def _silent(steps: Sequence[Step]) -> Iterator[Sign]:
    """The longest time without a row, less those in which the black box was stopped."""
    longest = max((after.at - before.at for before, after in pairwise(steps) if not after.resumed), default=0)
    if longest > LATE_S:
        yield Sign("silent", f"nothing could be kept for {_span(longest)}, so the host stood still")


def _counted(steps: Sequence[Step], name: str, id: str, said: Callable[[str, float], str]) -> Iterator[Sign]:
    """How much a counter of each device rose in this boot; one that is smaller than before began anew."""
    risen: dict[str, float] = {}
    for before, after in pairwise(steps):
        old, new = getattr(before, name), getattr(after, name)
        for key in old.keys() & new.keys():
            risen[key] = risen.get(key, 0) + max(0, new[key] - old[key])
    found = [said(key, count) for key, count in sorted(risen.items()) if count]
    if found:
        yield Sign(id, listed(found))


def _first(steps: Sequence[Step], kind: str) -> str:
    return next((line for step in steps if kind in step.log for line in step.log[kind].first), "")


def _times(count: float) -> str:
    return "once" if count == 1 else f"{count:g} times"


def _span(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} minutes" if minutes >= 2 else f"{seconds:.0f} s"
