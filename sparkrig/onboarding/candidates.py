"""Which of the machines that announce themselves on the network may be a Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sparkrig.refusal import Refusal
from sparkrig.text import listed

# Factory names as they are seen in the field: spark-1a2b, gx10-9641 (ASUS), promaxgb10-... (Dell), zgx-... (HP)
_LIKELY = re.compile(r"spark|gx10|gb10|promax|zgx|thinkstationpgx|edgexpert|atom|gn100", re.IGNORECASE)
_BY_HAND = (
    "sparkrig onboard USER@ADDRESS; the Spark's screen shows its name at the first start, and without one your "
    "router lists it, or `hostname` tells it in a session that you have there"
)


@dataclass(frozen=True, order=True)
class Candidate:
    """A machine that offers ssh. name: as it announces itself (spark-1a2b.local); addresses: its IPv4 ones."""

    name: str
    addresses: tuple[str, ...]
    port: int = 22

    @property
    def likely(self) -> bool:
        """Whether its name is one that Sparks come with."""
        return bool(_LIKELY.search(self.name.split(".")[0]))


def ordered(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Each machine once, those that look like a Spark first."""
    return sorted(set(candidates), key=lambda candidate: (not candidate.likely, candidate))


def only(candidates: Iterable[Candidate]) -> Candidate:
    """The one that looks like a Spark. Raises Refusal where it is not exactly one."""
    known = ordered(candidates)
    likely = [each for each in known if each.likely]
    if len(likely) != 1:
        names = listed(candidate.name for candidate in likely or known) or "nothing that offers ssh"
        count = len(likely) or "none"
        raise Refusal(f"exactly one Spark is expected on this network, and {count} showed up ({names})", _BY_HAND)
    return likely[0]
