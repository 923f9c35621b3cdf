"""The live screen of a measurement of more than two hosts: a matrix that fills, and the pairs of the round."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from time import monotonic

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from sparkrig.bandwidth.cluster_run import Edge
from sparkrig.bandwidth.measurement import Case, Measurement, kind
from sparkrig.bandwidth.tournament import Meeting
from sparkrig.fabric.cabling import Topology
from sparkrig.fabric.survey import Survey
from sparkrig.io import progress
from sparkrig.io.screen import Screen
from sparkrig.render import cluster
from sparkrig.render.matrix import Matrix, grids
from sparkrig.render.progress import row, spinner
from sparkrig.render.topology import Drawing


class MeasuringCluster:
    """Progress of sparkrig.io.cluster_check on a console; the matrix stays there when it ends.

    Where the console is none to be drawn on, it gets a line for what two hosts came to, and standard error what is
    being done.
    """

    topology: Topology

    def __init__(self, console: Console, names: Sequence[str]) -> None:
        self._console, self._names = console, names
        self._live = progress.lively(console)
        self._spinner = spinner(console)
        self._open = ExitStack()
        self._edges: list[Edge] = []
        self._measured: list[Measurement] = []
        self._rounds = 0
        self._busy: dict[Meeting, _Pair] = {}
        self._step, self._since = "", 0.0

    def __enter__(self) -> MeasuringCluster:
        if self._live:
            self._open.enter_context(Live(get_renderable=self._drawn, console=self._console, refresh_per_second=8))
        else:
            plain = Screen(stderr=True, force_interactive=False)
            self._told = self._open.enter_context(progress.hosts(["all hosts"], "Measuring", plain))
        return self

    def __exit__(self, *_: object) -> None:
        self._step, self._busy = "", {}
        self._open.close()
        if not self._live and self._edges:
            self._console.print(self._matrix())

    def step(self, what: str) -> None:
        self._step, self._since, self._busy = what, monotonic(), {}
        if not self._live:
            self._told("all hosts", what)

    def surveyed(self, found: Survey, edges: Sequence[Edge], rounds: int) -> None:
        self.topology = found.topology
        self._edges, self._rounds = [*edges], rounds
        self._console.print(Drawing(found.topology, findings=False))

    def round(self, number: int, meetings: Sequence[Meeting]) -> None:
        met = "; ".join(f"{one} and {other}" for one, other in meetings)
        self.step(f"round {number} of {self._rounds}: {met}")

    def meeting(self, hosts: Meeting) -> _Pair:
        self._busy[hosts] = _Pair(hosts, self._measured)
        return self._busy[hosts]

    def met(self, found: Sequence[Edge]) -> None:
        if not found:
            return
        self._busy.pop(found[0].hosts, None)
        done = {(edge.hosts, edge.number): edge for edge in found}
        self._edges = [done.get((edge.hosts, edge.number), edge) for edge in self._edges]
        if not self._live:
            self._console.print(cluster.sentence(found), soft_wrap=True)

    def _drawn(self) -> RenderableType:
        if not self._step:
            return self._matrix() if self._edges else Text()
        said = row(self._spinner, self._step, monotonic() - self._since)
        lines = [Text(f"  {pair.words}", "dim", no_wrap=True, overflow="ellipsis") for pair in self._busy.values()]
        return Group(self._matrix(), said, *lines) if self._edges else said

    def _matrix(self) -> RenderableType:
        return Matrix(self._names, grids(self._edges, self._measured))


class _Pair:
    """Receives the cases of two hosts while they measure."""

    def __init__(self, hosts: Meeting, measured: list[Measurement]) -> None:
        self._hosts, self._measured = hosts, measured
        self._case: Case | None = None

    @property
    def words(self) -> str:
        """What is measured just now."""
        if self._case is None:
            return " and ".join(self._hosts)
        return f"{self._case.sender} to {self._case.receiver}, {kind(self._case)}"

    def added(self, cases: Sequence[Case]) -> None:
        """The matrix has no cell more for them."""

    def started(self, case: Case) -> None:
        self._case = case

    def finished(self, measured: Sequence[Measurement]) -> None:
        self._case = None
        self._measured += measured
