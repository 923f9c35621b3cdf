"""The GID tables of a group: every used slot of every fabric device, and what each is to the rails."""

from __future__ import annotations

from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from sparkrig.fabric.survey import Survey
from sparkrig.rdma import environment, gid, gid_table


def tables(found: Survey) -> Iterator[Table]:
    """One for each host that has a device.

    `rail` marks the address that is declared, `env` the index that the environment files carry. They belong on one
    line.
    """
    for name, fabric in found.found.items():
        if fabric.rdma.gids:
            yield _table(found, name, fabric.rdma.gids)


def _table(found: Survey, name: str, slots: tuple[gid.Gid, ...]) -> Table:
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    grid.add_column("GIDs of", no_wrap=True)
    grid.add_column(name, no_wrap=True)
    grid.add_column("#", justify="right", no_wrap=True)
    for heading in ("RoCE", "address", "used by"):
        grid.add_column(heading, no_wrap=True)
    last = ""
    for slot in slots:
        head = (slot.netdev, slot.device) if slot.device != last else ("", "")
        last = slot.device
        used = " ".join(_users(found, name, slot))
        address = Text(str(slot.ipv4 or slot.address), "bold" if used else "")
        grid.add_row(*head, str(slot.index), slot.type.rpartition(" ")[2], address, Text(used, "green"))
    return grid


def _users(found: Survey, name: str, slot: gid.Gid) -> Iterator[str]:
    declared = found.fleet[name].fabric.get(slot.netdev)
    if declared is None:
        return
    if slot.ipv4 == declared.ip and slot.type == gid.ROCE_V2:
        yield "rail"
    file = found.found[name].files.get(environment.CONTAINER_ENV)
    if file and gid_table.written_index(file.content) == slot.index:
        yield "env"
