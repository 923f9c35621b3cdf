"""The fault matrix: 48 faults, how each is made, and what is promised; the promises P1 to P10 by name.

Rows and numbers are those of the first fault list (the reliability notes, section 4); row 48 came later. Which
tests show a row stands at the tests: `@pytest.mark.fault(16)`. docs/faults.md is made of both
(tests/faults/table.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

PROMISES = {
    1: "The interface that SSH came in on is never changed without an explicit setting.",
    2: "A network change that fails is rolled back in time, even without the controller.",
    3: "A second run changes nothing.",
    4: "If a run is killed at any point, the next run reaches the state that the first would have reached.",
    5: "Verbs that only read write nothing on a host.",
    6: "A reboot between any two steps is safe.",
    7: "Docker with running containers is not restarted without permission.",
    8: "No secret in output, logs, reports or /tmp.",
    9: "What is unknown is reported as unknown.",
    10: "Every refusal and every failed check names one thing to try.",
}


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


_ROWS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
FAULTS = tuple(Fault(**{**row, "promises": tuple(row.get("promises", ()))}) for row in _ROWS)
