"""Inventories of the virtual Sparks with other settings."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.lab.commands import ROOT


def inventory_with(folder: Path, more: str, name: str = "lab") -> str:
    """A copy of an inventory of the lab whose hosts have more data, as Python text; `lab` is that of the pair."""
    shutil.copytree(ROOT / "inventories", folder / "inventories")
    file = folder / "inventories" / f"{name}.py"
    text = file.read_text()
    old = "**_host_data(name)}"
    assert old in text
    file.write_text(text.replace(old, f"**_host_data(name), {more}}}"))
    return str(file)
