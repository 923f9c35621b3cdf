"""The GID tables: on every width, each device, index and address is there in full."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from sparkrig.fabric.render import gids
from tests.unit.surveys import surveyed


def screen(width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    for table in gids.tables(surveyed()):
        console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [200, 80, 60, 40])
def test_nothing_is_cut(width: int) -> None:
    lines = screen(width)
    assert max(map(len, lines)) <= width
    words = set(" ".join(lines).split())
    for fabric in surveyed().found.values():
        for slot in fabric.rdma.gids:
            assert {slot.netdev, slot.device, str(slot.index), str(slot.ipv4 or slot.address)} <= words, slot


def test_a_table_where_it_has_room_and_a_list_where_it_has_none() -> None:
    assert "used by" in screen(80)[0] and screen(40)[0] == "GIDs of spark-a"
    assert "  1 v2 192.168.100.11  rail env" in screen(40)
