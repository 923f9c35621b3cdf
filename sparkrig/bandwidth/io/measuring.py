"""The live screen of a measurement: figures that fill on a terminal, lines in a pipe.

A pair has a table of all its cases, a cluster a matrix of its edges and a line for each two hosts that measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from time import monotonic

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from sparkrig.bandwidth import outcome
from sparkrig.bandwidth.measurement import Case, Edge, Measurement, sentence, title
from sparkrig.bandwidth.render import bandwidth
from sparkrig.bandwidth.render.matrix import Matrix, grids
from sparkrig.bandwidth.tournament import Meeting
from sparkrig.fabric.cabling import Topology
from sparkrig.fabric.render.topology import Listing
from sparkrig.fabric.survey import Survey
from sparkrig.render.progress import row, spinner
from sparkrig.terminal import progress
from sparkrig.terminal.screen import Screen


class Measuring:
    """Progress of sparkrig.bandwidth.io.fabric_check on a console; the figures stay there when it ends.

    Where the console is none to be drawn on, it gets the figures, and standard error what is being done.
    """

    topology: Topology

    def __init__(self, console: Console, names: Sequence[str]) -> None:
        self.of_two = len(names) == 2
        self._console, self._names = console, names
        self._who = " and ".join(names) if self.of_two else "all hosts"
        self._live = progress.lively(console)
        self._spinner = spinner(console)
        self._open = ExitStack()
        self._edges: list[Edge] = []
        self._measured: list[Measurement] = []
        self._rounds = 0
        self._meetings: dict[Meeting, _Meeting] = {}
        self._step, self._since = "", 0.0

    def __enter__(self) -> Measuring:
        if self._live:
            self._open.enter_context(Live(get_renderable=self._drawn, console=self._console, refresh_per_second=8))
        else:
            plain = Screen(stderr=True, force_interactive=False)
            self._told = self._open.enter_context(progress.hosts([self._who], "Measuring", plain))
        return self

    def __exit__(self, *_: object) -> None:
        self._step = ""
        for meeting in self._meetings.values():
            meeting.running = None
        self._open.close()
        if not self._live and self._edges:  # else nothing was reached, and there is no figure
            self._console.print(self._figures())

    def step(self, what: str) -> None:
        self._step, self._since = what, monotonic()
        if not self._live:
            self._told(self._who, what)

    def surveyed(self, survey: Survey, edges: Sequence[Edge], rounds: int) -> None:
        self.topology = survey.topology
        self._edges, self._rounds = [*edges], rounds
        self._console.print(Listing(survey.topology, findings=False))

    def round(self, number: int, meetings: Sequence[Meeting]) -> None:
        if not self.of_two:
            met = "; ".join(f"{one} and {other}" for one, other in meetings)
            self.step(f"round {number} of {self._rounds}: {met}")

    def meeting(self, hosts: Meeting, cases: Sequence[Case]) -> _Meeting:
        self._meetings[hosts] = _Meeting(self, cases)
        return self._meetings[hosts]

    def met(self, edges: Sequence[Edge]) -> None:
        done = {(edge.hosts, edge.number): edge for edge in edges}
        self._edges = [done.get((edge.hosts, edge.number), edge) for edge in self._edges]
        if not self._live and not self.of_two:
            self._console.print(outcome.sentence(edges), soft_wrap=True)

    def measured(self, shares: Sequence[Measurement]) -> None:
        """Figures of one case, which a pair has room for."""
        self._measured += shares
        for share in shares if self.of_two and not self._live else ():
            self._console.print(sentence(share), soft_wrap=True)

    def _drawn(self) -> RenderableType:
        if not self._step:
            return self._figures()
        said = row(self._spinner, self._step, monotonic() - self._since)
        busy = [meeting for meeting in self._meetings.values() if meeting.running and not self.of_two]
        lines = [Text(f"  {each.words}", "dim", no_wrap=True, overflow="ellipsis") for each in busy]
        return Group(self._figures(), said, *lines) if self._edges else said

    def _figures(self) -> RenderableType:
        if not self.of_two and self._edges:
            return Matrix(self._names, grids(self._edges, self._measured))
        plain = self._console.options.ascii_only
        for meeting in self._meetings.values():
            return bandwidth.table(meeting.cases, self._measured, meeting.running, ascii_only=plain)
        return Text()


class _Meeting:
    """Receives the cases of two hosts while they measure."""

    def __init__(self, screen: Measuring, cases: Sequence[Case]) -> None:
        self.cases = [*cases]
        self.running: Case | None = None
        self._screen = screen

    @property
    def words(self) -> str:
        """What is measured just now."""
        if self.running is None:
            return ""
        return f"{self.cases.index(self.running) + 1} of {len(self.cases)}: {title(self.running)}"

    def added(self, cases: Sequence[Case]) -> None:
        self.cases += cases

    def started(self, case: Case) -> None:
        self.running = case
        if self._screen.of_two:
            self._screen.step(self.words)

    def finished(self, measured: Sequence[Measurement]) -> None:
        self.running = None
        self._screen.measured(measured)
