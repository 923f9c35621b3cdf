"""The one way in which this toolkit refuses."""

from __future__ import annotations

from dataclasses import dataclass

from sparkrig.cure import Cure, from_here
from sparkrig.text import lines, plain

SAID = "Refused: "
"""What a host's line in a run of pyinfra begins with, where nothing more is done there."""


BUSY = "goes on"
"""What a host's line in a run of pyinfra ends with, before the seconds, where a step takes a while."""


@dataclass(frozen=True)
class Refused:
    """Why nothing is done, and one thing to try."""

    what: str
    cure: str


class Refusal(Exception):
    """A host or a setting that must not be acted upon.

    what: one sentence, without the host's name: what was found, and what was expected.
    cure: one command or edit to try.
    Both may have words of a host in them, and are made plain.
    """

    def __init__(self, what: str, cure: str) -> None:
        self.what, self.cure = plain(what), cure if isinstance(cure, Cure) else lines(cure)
        super().__init__(self.what, self.cure)

    def of(self, host: str) -> Refusal:
        """The same of a host that is named beside it: its command is one for the machine that runs sparkrig."""
        return Refusal(self.what, from_here(self.cure, host))

    @property
    def told(self) -> Refused:
        """The same for programs."""
        return Refused(self.what, self.cure)

    def __str__(self) -> str:
        return f"{self.what}. Nothing was changed by this step. Try: {self.cure}"
