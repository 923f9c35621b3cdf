"""Inventories of the virtual pair with other settings."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.lab.commands import ROOT


def inventory_with(folder: Path, more: str) -> str:
    """A copy of the lab's inventory whose hosts have more data, as Python text."""
    shutil.copytree(ROOT / "inventories", folder / "inventories")
    file = folder / "inventories" / "lab.py"
    text = file.read_text()
    old = "**_host_data(name)}"
    assert old in text
    file.write_text(text.replace(old, f"**_host_data(name), {more}}}"))
    return str(file)
