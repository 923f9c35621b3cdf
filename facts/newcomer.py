"""All that is asked of a new Spark, in one look: what it is, and which cable is in which cage."""

from __future__ import annotations

from sparkrig.facts.bundle import Bundle
from sparkrig.facts.nic import Nics
from sparkrig.facts.spark import NOUNS
from sparkrig.look.state import State


class Newcomer(Bundle[State]):
    """Every noun of a Spark, and its NICs."""

    nouns = {**NOUNS, "nics": Nics}
    whole = State
