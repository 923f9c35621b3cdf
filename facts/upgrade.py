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

    def command(
        self,
        released: Iterable[str] = (),
        limits: str = "",
        alone: Iterable[str] = (),
        held: Iterable[str] = (),
        seconds: int = 500,
    ) -> str:
        """The forecast.

        + released: names of held packages that would be released first
        + limits: apt preferences that would come on top
        + alone: names of packages that alone are to be upgraded, with what they need; all for none
        + held: names of packages that would be held
        + seconds: for all of it; each of its two questions has less than a half
        """
        names, kept = (shlex.quote(f" {' '.join(each)} ") for each in (released, held))
        words = " ".join(["install --only-upgrade", *alone]) if alone else "dist-upgrade"
        given = f"released={names}\nheld={kept}\nlimits={shlex.quote(limits)}\nwhat={shlex.quote(words)}"
        given += f"\nseconds={max(1, int(seconds * 0.45))}"
        return f"{PREAMBLE}\n{given}\n{self.script}"
