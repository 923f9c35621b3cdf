"""The cabling drawn as SVG: the same picture as in the terminal, for a file and for the report."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any

from sparkrig.fabric.cabling import Cable, Cage, End, Host, Topology, Twin
from sparkrig.render import cages
from sparkrig.render.findings import SIGNS, Shade
from sparkrig.render.templates import template
from sparkrig.text import listed

_BOX, _CHANNEL, _EDGE, _TOP = 316, 280, 24, 24  # pixels
_NAME, _HEAD, _TWIN, _GAP, _LINE = 40, 28, 24, 18, 19
_LETTER = 7.0  # of 13 px text, about
_LANE, _LANES, _PORTS = 150, 3, 300  # of a ring's cables, as many at least, and of a switch
_NARROW_EDGE, _NARROW_CHANNEL = 3, 52  # with the box 374 pixels, what a page of 420 leaves between its edges


def svg(shown: Topology, *, narrow: bool = False) -> str:
    """The same as a drawing of its own: one SVG document, without scripts or references, light and dark.

    narrow: for a page of some 400 pixels: one host below the other, the cables beside them, and on a cable its
    sign alone, which the findings explain.
    """
    stacked = narrow or len(shown.hosts) > 2 or shown.form == "switch"
    scene = _Stacked(shown, narrow=narrow) if stacked else _Scene(shown)
    return template("topology.svg.j2").render(
        names=listed(host.name for host in shown.hosts),
        said=". ".join(f"{each.subject}: {each.verdict.evidence}" for each in shown.findings),
        hosts=[scene.host(host) for host in shown.hosts],
        cables=[*map(scene.cable, scene.single), *scene.switched(), *scene.stubs()],
        bar=scene.bar(),
        **scene.under(),
    )


class _Scene:
    """Where everything of an SVG lies, in pixels."""

    def __init__(self, shown: Topology) -> None:
        self.shown = shown
        self.row: dict[str, int] = {}
        at = _TOP + _NAME
        for name in sorted({cage.name for host in shown.hosts for cage in host.cages}):
            self.row[name] = at + _HEAD // 2
            at += _HEAD + _TWIN * max(len(host.cage(name).twins) for host in shown.hosts) + _GAP
        self.height = at - _GAP + 8 - _TOP
        self.bottom = _TOP + self.height
        self.width = 2 * (_EDGE + _BOX) + _CHANNEL if len(shown.hosts) > 1 else _EDGE + _BOX + _CHANNEL
        self.single = cages.single(shown)

    def corner(self, host: str) -> tuple[int, int]:
        """Where its box begins: from the left, from the top."""
        return _EDGE + self._index(host) * (_BOX + _CHANNEL), _TOP

    def side(self, host: str) -> int:
        """In which direction the channel lies."""
        return 1 if self._index(host) == 0 else -1

    def _index(self, host: str) -> int:
        return next(n for n, each in enumerate(self.shown.hosts) if each.name == host)

    def host(self, host: Host) -> dict[str, Any]:
        left, top = self.corner(host.name)
        return {
            "name": host.name,
            "x": left,
            "y": top,
            "width": _BOX,
            "height": self.height,
            "cages": [self._cage(host, cage, left) for cage in host.cages],
        }

    def _cage(self, host: Host, cage: Cage, left: int) -> dict[str, Any]:
        x, plug, _ = self._at(End(host.name, cage.name))
        wanted = bool(cage.rails)
        return {
            "name": cage.name,
            "state": cages.state(host, cage),
            "quiet": not wanted,
            "x": left,
            "y": plug,
            "plug": x,
            "twins": [self._twin(twin, plug + _HEAD + _TWIN * n) for n, twin in enumerate(cage.twins)],
        }

    def _twin(self, twin: Twin, y: int) -> dict[str, Any]:
        shade = cages.shade(twin)
        return {
            "y": y,
            "rail": "" if twin.rail is None else f"rail {twin.rail}",
            "netdev": twin.netdev,
            "address": twin.address if twin.rail is not None else "",
            "level": shade,
            "sign": SIGNS[shade],
        }

    def _at(self, end: End) -> tuple[int, int, int]:
        """Where a plug is, and in which direction the channel lies."""
        (left, top), side = self.corner(end.host), self.side(end.host)
        return left + (_BOX if side > 0 else 0), self.row[end.cage] + top - _TOP, side

    def cable(self, cable: Cable) -> dict[str, Any]:
        (x1, y1, out1), (x2, y2, out2) = map(self._at, cable.ends)
        bend = 90 if cable.loops else _CHANNEL // 2
        path = f"M{x1} {y1} C{x1 + out1 * bend} {y1} {x2 + out2 * bend} {y2} {x2} {y2}"
        straight = cable.loops or y1 == y2
        part = 0.5 if straight else 0.22
        spot = _curve(part, (x1, x1 + out1 * bend, x2 + out2 * bend, x2), (y1, y1, y2, y2))
        return _drawn(path, *cages.label(self.shown, cable), spot, real=cable.real)

    def switched(self) -> Iterator[dict[str, Any]]:
        """All that reach one another, joined in the middle."""
        ends = self.joined()
        x, y = _EDGE + _BOX + _CHANNEL // 2, sum(self._at(end)[1] for end in ends) // max(1, len(ends))
        for end in ends:
            x1, y1, out = self._at(end)
            path = f"M{x1} {y1} C{x1 + out * 80} {y1} {x - out * 60} {y} {x} {y}"
            yield _drawn(path, "degraded", "switch" if end == ends[-1] else "", (x, y), real=True)

    def joined(self) -> list[End]:
        return sorted({end for cable in self.shown.cables if self.shown.switched(cable) for end in cable.ends})

    def loose(self) -> Iterator[tuple[End, Shade, str]]:
        """Lit ends that lead to no host of the drawing, and a name for what each hears."""
        for host in self.shown.hosts:
            for cage in host.cages:
                end = End(host.name, cage.name)
                if found := cages.loose_end(self.shown, end):
                    yield end, *found

    def stubs(self) -> Iterator[dict[str, Any]]:
        for end, shade, word in self.loose():
            x, y, out = self._at(end)
            path = f"M{x} {y} C{x + out * 30} {y} {x + out * 50} {y + 26} {x + out * 80} {y + 26}"
            if not word:
                path = f"M{x} {y} h{out * 60}"
            yield _drawn(path, shade, word, (x + out * 90, y + 26), real=True)

    def under(self) -> dict[str, Any]:
        """The findings, in lines, and how large it all is."""
        second = self.legend()
        y, found = self.bottom + (64 + second[1] if self.shown.cables else 36), []
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
                    "sign": SIGNS[verdict.level],
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
            "second": second,
        }

    def legend(self) -> tuple[int, int]:
        """Where its second half stands: from the left, and below the first."""
        return 220, 0

    def bar(self) -> dict[str, int]:
        """Where a declared switch lies; empty where there is none."""
        return {}


class _Stacked(_Scene):
    """Any number of hosts, one below the other; the cables, or the switch, to the right of all."""

    def __init__(self, shown: Topology, *, narrow: bool) -> None:
        self.edge, self.brief = (_NARROW_EDGE if narrow else _EDGE), narrow
        super().__init__(shown)
        self.bottom = self.corner(shown.hosts[-1].name)[1] + self.height
        lanes = max(_LANES, len(self.single))
        self.lane, self.first = (_NARROW_CHANNEL - 12) // (lanes + 1) if narrow else _LANE, 14 if narrow else 80
        channel = _NARROW_CHANNEL if narrow else lanes * _LANE if self.single else _PORTS
        self.width = 2 * self.edge + _BOX + channel

    def side(self, host: str) -> int:  # noqa: ARG002 - of any host
        return 1

    def stubs(self) -> Iterator[dict[str, Any]]:
        for end, shade, word in self.loose():
            x, y, _ = self._at(end)
            yield _drawn(f"M{x} {y} h24", shade, word, (x + 36, y), real=True, brief=True)

    def legend(self) -> tuple[int, int]:
        return 24, _LINE

    def corner(self, host: str) -> tuple[int, int]:
        return self.edge, _TOP + self._index(host) * (self.height + _GAP)

    def cable(self, cable: Cable) -> dict[str, Any]:
        """Around the corner to the other plug, each in a lane of its own, its label on the way."""
        (x, y1, _), (_, y2, _) = map(self._at, cable.ends)
        lane = x + self.first + self.lane * self.single.index(cable)
        bend, down = (6 if self.brief else 12), (1 if y2 > y1 else -1)
        path = (
            f"M{x} {y1} H{lane - bend} Q{lane} {y1} {lane} {y1 + down * bend} V{y2 - down * bend} "
            f"Q{lane} {y2} {lane - bend} {y2} H{x}"
        )
        shade, word = cages.label(self.shown, cable)
        spot = lane, self.spots.get(cable, (y1 + y2) / 2)
        return _drawn(path, shade, word, spot, real=cable.real, brief=self.brief)

    @cached_property
    def spots(self) -> dict[Cable, float]:
        """How far down the label of each cable that has one lies, so that it hides no line and no other label.

        Half way between two plugs, as near the cable's middle as is free; the shortest has the fewest places.
        """
        plugs = (End(host.name, cage.name) for host in self.shown.hosts for cage in host.cages)
        places = [*pairwise(sorted(self._at(end)[1] for end in plugs))]
        spans = {
            cable: sorted(self._at(end)[1] for end in cable.ends)
            for cable in self.single
            if cages.label(self.shown, cable)[1]
        }
        found: dict[Cable, float] = {}
        for cable, (top, bottom) in sorted(spans.items(), key=lambda each: each[1][1] - each[1][0]):
            within = [(one + other) / 2 for one, other in places if top <= one < bottom]
            free = [spot for spot in within if spot not in found.values()] or within
            found[cable] = min((abs(2 * spot - top - bottom), spot) for spot in free)[1]
        return found

    def switched(self) -> Iterator[dict[str, Any]]:
        """Each port of a declared switch, with what is said of it; else all that another one joins."""
        right = self.bar().get("x", 0)
        ends = self.joined() if not right else []
        middle = sum(self._at(end)[1] for end in ends) // max(1, len(ends))
        for end in ends:
            x, y, _ = self._at(end)
            path = f"M{x} {y} C{x + 36} {y} {x + 36} {y} {x + 36} {middle}"
            word = "switch" if end == ends[-1] else ""
            yield _drawn(path, "degraded", word, (x + 36, middle), real=True, brief=True)
        for end in cages.ports(self.shown):
            x, y, _ = self._at(end)
            shade, word = cages.port(self.shown, end)
            lit = self.shown.at(end).state == "link"
            yield _drawn(f"M{x} {y} H{right}", shade, word, ((x + right) / 2, y), real=lit, brief=self.brief)

    def bar(self) -> dict[str, int]:
        ends = cages.ports(self.shown)
        if not ends:
            return {}
        rows = [self._at(end)[1] for end in ends]
        width = 14 if self.brief else 70
        top = min(rows) - 20
        return {
            "x": self.width - self.edge - width,
            "y": top,
            "width": width,
            "height": max(rows) + 20 - top,
            "named": int(not self.brief),
        }


def _drawn(
    path: str, shade: Shade, word: str, spot: tuple[float, float], *, real: bool, brief: bool = False
) -> dict[str, Any]:
    """A line, and a word on it. brief: its sign alone."""
    text = (SIGNS[shade] if brief else f"{SIGNS[shade]} {word}") if word else ""
    return {
        "path": path,
        "level": shade,
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
