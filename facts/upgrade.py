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
        within: int = 240,
        more: Iterable[str] = (),
    ) -> str:
        """The forecast.

        + released: names of held packages that would be released first
        + limits: apt preferences that would come first
        + alone: names of packages that alone are to be upgraded, with what they need; all for none
        + held: names of packages that would be held, as a deploy does, besides those that are
        + within: seconds that it may take
        + more: what is asked for besides, as NAME=VERSION, NAME, or `NAME-` for what goes
        """
        whole = ["dist-upgrade", *(["--allow-downgrades", *more] if more else [])]
        words = " ".join(["install --only-upgrade", *alone] if alone else whole)
        given = {"released": _spaced(released), "held": _spaced(held), "limits": limits, "what": words}
        rows = [f"{name}={shlex.quote(value)}" for name, value in given.items()]
        return "\n".join([PREAMBLE, *rows, f"within={within:d}", self.script])


def _spaced(names: Iterable[str]) -> str:
    return f" {' '.join(names)} "
