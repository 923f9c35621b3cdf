"""What a host of a pair shows while the other one is asked, too: whom it hears, its pings, its journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyinfra.api.exceptions import FactProcessError

from sparkrig.facts.bundle import Bundle, looked, meanwhile, section
from sparkrig.facts.journal import Journal
from sparkrig.facts.neighbours import Neighbours
from sparkrig.facts.noun import Noun, understood
from sparkrig.facts.ping import Pings
from sparkrig.network.ping import Target

Part = Any
"""What a noun found, or why it was not read: a FactProcessError."""


class Together(Bundle[Mapping[str, Part]]):
    """Each noun by its name; one that cannot be read hides none of the others."""

    whole = dict

    def __init__(self, *, patience: float | None, targets: Sequence[Target], journal: bool, fan: int = 1) -> None:
        """patience, fan: of the probe, None for none; targets: of the pings."""
        self._patience, self._targets, self._fan = patience, targets, fan
        every: dict[str, tuple[type[Noun[Any]], bool]] = {
            "neighbours": (Neighbours, patience is not None),
            "pings": (Pings, bool(targets)),
            "journal": (Journal, journal),
        }
        self.nouns = {name: noun for name, (noun, asked) in every.items() if asked}

    def command(self) -> str:
        commands = {
            "pings": Pings().command(*self._targets),
            "journal": Journal().command(),
        }
        sections = [section(name, text) for name, text in commands.items() if name in self.nouns]
        if self._patience is None:
            return looked(*sections)
        return looked(meanwhile(section("neighbours", Neighbours().command(self._patience, self._fan)), *sections))

    def process(self, output: list[str]) -> Mapping[str, Part]:
        parts = understood("look", lambda: self.parts(output))
        return {name: self.part(name, parts[name]) for name in self.nouns}

    def part(self, name: str, rows: list[str] | FactProcessError) -> Part:
        """What the rows of a noun mean, or why they are none."""
        if isinstance(rows, FactProcessError):
            return rows
        try:
            return self.nouns[name]().process(rows)
        except FactProcessError as error:
            return error
