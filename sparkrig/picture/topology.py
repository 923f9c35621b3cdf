"""The cabling as a picture: what is there, drawn solid; what is wanted and is not, dashed.

In the terminal the drawing takes the richest form that the width allows. Every colour has a sign beside it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from sparkrig.cabling import Cable, Cage, End, Host, State, Topology, Twin, judge
from sparkrig.picture.findings import ASCII_SIGNS, SIGNS, STYLES, Findings
from sparkrig.verdict import Level

_WIDEST = 132
_UNTOLD: dict[State, str] = {"missing": "no netdev", "unread": "not read", "link": "link"}


@dataclass(frozen=True)
class _Glyphs:
    """What the drawing is made of; signs: by level, `quiet` for what nobody asked for."""

    corners: str
    line: str
    side: str
    dash: str
    falling: str
    rising: str
    crossing: str
    plugs: str
    signs: dict[Level, str]
    quiet: str


_DRAWN = _Glyphs(
    corners="╭╮╰╯",
    line="─",
    side="│",
    dash="╌",
    falling="╲",
    rising="╱",  # noqa: RUF001
    crossing="╳",  # noqa: RUF001
    plugs="├┤",
    signs=SIGNS,
    quiet="·",
)
_TYPED = _Glyphs(
    corners="++++",
    line="-",
    side="|",
    dash=".",
    falling="\\",
    rising="/",
    crossing="X",
    plugs="++",
    signs=ASCII_SIGNS,
    quiet="-",
)


@dataclass(frozen=True)
class _Form:
    """How much is said of a twin, and the fewest columns that the channel between the hosts needs."""

    rail: bool
    address: bool
    channel: int


_FORMS = (
    _Form(rail=True, address=True, channel=12),
    _Form(rail=True, address=False, channel=20),
    _Form(rail=False, address=False, channel=10),
)


class Drawing:
    """A topology for rich's console, with its findings under it unless they are said elsewhere."""

    def __init__(self, shown: Topology, *, findings: bool = True) -> None:
        self.shown = shown
        self.findings = findings

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        glyphs = _TYPED if options.ascii_only or options.legacy_windows else _DRAWN
        width = min(options.max_width, _WIDEST)
        plans = (_Plan(self.shown, glyphs, form, width) for form in _FORMS)
        plan = next((plan for plan in plans if plan.fits), None)
        yield from plan.draw() if plan else _named(self.shown, glyphs)
        yield Text()
        if self.findings:
            yield Findings(self.shown.findings)


class _Canvas:
    """Cells of a character and its style."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], tuple[str, str]] = {}

    def put(self, row: int, column: int, text: str, style: str = "") -> None:
        self.cells.update({(row, column + n): (character, style) for n, character in enumerate(text)})

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
        self.shown, self.glyphs, self.form = shown, glyphs, form
        names = sorted({cage.name for host in shown.hosts for cage in host.cages})
        self.row: dict[str, int] = {}
        self.bottom = 1
        for name in names:
            self.row[name] = self.bottom
            self.bottom += 2 + max(len(host.cage(name).twins) for host in shown.hosts)
        self.bottom -= 1
        self.columns = self._columns()
        inner = max(len(line) for host in shown.hosts for line in self._texts(host))
        self.box = inner + 4
        boxes = len(shown.hosts)
        self.channel = width - boxes * self.box if boxes > 1 else min(width - self.box, form.channel + 20)
        self.fits = self.channel >= form.channel or (not shown.cables and self.channel >= 0)

    def draw(self) -> Iterator[Text]:
        canvas = _Canvas()
        for index, host in enumerate(self.shown.hosts):
            self._host(canvas, host, index * (self.box + self.channel))
        single = _single(self.shown)
        for cable in single:
            self._cable(canvas, cable)
        for host in self.shown.hosts:
            for cage in host.cages:
                self._stub(canvas, host, cage)
        for cable in single:
            self._label(canvas, cable)
        if any(map(self.shown.switched, self.shown.cables)):
            self._switch(canvas)
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
            yield f"{cage.name}  {_state(host, cage)}"
            for twin in cage.twins:
                yield f"{self._twin(twin)} {self._sign(twin)[0]}"

    def _twin(self, twin: Twin) -> str:
        netdev, address = self.columns
        rail = ("" if twin.rail is None else f"rail {twin.rail}").ljust(8) if self.form.rail else ""
        return f"{rail}{twin.netdev.ljust(netdev)}{f'  {twin.address.ljust(address)}' if address else ''}"

    def _sign(self, twin: Twin) -> tuple[str, str]:
        if twin.state == "link":
            return self.glyphs.signs["healthy"], "green"
        if twin.rail is None:
            return self.glyphs.quiet, "dim"
        level: Level = "unknown" if twin.state == "unread" else "fault"
        return self.glyphs.signs[level], STYLES[level]

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
            canvas.put(row, left + 4 + len(cage.name), _state(host, cage), "" if cage.rails else "dim")
            for offset, twin in enumerate(cage.twins, 1):
                sign, style = self._sign(twin)
                canvas.put(row + offset, left + 2, self._twin(twin), "" if twin.rail is not None else "dim")
                canvas.put(row + offset, right - 1 - len(sign), sign, style)

    # the channel

    def _side(self, end: End) -> int:
        """0 for the box on the left, 1 for the one on the right."""
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
        glyphs, reach = self.glyphs, 3
        if self._side(cable.one):
            at, corners = self.box + self.channel - reach - 1, (glyphs.corners[0], glyphs.corners[2])
            for row, corner in ((top, corners[0]), (bottom, corners[1])):
                canvas.put(row, at, corner + glyphs.line * reach, style)
        else:
            at, corners = self.box + reach, (glyphs.corners[1], glyphs.corners[3])
            for row, corner in ((top, corners[0]), (bottom, corners[1])):
                canvas.put(row, self.box, glyphs.line * reach + corner, style)
        for row in range(top + 1, bottom):
            canvas.put(row, at, glyphs.side, style)

    def _label(self, canvas: _Canvas, cable: Cable) -> None:
        """A sign and a word on the line, as far as there is room and nothing else is drawn."""
        judged = judge(self.shown, cable)
        sign, style = self.glyphs.signs[judged.level], STYLES[judged.level]
        if cable.real and not cable.wanted and judged.healthy:
            sign, style = self.glyphs.quiet, "dim"
        word = judged.cause or judged.evidence
        row, room, begin = self.row[cable.one.cage], self.channel, self.box
        if cable.loops:
            text = f"{sign} {word}"
            left = self.box + 5 if not self._side(cable.one) else self.box + self.channel - 5 - len(text)
            canvas.put(row + 2, left, text, style)
            return
        if not cable.real and any(_taken(self.shown, end) or self.shown.at(end).stranger for end in cable.ends):
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
        """A lit end that leads to nobody of the drawing: a short line, and who is heard there."""
        end = End(host.name, cage.name)
        if cage.state != "link" or _taken(self.shown, end):
            return
        style = "red" if cage.stranger and cage.rails else "yellow" if cage.rails or cage.stranger else "dim"
        name = _stranger(cage)
        text = f" {name} " if len(name) + 6 <= self.channel // 2 + 2 else " ? "
        if cage.rails and not cage.stranger:
            text = ""  # where it should lead is drawn already
        line = self.glyphs.line * 3
        row, side = self.row[cage.name], self._side(end)
        self._plug(canvas, end, style)
        stub = line + text if side == 0 else text + line
        canvas.put(row, self.box if side == 0 else self.box + self.channel - len(stub), stub, style)


def _taken(shown: Topology, end: End) -> bool:
    """Whether a cable that is there ends here."""
    return any(cable.real and end in cable.ends for cable in shown.cables)


def _single(shown: Topology) -> list[Cable]:
    """The cables that are drawn one by one: what is only wanted first, and not where both plugs are in use."""
    drawn = [
        cable
        for cable in shown.cables
        if not shown.switched(cable) and (cable.real or not all(_taken(shown, end) for end in cable.ends))
    ]
    return sorted(drawn, key=lambda each: each.real)


def _stranger(cage: Cage) -> str:
    """Who is heard at a cage, in a word or two."""
    return "unknown machine" if "(" in cage.stranger else cage.stranger or "?"


def _state(host: Host, cage: Cage) -> str:
    """What a cage is like, in a word or two."""
    if not host.read:
        return "not read"
    if cage.state == "link" and cage.speed_mbps:
        return f"{cage.speed_mbps / 1000:g} Gb/s"
    return _UNTOLD.get(cage.state, cage.state)


def _named(shown: Topology, glyphs: _Glyphs) -> Iterator[Text]:
    """The cables as a list, where there is no room to draw them."""
    for cable in shown.cables:
        judged = judge(shown, cable)
        sign = glyphs.signs[judged.level]
        line = (glyphs.line if cable.real else glyphs.dash) * 2
        yield Text(f" {sign} {cable.one} {line} {cable.other}", style=STYLES[judged.level])
    for host in shown.hosts if not shown.cables else ():
        for cage in host.cages:
            yield Text(f" {glyphs.quiet} {cage.name} of {host.name}: {_state(host, cage)}")


# --- SVG ----------------------------------------------------------------------------------------------------

_TEMPLATES = Path(__file__).resolve().parent.parent.parent / "templates"
_JINJA = Environment(
    loader=FileSystemLoader(_TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_BOX, _CHANNEL, _EDGE, _TOP = 316, 280, 24, 24  # pixels
_NAME, _HEAD, _TWIN, _GAP, _LINE = 40, 28, 24, 18, 19
_LETTER = 7.0  # of 13 px text, about


def svg(shown: Topology) -> str:
    """The same as a drawing of its own: one SVG document, without scripts or references, light and dark."""
    scene = _Scene(shown)
    return _JINJA.get_template("topology.svg.j2").render(
        names=" and ".join(host.name for host in shown.hosts),
        said=". ".join(f"{each.subject}: {each.verdict.evidence}" for each in shown.findings),
        hosts=[scene.host(host) for host in shown.hosts],
        cables=[*map(scene.cable, scene.single), *scene.switched(), *scene.stubs()],
        **scene.under(),
    )


class _Scene:
    """Where everything of an SVG lies, in pixels."""

    def __init__(self, shown: Topology) -> None:
        self.shown = shown
        self.plug: dict[str, int] = {}
        at = _TOP + _NAME
        for name in sorted({cage.name for host in shown.hosts for cage in host.cages}):
            self.plug[name] = at + _HEAD // 2
            at += _HEAD + _TWIN * max(len(host.cage(name).twins) for host in shown.hosts) + _GAP
        self.bottom = at
        self.bottom -= _GAP - 8
        self.width = 2 * (_EDGE + _BOX) + _CHANNEL if len(shown.hosts) > 1 else _EDGE + _BOX + _CHANNEL
        self.single = _single(shown)

    def host(self, host: Host) -> dict[str, Any]:
        left = self._left(host.name)
        return {
            "name": host.name,
            "x": left,
            "y": _TOP,
            "width": _BOX,
            "height": self.bottom - _TOP,
            "cages": [self._cage(host, cage, left) for cage in host.cages],
        }

    def _cage(self, host: Host, cage: Cage, left: int) -> dict[str, Any]:
        plug = self.plug[cage.name]
        wanted = bool(cage.rails)
        return {
            "name": cage.name,
            "state": _state(host, cage),
            "quiet": not wanted,
            "x": left,
            "y": plug,
            "plug": left + _BOX if left == _EDGE else left,
            "twins": [self._twin(twin, plug + _HEAD + _TWIN * n) for n, twin in enumerate(cage.twins)],
        }

    def _twin(self, twin: Twin, y: int) -> dict[str, Any]:
        level = "healthy" if twin.state == "link" else "unknown" if twin.state == "unread" else "fault"
        if twin.rail is None and twin.state != "link":
            level = "quiet"
        return {
            "y": y,
            "rail": "" if twin.rail is None else f"rail {twin.rail}",
            "netdev": twin.netdev,
            "address": twin.address if twin.rail is not None else "",
            "level": level,
            "sign": _signed(level),
        }

    def _left(self, host: str) -> int:
        index = next(n for n, each in enumerate(self.shown.hosts) if each.name == host)
        return _EDGE + index * (_BOX + _CHANNEL)

    def _at(self, end: End) -> tuple[int, int, int]:
        """Where a plug is, and in which direction the channel lies."""
        left = self._left(end.host)
        return (left + _BOX, self.plug[end.cage], 1) if left == _EDGE else (left, self.plug[end.cage], -1)

    def cable(self, cable: Cable) -> dict[str, Any]:
        judged = judge(self.shown, cable)
        undeclared = cable.real and not cable.wanted and judged.healthy
        (x1, y1, out1), (x2, y2, out2) = map(self._at, cable.ends)
        bend = 90 if cable.loops else _CHANNEL // 2
        path = f"M{x1} {y1} C{x1 + out1 * bend} {y1} {x2 + out2 * bend} {y2} {x2} {y2}"
        straight = cable.loops or y1 == y2
        part = 0.5 if straight else 0.22
        spot = _curve(part, (x1, x1 + out1 * bend, x2 + out2 * bend, x2), (y1, y1, y2, y2))
        crowded = not cable.real and any(
            _taken(self.shown, end) or self.shown.at(end).stranger for end in cable.ends
        )
        return _drawn(
            path,
            "quiet" if undeclared else judged.level,
            "" if crowded else judged.cause or judged.evidence,
            spot,
            real=cable.real,
        )

    def switched(self) -> Iterator[dict[str, Any]]:
        """All that reach one another, joined in the middle."""
        ends = sorted({end for cable in self.shown.cables if self.shown.switched(cable) for end in cable.ends})
        x, y = _EDGE + _BOX + _CHANNEL // 2, sum(self.plug[end.cage] for end in ends) // max(1, len(ends))
        for end in ends:
            x1, y1, out = self._at(end)
            path = f"M{x1} {y1} C{x1 + out * 80} {y1} {x - out * 60} {y} {x} {y}"
            yield _drawn(path, "degraded", "switch" if end == ends[-1] else "", (x, y), real=True)

    def stubs(self) -> Iterator[dict[str, Any]]:
        """Lit ends that lead to nobody of the drawing."""
        for host in self.shown.hosts:
            for cage in host.cages:
                end = End(host.name, cage.name)
                if cage.state != "link" or _taken(self.shown, end):
                    continue
                x, y, out = self._at(end)
                level = "fault" if cage.stranger and cage.rails else "unknown" if cage.rails else "quiet"
                word = "" if cage.rails and not cage.stranger else _stranger(cage)
                path = f"M{x} {y} C{x + out * 30} {y} {x + out * 50} {y + 26} {x + out * 80} {y + 26}"
                if not word:
                    path = f"M{x} {y} h{out * 60}"
                yield _drawn(path, level, word, (x + out * 90, y + 26), real=True)

    def under(self) -> dict[str, Any]:
        """The findings, in lines, and how large it all is."""
        y, found = self.bottom + (64 if self.shown.cables else 36), []
        letters = int((self.width - 3 * _EDGE) / _LETTER)
        for finding in self.shown.findings:
            verdict = finding.verdict
            lines = [(line, "") for line in textwrap.wrap(verdict.evidence, letters)]
            cure = textwrap.wrap(verdict.cure, letters - 6)
            lines += [(f"→ {line}" if n == 0 else line, "cure") for n, line in enumerate(cure)]
            found.append(
                {
                    "y": y,
                    "level": verdict.level,
                    "sign": _DRAWN.signs[verdict.level],
                    "subject": finding.subject,
                    "cause": verdict.cause or verdict.level,
                    "lines": [(y + _LINE * n, *line) for n, line in enumerate(lines, 1)],
                }
            )
            y += _LINE * (len(lines) + 1) + 10
        return {
            "findings": found,
            "width": self.width,
            "height": y + 4,
            "legend": self.bottom + 26 if self.shown.cables else 0,
        }


def _signed(level: str) -> str:
    """The sign of a level, or of what nobody asked for."""
    return next((sign for name, sign in _DRAWN.signs.items() if name == level), _DRAWN.quiet)


def _drawn(path: str, level: str, word: str, spot: tuple[float, float], *, real: bool) -> dict[str, Any]:
    """A line, and a word on it."""
    text = f"{_signed(level)} {word}" if word else ""
    return {
        "path": path,
        "level": level,
        "real": real,
        "text": text,
        "x": round(spot[0]),
        "y": round(spot[1]),
        "width": round(len(text) * _LETTER + 18),
    }


def _curve(part: float, xs: tuple[float, ...], ys: tuple[float, ...]) -> tuple[float, float]:
    """A point of a cubic Bezier curve."""
    weights = ((1 - part) ** 3, 3 * part * (1 - part) ** 2, 3 * part**2 * (1 - part), part**3)
    return sum(w * x for w, x in zip(weights, xs, strict=True)), sum(
        w * y for w, y in zip(weights, ys, strict=True)
    )
