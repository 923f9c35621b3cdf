"""The matrix of a cluster as SVG: the same picture as in the terminal, for a file and for the report."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from sparkrig.bandwidth import outcome
from sparkrig.bandwidth.measurement import Run
from sparkrig.render.findings import SIGNS, Shade
from sparkrig.render.matrix import Cell, Grid, digits, grids
from sparkrig.render.templates import template
from sparkrig.verdict import Finding

WIDE, NARROW = 960, 374  # pixels; what a page of 420 leaves between its edges
_EDGE, _GAP, _ROW = 24, 4, 34
_HEAD, _COLUMNS = 46, 24  # of a grid: its title and what it says, then the names of its columns
_LETTER = 7.4  # of 13 px text, about
_LINE = 19
_MOST_CELL = 84
_LEGEND: Sequence[tuple[Shade, str]] = (
    ("healthy", "healthy"),
    ("degraded", "degraded"),
    ("fault", "fault"),
    ("unknown", "unknown"),
    ("quiet", "not measured"),
)


def svg(run: Run, *, narrow: bool = False, findings: bool = True) -> str:
    """One SVG document, without scripts or references, light and dark.

    narrow: for a page of some 400 pixels; findings: what is wrong under it, where nothing else shows that.
    """
    scene = _Scene(run, narrow=narrow)
    said = outcome.concerns(run)
    under = scene.findings(said) if findings else []
    return template("matrix.svg.j2").render(
        names=" and ".join(run.hosts),
        said=". ".join(f"{each.subject}: {each.verdict.evidence}" for each in said) or "all edges are healthy",
        grids=scene.drawn,
        legend=scene.legend,
        hosts=scene.hosts,
        findings=under,
        width=scene.width,
        height=round(under[-1]["end"] if under else scene.bottom),
    )


class _Scene:
    """Where everything lies, in pixels."""

    def __init__(self, run: Run, *, narrow: bool) -> None:
        self.names = [*run.hosts]
        self.edge = 6 if narrow else _EDGE
        most = NARROW if narrow else WIDE
        found = grids(run.rails, run.measurements, run.ports)
        count = len(self.names)
        longest = max(map(len, self.names))
        self.whole = not narrow and longest * _LETTER <= _MOST_CELL  # names over the columns, too
        self.label = (longest + (2 if self.whole else 4)) * (_LETTER + 0.4) + 8 if not narrow else 36.0
        side = 2 if not narrow and self._broad(2, count, most) >= 58 and len(found) > 1 else 1
        self.cell = min(float(_MOST_CELL), self._broad(side, count, most))
        self.brief = self.cell < 58
        broad = self.label + count * self.cell
        tall = _HEAD + _COLUMNS + count * _ROW + 22
        self.drawn = [
            self._grid(grid, self.edge + place % side * (broad + _EDGE), 30 + place // side * tall)
            for place, grid in enumerate(found)
        ]
        self.width = round(max(2 * self.edge + side * broad + (side - 1) * _EDGE, 0 if narrow else 560))
        self.bottom = 30.0 + -(-len(found) // side) * tall
        self.legend = [*self._legend()]
        self.hosts = [*self._hosts()] if narrow else []

    def _broad(self, side: int, count: int, most: int) -> float:
        """How broad a cell is with so many grids side by side."""
        return (most - 2 * self.edge - (side - 1) * _EDGE - side * self.label) / (side * count)

    def _grid(self, grid: Grid, x: float, y: float) -> dict[str, Any]:
        left, top = x + self.label, y + _HEAD + _COLUMNS - 12
        return {
            "title": grid.title.capitalize(),
            "says": "Gb/s, from the row to the column"
            if self.brief
            else "Gb/s, from the row's host to the column's",
            "x": round(x, 1),
            "y": round(y, 1),
            "columns": [
                self._name(grid, name, place, left + (place + 0.5) * self.cell, top - 8, column=True)
                for place, name in enumerate(self.names)
            ],
            "rows": [
                self._name(grid, name, place, left - 8, top + place * _ROW + _ROW / 2 + 4.5, column=False)
                for place, name in enumerate(self.names)
            ],
            "cells": [
                self._cell(grid, one, other, left + column * self.cell, top + row * _ROW)
                for row, one in enumerate(self.names)
                for column, other in enumerate(self.names)
            ],
        }

    def _name(self, grid: Grid, name: str, place: int, x: float, y: float, *, column: bool) -> dict[str, Any]:
        level = grid.ports.get(name, "healthy")
        shown = name if self.whole or (not column and self.label > 36) else ""
        number = "" if self.whole else str(place + 1)
        sign = "" if level == "healthy" else SIGNS[level]
        words = " ".join(each for each in (sign, number, shown) if each)
        return {"text": words, "level": "" if level == "healthy" else level, "x": round(x, 1), "y": round(y, 1)}

    def _cell(self, grid: Grid, sender: str, receiver: str, x: float, y: float) -> dict[str, Any]:
        cell = grid.cells.get((sender, receiver), Cell("quiet"))
        figure = "" if cell.gbps is None else digits(cell.gbps, brief=self.brief)
        room = self.brief and self.cell < 40
        words = f"{figure}{'' if room else ' '}{SIGNS[cell.level]}" if figure else SIGNS[cell.level]
        own = sender == receiver
        return {
            "level": "self" if own else cell.level,
            "text": "" if own else words,
            "size": 11 if self.brief else 13,
            "x": round(x + _GAP / 2, 1),
            "y": round(y + _GAP / 2, 1),
            "width": round(self.cell - _GAP, 1),
            "height": _ROW - _GAP,
        }

    def _legend(self) -> Iterator[dict[str, Any]]:
        """The levels, in as many lines as they need."""
        x = float(self.edge)
        for level, word in _LEGEND:
            text = f"{SIGNS[level]} {word}"
            broad = 21 + len(text) * _LETTER + 16
            if x + broad > self.width and x > self.edge:
                x, self.bottom = float(self.edge), self.bottom + _LINE + 3
            yield {"level": level, "text": text, "x": round(x, 1), "y": round(self.bottom, 1)}
            x += broad
        self.bottom += _LINE

    def _hosts(self) -> Iterator[dict[str, Any]]:
        """Which host a number stands for."""
        said = ", ".join(f"{place} {name}" for place, name in enumerate(self.names, 1))
        for line in textwrap.wrap(said, int((self.width - 2 * self.edge) / _LETTER)):
            self.bottom += 6
            yield {"text": line, "x": self.edge, "y": round(self.bottom, 1)}
            self.bottom += _LINE - 6

    def findings(self, found: Sequence[Finding]) -> list[dict[str, Any]]:
        """What is wrong, in lines."""
        y, drawn = self.bottom + 20, []
        letters = int((self.width - 3 * _EDGE) / (_LETTER - 0.6))
        for each in found:
            lines = [(line, "") for line in textwrap.wrap(each.verdict.evidence, letters)]
            cure = textwrap.wrap(each.verdict.cure, int(letters * 0.88))
            lines += [(f"→ {line}" if n == 0 else line, "cure") for n, line in enumerate(cure)]
            drawn.append(
                {
                    "y": round(y, 1),
                    "level": each.verdict.level,
                    "sign": SIGNS[each.verdict.level],
                    "subject": each.subject,
                    "cause": each.verdict.cause or each.verdict.level,
                    "lines": [(round(y + _LINE * n, 1), *line) for n, line in enumerate(lines, 1)],
                }
            )
            y += _LINE * (len(lines) + 1) + 10
            drawn[-1]["end"] = y
        return drawn
