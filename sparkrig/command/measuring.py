"""The live screen of a measurement: a table that fills on a terminal, a line each in a pipe."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from sparkrig.cabling import Topology
from sparkrig.measurement import Case, Measurement, sentence, title
from sparkrig.picture import bandwidth
from sparkrig.picture.topology import Drawing
from sparkrig.survey import Survey


class Measuring:
    """Progress of operations.check on a console; what is shown stays there when it ends."""

    topology: Topology

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=8) if _lively(console) else None
        self._cases: Sequence[Case] = ()
        self._measured: list[Measurement] = []

    def __enter__(self) -> Measuring:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.update(self._table(None))
            self._live.stop()
        else:
            self._console.print(self._table(None))

    def step(self, what: str) -> None:
        if self._live:
            said = Spinner("line", f"{what} ...")
            self._live.update(Group(self._table(None), said) if self._cases else said, refresh=True)
        else:
            self._console.print(f"{what} ...")

    def surveyed(self, found: Survey, cases: Sequence[Case]) -> None:
        self.topology = found.topology
        self._cases = cases
        self._console.print(Drawing(found.topology, findings=False))

    def started(self, case: Case) -> None:
        if self._live:
            number = self._cases.index(case) + 1
            said = Spinner("line", f"{number} of {len(self._cases)}: {title(case)} ...")
            self._live.update(Group(self._table(case), said), refresh=True)

    def finished(self, measured: Sequence[Measurement]) -> None:
        self._measured += measured
        if not self._live:
            for each in measured:
                self._console.print(sentence(each), soft_wrap=True)

    def _table(self, running: Case | None) -> RenderableType:
        if not self._cases:
            return Text()
        plain = self._console.options.ascii_only
        return bandwidth.table(self._cases, self._measured, running, ascii_only=plain)


def _lively(console: Console) -> bool:
    """A terminal that is looked at; plain lines in a pipe, in CI, and with NO_COLOR."""
    return console.is_terminal and not os.environ.get("CI") and not os.environ.get("NO_COLOR")
