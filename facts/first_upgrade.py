"""NVIDIA's own upgrade at the first start of a Spark."""

from __future__ import annotations

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import first_upgrade

LOOK = programs.text("facts/first_upgrade_look.sh").removesuffix("\n")


class FirstUpgrade(Noun[first_upgrade.FirstUpgrade]):
    """The unit, its mark, and the boot that they are of."""

    parse = staticmethod(first_upgrade.parse)
    script = programs.text("facts/first_upgrade.sh")
