"""What serves a model, and what it needs: the unit, images, weights, room."""

from __future__ import annotations

import shlex

from sparkrig import programs
from sparkrig.facts.noun import PREAMBLE, Noun
from sparkrig.serving import served


class Serving(Noun[served.Serving]):
    """All of it. weights: the folder that the settings name, empty for the one of a host that serves."""

    parse = staticmethod(served.parse)
    default = served.Serving
    script = programs.text("facts/serving.sh")
    shared = (programs.text("facts/docker_about.sh"),)

    def command(self, weights: str = "") -> str:
        return f"{PREAMBLE}\nweights={shlex.quote(weights)}\n{self.script}"
