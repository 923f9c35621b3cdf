"""What `sparkrig status` asks a host: its journal, and what it is, in one look."""

from __future__ import annotations

from pyinfra.api.exceptions import FactProcessError

from sparkrig.facts.bundle import Bundle
from sparkrig.facts.journal import Journal as JournalNoun
from sparkrig.facts.spark import NOUNS, Spark
from sparkrig.resources.state import State
from sparkrig.runs.journal import Journal


class Status(Bundle[tuple[Journal, State | FactProcessError]]):
    """The journal, first: it shows what broke off, also where the rest of the look hangs or is not understood."""

    nouns = {"runs": JournalNoun, **NOUNS}

    def __init__(self, seconds: int) -> None:
        self.limit_s = seconds

    def process(self, output: list[str]) -> tuple[Journal, State | FactProcessError]:
        rows = self.parts(output)["runs"]
        if isinstance(rows, FactProcessError):
            raise rows
        journal = JournalNoun().process(rows)
        try:
            return journal, Spark().process(output)
        except FactProcessError as error:
            return journal, error
