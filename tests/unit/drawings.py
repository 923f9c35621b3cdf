"""A drawing of a topology as a terminal shows it."""

from __future__ import annotations

import io

from rich.console import Console

from sparkrig.fabric.cabling import Topology
from sparkrig.fabric.render.topology import Listing


def drawn(shown: Topology, width: int, encoding: str = "utf-8") -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict")
    Console(file=file, width=width, legacy_windows=False, color_system=None).print(Listing(shown))
    file.flush()
    assert isinstance(file.buffer, io.BytesIO)
    return file.buffer.getvalue().decode(encoding).splitlines()
