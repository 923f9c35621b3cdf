"""apt's forecast of an upgrade past the hold."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from sparkrig import programs
from sparkrig.facts.noun import PREAMBLE, Noun
from sparkrig.host import upgrade


class Upgrade(Noun[upgrade.Upgrade]):
    """What a dist-upgrade would do once these packages are released; nothing is changed."""

    parse = staticmethod(upgrade.parse)
    script = programs.text("facts/upgrade.sh")

    def command(self, released: Iterable[str] = (), limits: str = "") -> str:
        """The forecast.

        + released: names of held packages that would be released first
        + limits: apt preferences that would come on top
        """
        names = shlex.quote(f" {' '.join(released)} ")
        return f"{PREAMBLE}\nreleased={names}\nlimits={shlex.quote(limits)}\n{self.script}"
