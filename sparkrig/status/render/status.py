"""One host for people: what it is set to, who works on it, what rolls back by itself, and its last runs."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sparkrig.runs.journal import Journal
from sparkrig.runs.render import journal as picture
from sparkrig.status.figures import Differs, Figures, Rail
from sparkrig.value import Unread

_MOST = 5  # as many differences are named; drift shows all of them


def host(name: str, figures: Figures | Unread, journal: Journal, runs: int, *, ascii_only: bool) -> RenderableType:
    """One host on a terminal."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in rows(figures):
        grid.add_row(f"  {label}", text)
    return Group(Text(name, "bold"), grid, picture.newest(journal, runs, ascii_only=ascii_only))


def lines(name: str, figures: Figures | Unread, found: Journal, runs: int) -> list[str]:
    """The same for a pipe: a line each, the host's name first."""
    state = [f"{name}: {label}: {text.plain}" for label, text in rows(figures)]
    return [*state, *picture.lines(name, found, runs)]


def rows(figures: Figures | Unread) -> Iterator[tuple[str, Text]]:
    """What a host is set to, a label and its figures each."""
    if isinstance(figures, Unread):
        yield "state", Text(f"not read: {figures.unread}", "red")
        return
    spark, box = figures.spark, figures.containers
    yield "machine", Text(spark.vendor)
    yield "system", Text(f"DGX OS {spark.dgx_os or '?'}, kernel {spark.kernel}")
    version = (figures.driver.version or "none").split("-")[0]
    yield "driver", Text(f"{version}, {figures.driver.held} packages held")
    toolkit = f"toolkit {box.toolkit}" if box.toolkit else "no toolkit"
    yield "containers", Text(f"{toolkit}, {'' if box.nvidia_runtime else 'no '}nvidia runtime in docker")
    if figures.environment is not None:
        yield "environment", Text(", ".join(figures.environment) or "no RDMA on this Spark")
    for rail in figures.rails:
        yield "rail", _rail(rail, figures.differs)
    for aspect in figures.differs[:_MOST]:
        style = "yellow" if aspect.status == "unknown" else "red"
        yield "differs", Text(f"{aspect.id}: {aspect.found} (declared: {aspect.want})", style)
    if len(figures.differs) > _MOST:
        yield "differs", Text(f"{len(figures.differs) - _MOST} more, which sparkrig drift shows", "red")


def _rail(rail: Rail, differs: list[Differs]) -> Text:
    if not rail.cabled:
        return Text(f"{rail.netdev}: uncabled")
    slot = "no RoCE GID" if rail.gid_index is None else f"GID {rail.gid_index}"
    text = f"{rail.netdev}: {rail.address}, MTU {rail.mtu}, {rail.device or 'no RDMA device'}, {slot}"
    if rail.gbps is None:
        return Text(f"{text}, not measured")
    doubtful = any(aspect.id == f"bandwidth.{rail.netdev}" for aspect in differs)
    return Text(f"{text}, {rail.gbps:.2f} Gb/s{' ?' if doubtful else ''}")
