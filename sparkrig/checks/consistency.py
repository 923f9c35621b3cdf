"""What is to be the same on all hosts, and is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from sparkrig.resources.check import Check


def judged(found: Mapping[str, Sequence[Check]], cure: Callable[[Check], str]) -> dict[str, list[Check]]:
    """The checks by host, where those that are to be alike on all hosts and are not do not hold.

    cure: one command to try for such a check. Where no value has a majority, each of them may be the wrong one.
    While a branch of the driver goes from host to host, all of this may differ as long as that may.
    """
    counts = _counts(check for checks in found.values() for check in checks)
    wants = {id: _wanted(values) for id, values in counts.items()}
    until = max((check.until for checks in found.values() for check in checks), default="")

    def judge(check: Check) -> Check:
        if not _counted(check) or check.found == wants[check.id].value:
            return check
        return replace(
            check, want=wants[check.id].words, status="drift", cure=cure(check), environment=True, until=until
        )

    return {
        name: [judge(check) if len(counts.get(check.id, ())) > 1 else check for check in checks]
        for name, checks in found.items()
    }


def _counted(check: Check) -> bool:
    """Whether its value is to be the same on all hosts, and nothing else is wrong with it."""
    return check.alike and not check.wrong


def _counts(checks: Iterable[Check]) -> dict[str, Counter[str]]:
    """How many hosts have each value, by check."""
    counts: dict[str, Counter[str]] = {}
    for check in filter(_counted, checks):
        counts.setdefault(check.id, Counter())[check.found] += 1
    return counts


class _Wanted(NamedTuple):
    """What hosts that differ should have: a value, None where none has a majority; and in words."""

    value: str | None
    words: str


def _wanted(counts: Counter[str]) -> _Wanted:
    (usual, count), *rest = counts.most_common()
    if any(other == count for _, other in rest):
        return _Wanted(None, "the same on all hosts")
    return _Wanted(usual, f"{usual}, as most hosts have")
