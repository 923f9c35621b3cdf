"""The last minutes before a reset: the figures of the black box over time, drawn in a terminal or on a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from sparkrig.host.blackbox import GIB, STEP_S, BlackBox, Reset, Step
from sparkrig.render.findings import ASCII_SIGNS, SIGNS, STYLES
from sparkrig.render.folded import hanging
from sparkrig.render.picture import twice
from sparkrig.render.templates import template
from sparkrig.text import listed
from sparkrig.verdict import Level

BARS, ASCII_BARS = "▁▂▃▄▅▆▇█", "_.-=+*%#"
_WIDEST = 100
_TITLE, _RANGE = 19, 23  # columns beside the bars
_LEAST_BARS = 20  # else title and range stand above them
_LINES = 12  # of the kernel's log; each once
NO_BOX = "it keeps no black box; set watch = True in the inventory, and deploy"
NO_RESET = "its black box has seen no end that was not asked for"


@dataclass(frozen=True)
class Figure:
    """One figure over time. values: of each step, None where it was not shown; least: whether less is worse."""

    title: str
    unit: str
    values: Sequence[float | None]
    least: bool = False

    @property
    def shown(self) -> list[float]:
        return [value for value in self.values if value is not None]


def figures(steps: Sequence[Step]) -> list[Figure]:
    """Each figure that any of the steps has, in the order of what matters most."""

    def of(title: str, unit: str, value: Callable[[Step], float | None], *, least: bool = False) -> Figure:
        return Figure(title, unit, [value(step) for step in steps], least)

    def gib(kb: float | None) -> float | None:
        return None if kb is None else kb / GIB

    made = [
        of("memory available", "GiB", lambda step: gib(step.memory.get("available")), least=True),
        of("waiting for memory", "%", lambda step: step.pressure.get("memory_full")),
        of("waiting for disk", "%", lambda step: step.pressure.get("io_full")),
        of("swap in use", "GiB", lambda step: gib(step.swapped) if step.memory.get("swap_total") else None),
        of("page cache", "GiB", lambda step: gib(step.memory.get("cached"))),
        of("GPU utilization", "%", lambda step: step.gpu.get("used")),
        of("GPU clock", "MHz", lambda step: step.gpu.get("mhz")),
        of("GPU power", "W", lambda step: step.gpu.get("watts")),
        of("highest temperature", "C", lambda step: step.hottest),
        of("NVRM lines", "a step", lambda step: step.lines("nvrm")),
    ]
    quiet = ("NVRM lines",)  # nothing to see where there is none
    return [each for each in made if each.shown and (each.title not in quiet or any(each.shown))]


class Picture:
    """What one host's black box has: what stood out, and the figures of the last time before the reset."""

    def __init__(self, name: str, found: BlackBox, seconds: float) -> None:
        self.name, self.found, self.seconds = name, found, seconds

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        signs = ASCII_SIGNS if options.ascii_only else SIGNS

        def said(level: Level, what: str) -> Iterator[Text]:
            lead = Text(f"{signs[level]} ", STYLES[level])
            return hanging(Text.assemble((self.name, "bold"), f": {what}"), console, options.max_width, lead)

        for act in self.found.acts:
            yield from said("degraded", f"its guard {act.sentence(self.found)}")
        reset = self.found.reset
        if reset is None:
            level: Level = "healthy" if self.found.runs else "unknown"
            yield from said(level, none(self.found))
            return
        yield from said("fault", reset.sentence)
        back = f"{reset.when(reset.booted):%H:%M on %Y-%m-%d}"
        for sign in reset.signs[1:]:
            yield from hanging(Text(f"  {sign.text}"), console, options.max_width)
        yield Text(f"  it came back at {back}", "dim")
        yield from self._bars(reset, min(options.max_width, _WIDEST), ascii_only=options.ascii_only)
        yield Text()
        for line in _at_last(reset):
            yield from hanging(Text(f"  {line}"), console, options.max_width)

    def _bars(self, reset: Reset, width: int, *, ascii_only: bool) -> Iterator[Text]:
        steps = reset.last(self.seconds)
        beside = width - _TITLE - _RANGE - 4
        columns = beside if beside >= _LEAST_BARS else max(1, width - 2)
        columns = min(columns, max(1, round((reset.at - steps[0].at) / STEP_S) + 1))
        yield Text()
        yield Text(f"  {_clock(reset, steps[0].at)} to {_clock(reset, reset.at)}, the last row", "dim")
        for figure in figures(steps):
            bars = Text(_drawn(figure, steps, columns, ASCII_BARS if ascii_only else BARS), "cyan")
            told = ranges(figure, "->" if ascii_only else "→")
            if beside >= _LEAST_BARS:
                yield Text.assemble(f"  {figure.title:{_TITLE}} ", bars, f" {told}")
            else:
                yield Text.assemble(f"  {figure.title}: {told}\n  ", bars)


def page(found: Mapping[str, BlackBox | Exception], seconds: float, when: str) -> str:
    """The pictures of all hosts as one HTML page that loads nothing. when: now, in words."""
    pictures = {
        name: twice(Picture(name, box, seconds), f"The last minutes of {name}")
        for name, box in found.items()
        if not isinstance(box, Exception)
    }
    unread = {name: str(why) for name, why in found.items() if isinstance(why, Exception)}
    return template("blackbox.html.j2").render(pictures=pictures, unread=unread, when=when)


def _at_last(reset: Reset) -> Iterator[str]:
    """Who had the memory at last, and the last lines of the kernel's log that were kept, each once."""
    last = reset.steps[-1]
    had = [f"{process.name} (pid {process.pid}) {process.kb / GIB:.1f} GiB" for process in last.top]
    if last.unheld:
        had.append(f"no process {last.unheld / GIB:.1f} GiB (what CUDA takes is counted so)")
    if had:
        yield f"who had the memory at last: {listed(had)}"
    logged = [line for step in reset.boot for lines in step.log.values() for line in lines.first]
    yield from (f"kernel: {line}" for line in [*dict.fromkeys(logged)][-_LINES:])


def none(black_box: BlackBox) -> str:
    """Why a black box without a reset shows nothing."""
    return NO_RESET if black_box.runs else NO_BOX


def _clock(reset: Reset, at: float) -> str:
    return f"{reset.when(at):%H:%M:%S}"


def ranges(figure: Figure, arrow: str) -> str:
    """`22.1 → 0.4 GiB`: the first and the last; with what was worst between, where neither is it."""
    shown = figure.shown
    worst = min(shown) if figure.least else max(shown)
    between = (
        f" ({'least' if figure.least else 'most'} {_figure(worst)})" if worst not in (shown[0], shown[-1]) else ""
    )
    return f"{_figure(shown[0])} {arrow} {_figure(shown[-1])} {figure.unit}{between}"


def _figure(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}".removesuffix(".0")


def _drawn(figure: Figure, steps: Sequence[Step], columns: int, bars: str) -> str:
    """A column for each share of the time, as high as the worst in it; blank where nothing was kept."""
    begin, whole = steps[0].at, (steps[-1].at - steps[0].at) or 1
    shares: dict[int, list[float]] = {}
    for step, value in zip(steps, figure.values, strict=True):
        if value is not None:
            shares.setdefault(min(columns - 1, int((step.at - begin) / whole * columns)), []).append(value)
    highest = max(*figure.shown, 0) or 1
    worst = min if figure.least else max

    def bar(column: int) -> str:
        if column not in shares:
            return " "
        share = min(1.0, max(0.0, worst(shares[column]) / highest))  # a figure of a file may be negative
        return bars[round(share * (len(bars) - 1))]

    return "".join(map(bar, range(columns)))
