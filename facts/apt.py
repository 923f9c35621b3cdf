"""Who holds apt's locks."""

from __future__ import annotations

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import apt


class Holders(Noun[tuple[apt.Holder, ...]]):
    """The processes that hold a lock of apt's now."""

    parse = staticmethod(apt.parse)
    script = programs.text("facts/apt.sh")
