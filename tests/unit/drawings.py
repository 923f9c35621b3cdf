"""A drawing of a topology as a terminal shows it."""

from __future__ import annotations

import io

from sparkrig.fabric.cabling import Topology
from sparkrig.fabric.render.topology import Listing
from sparkrig.terminal.screen import Screen


def drawn(shown: Topology, width: int, encoding: str = "utf-8") -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict")
    Screen(file=file, width=width, legacy_windows=False, color_system=None).print(Listing(shown))
    file.flush()
    assert isinstance(file.buffer, io.BytesIO)
    return file.buffer.getvalue().decode(encoding).splitlines()
