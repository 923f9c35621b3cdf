"""What lies on the disks for serving, and what this toolkit did to the host, which may need some of it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from sparkrig import programs
from sparkrig.facts.bundle import Bundle
from sparkrig.facts.journal import Journal as JournalFact
from sparkrig.facts.noun import Noun
from sparkrig.runs.journal import Journal
from sparkrig.settings import DEFAULTS
from sparkrig.storage import storage
from sparkrig.value import Value


class Storage(Noun[storage.Storage]):
    """Checkpoints, docker's images and containers, caches of ours, and the room. $weights: the folder."""

    parse = staticmethod(storage.parse)
    script = programs.text("facts/storage.sh")


@dataclass(frozen=True)
class Disk(Value):
    """Both."""

    journal: Journal
    storage: storage.Storage


class Disks(Bundle[Disk]):
    """Both, read by one command."""

    nouns = {"journal": JournalFact, "storage": Storage}
    whole = Disk

    def command(self, weights: str = DEFAULTS["weights"]) -> str:
        """+ weights: the folder of the checkpoints"""
        return f"weights={shlex.quote(weights)}; export weights\n{super().command()}"
