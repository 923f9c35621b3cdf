"""The GID tables of a group: every used slot of every fabric device, and what each is to the rails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from sparkrig.fabric.survey import Survey
from sparkrig.network import environment, gid, gid_table

_ANY = 1000  # columns: more than a table has


def tables(survey: Survey) -> Iterator[Gids]:
    """One for each host that has a device."""
    for name, fabric in survey.found.items():
        if fabric.rdma.gids:
            yield Gids(survey, name, fabric.rdma.gids)


class Gids:
    """The table of a host for rich's console; a list, where the screen is too narrow for a table.

    `rail` marks the address that is declared, `env` the index that the environment files carry. They belong on one
    line.
    """

    def __init__(self, found: Survey, name: str, slots: tuple[gid.Gid, ...]) -> None:
        self.name = name
        self.rows = [_row(found, name, slot) for slot in slots]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = self._table()
        wide = console.measure(table, options=options.update(max_width=_ANY)).minimum
        if wide <= options.max_width:
            yield table
        else:
            yield from self._listed()

    def _table(self) -> Table:
        grid = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
        grid.add_column("GIDs of", no_wrap=True)
        grid.add_column(self.name, no_wrap=True)
        grid.add_column("#", justify="right", no_wrap=True)
        for heading in ("RoCE", "address", "used by"):
            grid.add_column(heading, no_wrap=True)
        for head, row in self._headed():
            grid.add_row(*(head or ("", "")), row.index, row.version, row.address, Text(row.used, "green"))
        return grid

    def _listed(self) -> Iterator[Text]:
        yield Text.assemble("GIDs of ", (self.name, "bold"))
        for head, row in self._headed():
            if head:
                yield Text("  ".join(head))
            used = (f"  {row.used}", "green") if row.used else ""
            yield Text.assemble(f"  {row.index} {row.version} ", row.address, used, overflow="fold")

    def _headed(self) -> Iterator[tuple[tuple[str, str] | None, _Row]]:
        """Each row, with netdev and device where another one begins."""
        last = None
        for row in self.rows:
            yield (row.head if row.head != last else None), row
            last = row.head


@dataclass(frozen=True)
class _Row:
    """A slot. head: netdev and device; version: of RoCE."""

    head: tuple[str, str]
    index: str
    version: str
    address: Text
    used: str


def _row(survey: Survey, name: str, slot: gid.Gid) -> _Row:
    used = " ".join(_users(survey, name, slot))
    address = Text(str(slot.ipv4 or slot.address), "bold" if used else "")
    return _Row((slot.netdev, slot.device), str(slot.index), slot.type.rpartition(" ")[2], address, used)


def _users(survey: Survey, name: str, slot: gid.Gid) -> Iterator[str]:
    declared = survey.fleet[name].fabric.get(slot.netdev)
    if declared is None:
        return
    if slot.ipv4 == declared.ip and slot.type == gid.ROCE_V2:
        yield "rail"
    file = survey.found[name].files.get(environment.CONTAINER_ENV)
    if file and gid_table.written_index(file.content) == slot.index:
        yield "env"
