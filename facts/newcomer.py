"""All that is asked of a new Spark, in one look: what it is, and which cable is in which cage."""

from __future__ import annotations

from typing import Any

from sparkrig.facts.bundle import Bundle
from sparkrig.facts.nic import Nics
from sparkrig.facts.spark import NOUNS
from sparkrig.look.state import State
from sparkrig.onboarding.proposal import Seen


class Newcomer(Bundle[Seen]):
    """Every noun of a Spark, and its NICs."""

    nouns = {**NOUNS, "nics": Nics}

    @staticmethod
    def whole(nics: Any, **nouns: Any) -> Seen:
        return Seen(State(**nouns), nics)
