"""What is to be the same on all hosts, and is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sparkrig.checks.check import Check


def judged(found: Mapping[str, Sequence[Check]], cure: Callable[[Check], str]) -> dict[str, list[Check]]:
    """The checks by host, where those that are to be alike on all hosts and are not do not hold.

    cure: one command to try for such a check. Where no value has a majority, each of them may be the wrong one.
    """
    most = {
        id: values.most_common()
        for id in {check.id for checks in found.values() for check in checks if check.alike}
        if (values := Counter(c.found for checks in found.values() for c in checks if c.id == id and not c.wrong))
    }

    def judge(check: Check) -> Check:
        if not check.alike or check.wrong or len(most[check.id]) < 2:
            return check
        (usual, count), *rest = most[check.id]
        tie = any(other == count for _, other in rest)
        if not tie and check.found == usual:
            return check
        want = "the same on all hosts" if tie else f"{usual}, as most hosts have"
        return replace(check, want=want, status="drift", cure=cure(check), environment=True)

    return {name: [judge(check) for check in checks] for name, checks in found.items()}
