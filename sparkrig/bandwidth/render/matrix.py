"""The edges of a cluster as a matrix: a row for each sender, a column for each receiver, one for each twin.

On a terminal it takes the richest form that the width allows. Every colour has a sign beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from sparkrig import text
from sparkrig.bandwidth.measurement import Edge, Measurement, Port, Run, of, telling
from sparkrig.render.findings import ASCII_SIGNS, SIGNS, STYLES, Shade
from sparkrig.verdict import Level, worst

_SIGN = 2  # columns that the widest sign takes in ASCII


@dataclass(frozen=True)
class Cell:
    """One way: its level, and Gb/s where it has a figure; `quiet` where it was not measured."""

    level: Shade
    gbps: float | None = None


@dataclass(frozen=True)
class Grid:
    """The ways over one twin. title: the rails; cells: by sender and receiver; ports: the level of each host's."""

    title: str
    cells: Mapping[tuple[str, str], Cell]
    ports: Mapping[str, Level]


def grids(edges: Sequence[Edge], measured: Sequence[Measurement], ports: Iterable[Port] = ()) -> list[Grid]:
    """One for each twin; what is measured shows at once, whether its edge is judged or not."""
    levels = {(port.host, port.twin): port.verdict.level for port in ports}
    found = []
    for twin in sorted({edge.twin for edge in edges}):
        mine = [edge for edge in edges if edge.twin == twin]
        cells = {way: _cell(edge, way, measured) for edge in mine for way in (edge.hosts, edge.hosts[::-1])}
        title = text.rails(sorted({edge.number for edge in mine}))
        found.append(Grid(title, cells, {host: level for (host, of), level in levels.items() if of == twin}))
    return found


def _cell(edge: Edge, way: tuple[str, str], measured: Sequence[Measurement]) -> Cell:
    sender, receiver = way
    mine = [each for each in of(edge, measured) if (each.sender, each.receiver) == (sender, receiver)]
    if not mine:
        blocked = not edge.ends or edge.verdict.cause == "host-lost"
        return Cell(edge.verdict.level if blocked else "quiet")
    shown = [each for each in telling(mine) if each.test == "ib_write_bw"]
    most = max((measurement.queue_pairs for measurement in shown), default=0)
    figures = [each.gbps for each in shown if each.queue_pairs == most and each.gbps is not None]
    return Cell(worst(measurement.verdict for measurement in mine).level, min(figures, default=None))


def digits(gbps: float, *, brief: bool = False) -> str:
    """Gb/s in few characters: 111.9, 13.4, 0.23; brief: 112, 13, 0.2."""
    if brief:
        return f"{gbps:.0f}" if gbps >= 1 else f"{gbps:.1f}"
    return f"{gbps:.1f}" if gbps >= 1 else f"{gbps:.2f}"


@dataclass(frozen=True)
class _Form:
    """How much of a way is shown: the digits of its figure (None for its sign alone), and the hosts' names."""

    brief: bool | None
    names: bool


_FORMS = (
    _Form(brief=False, names=True),
    _Form(brief=True, names=True),
    _Form(brief=True, names=False),
    _Form(brief=None, names=True),
    _Form(brief=None, names=False),
)


class Matrix:
    """The grids for rich's console, with what stands for a host where its name has no room."""

    def __init__(self, names: Sequence[str], found: Sequence[Grid]) -> None:
        self.names, self.found = names, found

    @classmethod
    def of(cls, run: Run) -> Matrix:
        """Of a run that is over."""
        return cls([*run.hosts], grids(run.rails, run.measurements, run.ports))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        signs = ASCII_SIGNS if options.ascii_only or options.legacy_windows else SIGNS
        form = next((form for form in _FORMS if self._width(form, signs) <= options.max_width), _FORMS[-1])
        for grid in self.found:
            yield Text.assemble((grid.title, "bold"), "  Gb/s, row to column")
            yield from self._lines(grid, form, signs)
        if not form.names:
            yield Text(", ".join(f"{place} {name}" for place, name in enumerate(self.names, 1)), "dim")

    def _lines(self, grid: Grid, form: _Form, signs: Mapping[Shade, str]) -> Iterable[Text]:
        label, cell = self._label(form), self._cell(form, signs)
        yield Text(" " * label + "".join(f" {place:>{cell}}" for place in range(1, len(self.names) + 1)), "dim")
        for place, sender in enumerate(self.names, 1):
            line = Text(self._named(place, sender, form).ljust(label))
            level = grid.ports.get(sender, "healthy")
            line.stylize(STYLES[level] if level != "healthy" else "bold")
            for receiver in self.names:
                line.append(" ")
                line.append(
                    self._shown(grid, sender, receiver, form, signs).rjust(cell),
                    self._style(grid, sender, receiver),
                )
            yield line

    def _shown(self, grid: Grid, sender: str, receiver: str, form: _Form, signs: Mapping[Shade, str]) -> str:
        if sender == receiver:
            return ""
        cell = grid.cells.get((sender, receiver), Cell("quiet"))
        figure = "" if cell.gbps is None or form.brief is None else digits(cell.gbps, brief=form.brief)
        return f"{figure}{' ' if figure and len(signs['healthy']) > 1 else ''}{signs[cell.level]}"

    def _style(self, grid: Grid, sender: str, receiver: str) -> str:
        return STYLES[grid.cells.get((sender, receiver), Cell("quiet")).level] if sender != receiver else ""

    def _named(self, place: int, name: str, form: _Form) -> str:
        return f"{place} {name}" if form.names else str(place)

    def _label(self, form: _Form) -> int:
        return max(len(self._named(place, name, form)) for place, name in enumerate(self.names, 1))

    def _cell(self, form: _Form, signs: Mapping[Shade, str]) -> int:
        ways = [
            (grid, sender, receiver) for grid in self.found for sender in self.names for receiver in self.names
        ]
        return max((len(self._shown(*way, form, signs)) for way in ways), default=_SIGN)

    def _width(self, form: _Form, signs: Mapping[Shade, str]) -> int:
        return self._label(form) + len(self.names) * (self._cell(form, signs) + 1)
