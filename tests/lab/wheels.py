"""The wheel of this checkout, and the versions of what it asks for."""

from __future__ import annotations

import re

from tests.lab.commands import ROOT


def constraints() -> str:
    """What pip reads as constraints: each version of the lock."""
    lock = (ROOT / "requirements.lock").read_text()
    return "\n".join(re.findall(r"^([\w.\[\]-]+==[^ ;\\]+)", lock, re.MULTILINE))
