"""The cabling drawn in a terminal: what is there, drawn solid; what is wanted and is not, dashed.

It takes the richest form that the width allows, and what that has no room for stands below. Every colour has a
sign beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from sparkrig.fabric.cabling import Cable, Cage, End, Host, Topology, Twin
from sparkrig.fabric.cabling_judge import judge
from sparkrig.fabric.render import cages
from sparkrig.render.findings import ASCII_SIGNS, SIGNS, STYLES, Findings, Shade

_WIDEST = 132


@dataclass(frozen=True)
class _Glyphs:
    """What the drawing is made of; signs: by shade."""

    corners: str
    line: str
    side: str
    dash: str
    wanted: str
    falling: str
    rising: str
    crossing: str
    met: str
    plugs: str
    signs: dict[Shade, str]


_DRAWN = _Glyphs(
    corners="╭╮╰╯",
    line="─",
    side="│",
    dash="╌",
    wanted="╎",
    falling="╲",
    rising="╱",  # noqa: RUF001
    crossing="╳",  # noqa: RUF001
    met="┼",
    plugs="├┤",
    signs=SIGNS,
)
_TYPED = _Glyphs(
    corners="++++",
    line="-",
    side="|",
    dash=".",
    wanted=":",
    falling="\\",
    rising="/",
    crossing="X",
    met="+",
    plugs="++",
    signs=ASCII_SIGNS,
)


@dataclass(frozen=True)
class _Form:
    """How much is shown of a twin, and the fewest columns that the channel between the hosts needs."""

    rail: bool
    address: bool
    channel: int


_FORMS = (
    _Form(rail=True, address=True, channel=12),
    _Form(rail=True, address=False, channel=20),
    _Form(rail=False, address=False, channel=10),
)
_SWITCH = 21  # columns of the ports, the bar and its name
_NOTHING = _Form(rail=False, address=False, channel=0)


class Drawing:
    """A topology for rich's console, with its findings under it unless they are shown elsewhere."""

    def __init__(self, shown: Topology, *, findings: bool = True) -> None:
        self.shown = shown
        self.findings = findings

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        glyphs = _TYPED if options.ascii_only or options.legacy_windows else _DRAWN
        width = min(options.max_width, _WIDEST)
        stacked = len(self.shown.hosts) > 2 or self.shown.form == "switch"
        plans = ((_Stack if stacked else _Plan)(self.shown, glyphs, form, width) for form in _FORMS)
        plan = next((plan for plan in plans if plan.fits), None)
        yield from plan.draw() if plan else _named(self.shown, glyphs)
        if plan and stacked:
            yield from _named(self.shown, glyphs, loose=False)
        yield from _below(self.shown, plan.form if plan else _NOTHING)
        yield Text()
        if self.findings:
            yield Findings(self.shown.findings)


class _Canvas:
    """Cells of a character and its style."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], tuple[str, str]] = {}

    def put(self, row: int, column: int, text: str, style: str = "") -> None:
        self.cells.update({(row, column + n): (character, style) for n, character in enumerate(text)})

    def lay(self, other: _Canvas, row: int) -> None:
        """Put another one on it, that many rows from the top."""
        self.cells.update({(row + at, column): cell for (at, column), cell in other.cells.items()})

    def holds(self, characters: str, columns: range) -> bool:
        """Whether one of the characters stands in those columns."""
        return any(cell[0] in characters for (_, column), cell in self.cells.items() if column in columns)

    def lines(self) -> Iterator[Text]:
        for row in range(max(row for row, _ in self.cells) + 1):
            columns = [column for at, column in self.cells if at == row]
            cells = (self.cells.get((row, column), (" ", "")) for column in range(max(columns, default=-1) + 1))
            yield Text.assemble(*cells, no_wrap=True, overflow="crop")


class _Plan:
    """One form of the drawing: boxes left and right, a channel between them, and a row for each plug."""

    def __init__(self, shown: Topology, glyphs: _Glyphs, form: _Form, width: int) -> None:
        self.shown, self.glyphs, self.form, self.single = shown, glyphs, form, cages.single(shown)
        names = sorted({cage.name for host in shown.hosts for cage in host.cages})
        self.row: dict[str, int] = {}
        self.bottom = 1
        for name in names:
            self.row[name] = self.bottom
            self.bottom += 2 + max(len(host.cage(name).twins) for host in shown.hosts)
        self.bottom -= 1
        self.columns = self._columns()
        self.box = 4 + max(len(line) for host in shown.hosts for line in self._texts(host))
        boxes = len(shown.hosts)
        self.channel = width - boxes * self.box if boxes > 1 else min(width - self.box, form.channel + 20)
        self.fits = self.channel >= form.channel or (not shown.cables and self.channel >= 0)

    def draw(self) -> Iterator[Text]:
        canvas = _Canvas()
        for index, host in enumerate(self.shown.hosts):
            self._host(canvas, host, index * (self.box + self.channel))
        for cable in self.single:
            self._cable(canvas, cable)
        for host in self.shown.hosts:
            for cage in host.cages:
                self._stub(canvas, host, cage)
        for cable in self.single:
            self._label(canvas, cable)
        if any(map(self.shown.switched, self.shown.cables)):
            self._switch(canvas)
        yield from self._lines(canvas)

    def _lines(self, canvas: _Canvas) -> Iterator[Text]:
        yield from canvas.lines()
        if canvas.holds(self.glyphs.dash, range(self.box, self.box + self.channel)):
            yield Text(f" {self.glyphs.dash * 3} wanted, and not there", style="dim")

    # the boxes

    def _columns(self) -> tuple[int, int]:
        twins = [twin for host in self.shown.hosts for cage in host.cages for twin in cage.twins]
        netdev = max((len(twin.netdev) for twin in twins), default=0)
        return netdev, max((len(twin.address) for twin in twins), default=0) if self.form.address else 0

    def _texts(self, host: Host) -> Iterator[str]:
        yield f"{host.name}  "
        for cage in host.cages:
            yield f"{cage.name}  {cages.state(host, cage)}"
            for twin in cage.twins:
                yield f"{self._twin(twin)} {self._sign(twin)[0]}"

    def _twin(self, twin: Twin) -> str:
        netdev, address = self.columns
        rail = ("" if twin.rail is None else f"rail {twin.rail}").ljust(8) if self.form.rail else ""
        return f"{rail}{twin.netdev.ljust(netdev)}{f'  {twin.address.ljust(address)}' if address else ''}"

    def _sign(self, twin: Twin) -> tuple[str, str]:
        shade = cages.shade(twin)
        return self.glyphs.signs[shade], STYLES[shade]

    def _host(self, canvas: _Canvas, host: Host, left: int) -> None:
        glyphs, right = self.glyphs, left + self.box - 1
        top_left, top_right, bottom_left, bottom_right = list(glyphs.corners)
        canvas.put(0, left, top_left + glyphs.line * (self.box - 2) + top_right, "cyan")
        canvas.put(0, left + 2, f" {host.name} ", "bold")
        canvas.put(self.bottom, left, bottom_left + glyphs.line * (self.box - 2) + bottom_right, "cyan")
        for row in range(1, self.bottom):
            canvas.put(row, left, glyphs.side, "cyan")
            canvas.put(row, right, glyphs.side, "cyan")
        for cage in host.cages:
            row = self.row[cage.name]
            canvas.put(row, left + 2, cage.name, "bold")
            canvas.put(row, left + 4 + len(cage.name), cages.state(host, cage), "" if cage.rails else "dim")
            for offset, twin in enumerate(cage.twins, 1):
                sign, style = self._sign(twin)
                canvas.put(row + offset, left + 2, self._twin(twin), "" if twin.rail is not None else "dim")
                canvas.put(row + offset, right - 1 - len(sign), sign, style)

    # the channel

    def _side(self, end: End) -> int:
        """The place of its host: 0 for the box on the left, 1 for the one on the right."""
        return next(index for index, host in enumerate(self.shown.hosts) if host.name == end.host)

    def _plug(self, canvas: _Canvas, end: End, style: str) -> None:
        side = self._side(end)
        canvas.put(self.row[end.cage], self.box - 1 + side * (self.channel + 1), self.glyphs.plugs[side], style)

    def _cable(self, canvas: _Canvas, cable: Cable) -> None:
        style = STYLES[judge(self.shown, cable).level] + ("" if cable.real else " dim")
        for end in cable.ends:
            self._plug(canvas, end, style)
        if cable.loops:
            self._loop(canvas, cable, style)
            return
        one, other = (self.row[end.cage] for end in cable.ends)
        line = self.glyphs.line if cable.real else self.glyphs.dash
        begin, length = self._slope(cable)
        canvas.put(one, self.box, line * begin, style)
        canvas.put(other, self.box + begin + length, line * (self.channel - begin - length), style)
        for step in range(length):
            row = one + (step + 1 if other > one else -step - 1)
            slope = self.glyphs.falling if other > one else self.glyphs.rising
            there = canvas.cells.get((row, self.box + begin + step), (" ", ""))[0]
            met = there in (self.glyphs.falling, self.glyphs.rising) and there != slope
            canvas.put(row, self.box + begin + step, self.glyphs.crossing if met else slope, style)

    def _slope(self, cable: Cable) -> tuple[int, int]:
        """Where in the channel a cable begins to fall or rise, and over how many columns."""
        length = max(0, abs(self.row[cable.one.cage] - self.row[cable.other.cage]) - 1)
        return (self.channel - length) // 2, length

    def _loop(self, canvas: _Canvas, cable: Cable, style: str) -> None:
        top, bottom = sorted(self.row[end.cage] for end in cable.ends)
        glyphs, reach, right = self.glyphs, 3, self._side(cable.one)
        at = self.box + self.channel - reach - 1 if right else self.box + reach
        for row, corner in zip((top, bottom), glyphs.corners[1 - right :: 2], strict=True):
            canvas.put(row, at + 1 if right else self.box, glyphs.line * reach, style)
            canvas.put(row, at, corner, style)
        for row in range(top + 1, bottom):
            canvas.put(row, at, glyphs.side, style)

    def _label(self, canvas: _Canvas, cable: Cable) -> None:
        """A sign and a word on the line, as far as there is room and nothing else is drawn."""
        shade, word = cages.label(self.shown, cable)
        sign, style = self.glyphs.signs[shade], STYLES[shade]
        row, room, begin = self.row[cable.one.cage], self.channel, self.box
        if cable.loops:
            text = f"{sign} {word}"
            left = self.box + 5 if not self._side(cable.one) else self.box + self.channel - 5 - len(text)
            canvas.put(row + 2, left, text, style)
            return
        if not word:
            return
        if self._slope(cable)[1]:
            room = self._slope(cable)[0]
        for text in (f" {sign} {word} ", f" {sign} ", sign):
            if len(text) + 2 <= room:
                canvas.put(row, begin + (room - len(text)) // 2, text, style)
                return

    def _switch(self, canvas: _Canvas) -> None:
        """All that reach one another, joined in the middle."""
        ends = {end for cable in self.shown.cables if self.shown.switched(cable) for end in cable.ends}
        rows = [self.row[end.cage] for end in ends]
        middle, style = self.channel // 2, STYLES["degraded"]
        for end in ends:
            self._plug(canvas, end, style)
            left, right = (0, middle) if self._side(end) == 0 else (middle + 1, self.channel)
            canvas.put(self.row[end.cage], self.box + left, self.glyphs.line * (right - left), style)
        for row in range(min(rows), max(rows) + 1):
            canvas.put(row, self.box + middle, self.glyphs.side, style)
        text = f" {self.glyphs.signs['degraded']} switch "
        canvas.put((min(rows) + max(rows)) // 2, self.box + middle - len(text) // 2, text, style)

    def _stub(self, canvas: _Canvas, host: Host, cage: Cage) -> None:
        """A lit end that leads to no host of the drawing: a short line, and a name for what it hears."""
        end = End(host.name, cage.name)
        loose = cages.loose_end(self.shown, end)
        if loose is None:
            return
        style, name = STYLES[loose[0]], loose[1]
        fits = len(name) + 6 <= self.channel // 2 + 2
        text = "" if not name else f" {name} " if fits else " ? "
        line = self.glyphs.line * 3
        row, side = self.row[cage.name], self._side(end)
        self._plug(canvas, end, style)
        stub = line + text if side == 0 else text + line
        canvas.put(row, self.box if side == 0 else self.box + self.channel - len(stub), stub, style)


class _Stack(_Plan):
    """Any number of hosts, one below the other; the cables of a ring, or the switch, to the right of all.

    A cable has a column of its own and a sign where it begins; what is said of it stands below.
    """

    def __init__(self, shown: Topology, glyphs: _Glyphs, form: _Form, width: int) -> None:
        super().__init__(shown, glyphs, form, width)
        self.channel = 8 + 4 * len(self.single) if self.single else _SWITCH
        self.fits = self.box + self.channel <= width

    def draw(self) -> Iterator[Text]:
        canvas = _Canvas()
        for index, host in enumerate(self.shown.hosts):
            part = _Canvas()
            self._host(part, host, 0)
            canvas.lay(part, index * (self.bottom + 1))
        for lane, cable in enumerate(self.single):
            self._around(canvas, cable, self.box + 5 + 4 * lane)
        self._ports(canvas)
        yield from self._lines(canvas)

    def _at(self, end: End) -> int:
        """The row of a plug."""
        return self._side(end) * (self.bottom + 1) + self.row[end.cage]

    def _lead(self, canvas: _Canvas, row: int, column: int, line: str, style: str) -> None:
        """From a plug to a column; what it crosses stays to be seen."""
        canvas.put(row, self.box - 1, self.glyphs.plugs[0], style)
        for at in range(self.box, column):
            met = canvas.cells.get((row, at), (" ", ""))[0] in (self.glyphs.side, self.glyphs.wanted)
            canvas.put(row, at, self.glyphs.met if met else line, style)

    def _around(self, canvas: _Canvas, cable: Cable, column: int) -> None:
        shade, _ = cages.label(self.shown, cable)
        style = STYLES[shade] + ("" if cable.real else " dim")
        line = self.glyphs.line if cable.real else self.glyphs.dash
        one, other = sorted(map(self._at, cable.ends))
        for row, corner in ((one, self.glyphs.corners[1]), (other, self.glyphs.corners[3])):
            self._lead(canvas, row, column, line, style)
            canvas.put(row, column, corner, style)
        for row in range(one + 1, other):
            met = canvas.cells.get((row, column), (" ", ""))[0] in (self.glyphs.line, self.glyphs.dash)
            side = self.glyphs.side if cable.real else self.glyphs.wanted
            canvas.put(row, column, self.glyphs.met if met else side, style)
        canvas.put(one, self.box + 1, f" {self.glyphs.signs[shade]} ", style)

    def _ports(self, canvas: _Canvas) -> None:
        """The ports of a declared switch, each with its sign."""
        ends = cages.ports(self.shown)
        if not ends:
            return
        rows, column = [self._at(end) for end in ends], self.box + 12
        for row in range(min(rows), max(rows) + 1):
            canvas.put(row, column, self.glyphs.side, "cyan")
        for end, row in zip(ends, rows, strict=True):
            shade, _ = cages.port(self.shown, end)
            lit = self.shown.at(end).state == "link"
            self._lead(canvas, row, column, self.glyphs.line if lit else self.glyphs.dash, STYLES[shade])
            canvas.put(row, column, self.glyphs.plugs[1], STYLES[shade])
            canvas.put(row, self.box + 4, f" {self.glyphs.signs[shade]} ", STYLES[shade])
        canvas.put((min(rows) + max(rows)) // 2, column + 2, "switch", "bold")


def _named(shown: Topology, glyphs: _Glyphs, *, loose: bool = True) -> Iterator[Text]:
    """The cables as a list, where there is no room to draw them, or to write beside them.

    loose: with the cages that no cable leads to.
    """
    for end in cages.ports(shown):
        shade, word = cages.port(shown, end)
        yield Text(f" {glyphs.signs[shade]} {end} {glyphs.line * 2} switch: {word}", style=STYLES[shade])
    for cable in shown.cables if shown.form != "switch" else ():
        judged = judge(shown, cable)
        sign = glyphs.signs[judged.level]
        line = (glyphs.line if cable.real else glyphs.dash) * 2
        yield Text(f" {sign} {cable.one} {line} {cable.other}", style=STYLES[judged.level])
    joined = {end for cable in shown.cables for end in cable.ends}
    for host in shown.hosts if loose else ():
        for cage in (cage for cage in host.cages if End(host.name, cage.name) not in joined):
            yield Text(f" {glyphs.signs['quiet']} {cage.name} of {host.name}: {cages.state(host, cage)}")


def _below(shown: Topology, form: _Form) -> Iterator[RenderableType]:
    """What the form leaves out of each twin that is in use: its rail, its address."""
    if form.rail and form.address:
        return
    grid = Table.grid(padding=(0, 1))
    for host in shown.hosts:
        for cage in host.cages:
            for twin in cage.twins:
                rail = f"rail {twin.rail}" if twin.rail is not None and not form.rail else ""
                if left := " ".join(said for said in (rail, twin.address) if said):
                    grid.add_row("", f"{host.name} {twin.netdev}", left, style="dim")
    if grid.row_count:
        yield grid
