"""The wheel of this checkout, and the versions of what it asks for."""

from __future__ import annotations

import re
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).resolve().parents[1]


def wheel(folder: Path) -> Path:
    """The wheel, built into a folder."""
    (file,) = WheelBuilder(str(ROOT)).build(directory=str(folder))
    return Path(file)


def constraints() -> str:
    """What pip reads as constraints: each version of the lock."""
    lock = (ROOT / "requirements.lock").read_text()
    return "\n".join(re.findall(r"^([\w.\[\]-]+==[^ ;\\]+)", lock, re.MULTILINE))
