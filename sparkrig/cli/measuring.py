"""The live screen of a measurement: a table that fills on a terminal, a line each in a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from time import monotonic

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from sparkrig.bandwidth.measurement import Case, Measurement, sentence, title
from sparkrig.fabric.cabling import Topology
from sparkrig.fabric.survey import Survey
from sparkrig.io import progress
from sparkrig.io.screen import Screen
from sparkrig.render import bandwidth
from sparkrig.render.progress import row, spinner
from sparkrig.render.topology import Drawing


class Measuring:
    """Progress of sparkrig.io.fabric_check on a console; the table stays there when it ends.

    Where the console is none to be drawn on, it gets the figures, and standard error what is being done.
    """

    topology: Topology

    def __init__(self, console: Console, pair: str) -> None:
        self._console, self._pair = console, pair
        self._live = progress.lively(console)
        self._spinner = spinner(console)
        self._open = ExitStack()
        self._cases: Sequence[Case] = ()
        self._measured: list[Measurement] = []
        self._running: Case | None = None
        self._step, self._since = "", 0.0

    def __enter__(self) -> Measuring:
        if self._live:
            self._open.enter_context(Live(get_renderable=self._drawn, console=self._console, refresh_per_second=8))
        else:
            plain = Screen(stderr=True, force_interactive=False)
            self._told = self._open.enter_context(progress.hosts([self._pair], "Measuring", plain))
        return self

    def __exit__(self, *_: object) -> None:
        self._step, self._running = "", None
        self._open.close()
        if not self._live:
            self._console.print(self._table())

    def step(self, what: str) -> None:
        self._step, self._since = what, monotonic()
        if not self._live:
            self._told(self._pair, what)

    def surveyed(self, found: Survey, cases: Sequence[Case]) -> None:
        self.topology = found.topology
        self._cases = cases
        self._console.print(Drawing(found.topology, findings=False))

    def added(self, cases: Sequence[Case]) -> None:
        self._cases = [*self._cases, *cases]

    def started(self, case: Case) -> None:
        self._running = case
        self.step(f"{self._cases.index(case) + 1} of {len(self._cases)}: {title(case)}")

    def finished(self, measured: Sequence[Measurement]) -> None:
        self._running = None
        self._measured += measured
        if not self._live:
            for each in measured:
                self._console.print(sentence(each), soft_wrap=True)

    def _drawn(self) -> RenderableType:
        if not self._step:
            return self._table()
        said = row(self._spinner, self._step, monotonic() - self._since)
        return Group(self._table(), said) if self._cases else said

    def _table(self) -> RenderableType:
        if not self._cases:
            return Text()
        plain = self._console.options.ascii_only
        return bandwidth.table(self._cases, self._measured, self._running, ascii_only=plain)
