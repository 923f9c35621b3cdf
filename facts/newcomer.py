"""All that is asked of a new Spark, in one look: what it is, and which cable is in which cage."""

from __future__ import annotations

from sparkrig.facts.nic import Nics
from sparkrig.facts.spark import NOUNS, Spark


class Newcomer(Spark):
    """Every noun of a Spark, and its NICs."""

    nouns = {**NOUNS, "nics": Nics}
