"""What an owner sends of a host, collected over one connection; it looks and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyinfra.api import FactBase, Host

from sparkrig.facts.evidence import WHOLE_S, Evidence
from sparkrig.facts.evidence import Identifiers as IdentifiersFact
from sparkrig.facts.journal import Journal
from sparkrig.facts.startup import Startup
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Keep, Lost
from sparkrig.support.archive import Identifiers, Part

_LOOK_S = 90  # of a small look; the log of a served model takes the longest


@dataclass(frozen=True)
class Collected:
    """What was collected of one host. missing: sentences on what was not."""

    identifiers: Identifiers
    parts: Mapping[str, Part]
    missing: tuple[str, ...]


def limit_s(patience: float) -> int:
    """How long a host may take for all of it, in seconds."""
    return int((WHOLE_S + 4 * _LOOK_S) * patience)


def collect(at: Host, patience: float, keep: Keep) -> Collected:
    """All that is asked for the archive alone. keep: is given what each look printed.

    Raises Failed or Lost where the host's own identifiers cannot be read: without them nothing of it may be kept.
    """
    identifiers = remote.read(at, IdentifiersFact(), seconds=int(_LOOK_S * patience))
    missing: list[str] = []
    looks: tuple[FactBase[Any], ...] = (Journal(), Startup())
    for fact in looks:
        name = type(fact).__name__.lower()
        try:
            keep(at.name, name, remote.printed(at, fact, seconds=int(_LOOK_S * patience)))
        except (Failed, Lost) as error:
            missing.append(f"{at.name}: the look {name}: {error}")
    parts: dict[str, Part] = {}
    try:
        parts = remote.read(at, Evidence(), seconds=int(WHOLE_S * patience))
    except (Failed, Lost) as error:
        missing.append(f"{at.name}: tools and journals: {error}")
    return Collected(identifiers, parts, tuple(missing))
