"""Every resource of a host in one look: what a Spark is."""

from __future__ import annotations

import shlex
from typing import Any

from sparkrig.facts.bundle import Bundle
from sparkrig.facts.files import Files
from sparkrig.facts.noun import Noun
from sparkrig.facts.preflight import Preflight
from sparkrig.facts.resources import FACTS
from sparkrig.facts.serving import Serving
from sparkrig.resources.state import State

NOUNS: dict[str, type[Noun[Any]]] = {**FACTS, "serving": Serving, "files": Files, "preflight": Preflight}


class Spark(Bundle[State]):
    """All nouns, read by one command."""

    nouns = NOUNS
    whole = State.of
    last = "preflight"

    def command(self, weights: str = "", service: str = "") -> str:
        """Everything.

        + weights: their folder, where a model is asked for; else a host that serves none is not looked at
        + service: the name of one that may be new there
        """
        given = f"weights={shlex.quote(weights)} served={shlex.quote(service)}"
        return f"{given}; export weights served\n{self.look(('serving',) if weights else ())}"
