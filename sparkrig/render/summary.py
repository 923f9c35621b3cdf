"""What each Spark is set to, on one screen."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from sparkrig.host.preflight import lost_journal
from sparkrig.reports.summary import Driver, Figures, Rail
from sparkrig.value import Unread

_WIDE = 1000  # columns, more than any table has
# each of these fields of a rail is a column of the screen, and what a complaint is filed under
_COLUMNS = {"address": "address", "mtu": "MTU", "device": "device", "gid_index": "GID", "gbps": "Gb/s"}
_NUMBERS = ("mtu", "gid_index", "gbps")


def panel(name: str, row: Figures | Unread) -> RenderableType:
    title = Text(name, "bold")  # a string would be read as markup here, whatever the console is set to
    if isinstance(row, Unread):
        return Panel(f"not read: {row.unread}", title=title, title_align="left", border_style="red")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for label, text in _lines(row):
        grid.add_row(label, text)
    complaints = Table.grid(padding=(0, 1))
    for rail in row.rails:
        for mark, told in ((Text("✗", "red"), rail.wrong), (Text("?", "yellow"), rail.doubts)):
            if told:
                complaints.add_row(mark, f"{rail.netdev}: {'; '.join(told)}")
    parts: list[RenderableType] = [grid, "", _Rails(row.rails)] if row.rails else [grid]
    if complaints.row_count:
        parts.append(complaints)
    return Panel(Group(*parts), title=title, title_align="left", border_style="cyan")


def _lines(row: Figures) -> list[tuple[str, RenderableType]]:
    spark, box, variables = row.spark, row.containers, row.environment
    toolkit = f"toolkit {box.toolkit}" if box.toolkit else ("✗ no toolkit", "red")
    runtime = "nvidia runtime in docker"
    lines: str | tuple[str, str] = ("✗ not written", "red")
    if variables is not None:
        lines = " ".join(variables) or "no RDMA on this Spark"
    return [
        *(("network", Text(f"✗ {each}", "red")) for each in row.unconfirmed),
        *([("journal", Text(f"✗ {lost_journal().what}", "red"))] if row.journal_lost else []),
        ("spark", spark.vendor),
        ("system", f"DGX OS {spark.dgx_os or '?'} · kernel {spark.kernel}"),
        ("driver", _driver(row.driver)),
        (
            "containers",
            Text.assemble(toolkit, " · ", runtime if box.nvidia_runtime else (f"✗ no {runtime}", "red")),
        ),
        ("environment", Text.assemble(lines)),
    ]


def _driver(row: Driver) -> Text:
    parts: list[str | tuple[str, str]] = [(row.version or "none").split("-")[0]]
    if row.unheld:
        parts.append((f"✗ {row.held} of {row.held + len(row.unheld)} packages held", "red"))
    else:
        parts.append(f"{row.held} packages held")
    if row.later:
        parts.append((f"✗ later than the branch: {', '.join(row.later)}", "red"))
    if row.would_move is None:
        parts.append((f"? apt could not simulate an upgrade ({row.trouble})", "yellow"))
    elif row.would_move:
        parts.append((f"✗ an upgrade moves {len(row.would_move)}", "red"))
    else:
        parts.append("an upgrade moves none")
    return Text(" · ").join(Text.assemble(part) for part in parts)


class _Rails:
    """The rails of a host as a table, and where that does not fit, one below the other, a figure a line."""

    def __init__(self, rails: Sequence[Rail]) -> None:
        self.rails = rails

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = self.table()
        wanted = Measurement.get(console, options.update(width=_WIDE), table).maximum  # else cut to what there is
        yield table if wanted <= options.max_width else self.below()

    def table(self) -> Table:
        table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
        table.add_column("rail", no_wrap=True)
        for field, heading in _COLUMNS.items():
            table.add_column(heading, justify="right" if field in _NUMBERS else "left", no_wrap=True)
        for rail in self.rails:
            table.add_row(rail.netdev, *self.cells(rail))
        return table

    def below(self) -> Table:
        grid = Table.grid(padding=(0, 2))
        for rail in self.rails:
            headings = _COLUMNS.values() if rail.cabled else ("",)
            grid.add_row(Text("rail", "bold"), Text(rail.netdev, "bold"))
            for heading, cell in zip(headings, self.cells(rail), strict=True):
                grid.add_row(heading, cell)
        return grid

    @staticmethod
    def cells(rail: Rail) -> list[Text]:
        if rail.cabled:
            return [_cell(rail, field) for field in _COLUMNS]
        return [Text("uncabled ✗", "red") if rail.complaints else Text("uncabled", "dim")]


def _cell(rail: Rail, field: str) -> Text:
    value = getattr(rail, field)
    text = "none" if value is None else f"{value:.2f}" if field == "gbps" else str(value)
    if field in rail.unknown:
        return Text(f"{text} ?", "yellow")
    if field in rail.complaints:
        return Text(f"{text} ✗", "red")
    return Text.assemble(f"{text} ", ("✓", "green")) if field == "gbps" and value is not None else Text(text)
