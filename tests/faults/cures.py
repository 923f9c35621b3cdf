"""The cures of all kinds of check: a state that makes drift print each, or why none is executed on a guest.

test_cures.py executes them. tests/unit/test_faults.py finds a kind that is missing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.tables import data


@dataclass(frozen=True)
class Printed:
    """A cure that can be executed.

    id: the check of drift that prints it; state: the shell line on spark-b that makes it.
    """

    id: str
    state: str


# by kind (sparkrig.checks.reference.KINDS): what makes it, or why its cure is executed on no guest
CURES: Mapping[str, tuple[Printed, ...] | str] = {
    kind: cures if isinstance(cures, str) else tuple(Printed(**cure) for cure in cures)
    for kind, cures in data(__file__).items()
}
