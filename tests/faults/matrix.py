"""The fault matrix (matrix.yaml): how each fault is made, and what is promised; the promises P1 to P10 by number.

Which tests show a row stands at the tests: `@pytest.mark.fault(16)`. docs/faults.md is made of both
(tests/faults/table.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.tables import data

_TABLE = data(__file__)
PROMISES: dict[int, str] = _TABLE["promises"]


@dataclass(frozen=True)
class Fault:
    """One row: what goes wrong, how a test makes it, what is promised.

    promises: the P numbers that it touches; missing: why no test injects it as it would happen on a Spark, or
    what the test cannot show, empty where it is injected as described.
    """

    number: int
    name: str
    injected: str
    promise: str
    promises: tuple[int, ...] = ()
    missing: str = ""


FAULTS = tuple(Fault(**{**row, "promises": tuple(row.get("promises", ()))}) for row in _TABLE["faults"])
