"""Why perftest failed, by its own words, which models/errors.yaml has."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sparkrig.signatures import Signature, first, table
from sparkrig.verdict import Verdict

_MEMLOCK = re.compile(r"RLIMIT_MEMLOCK is \d+ bytes")

_RAISE_MEMLOCK = "raise memlock to unlimited, in /etc/security/limits.d or in the unit"

# IBV_WC_* of libibverbs, in words. perftest up to 25.01 prints the number alone.
_STATUS = re.compile(
    r"Failed status[ -](?:.{0,200} \()?(?P<status>\d+)\)?:(?:.{0,200}syndrome? (?P<syndrome>0x[0-9a-fA-F]+))?|"
    r"Bad wc status (?:-- )?(?P<other>\d+)"
)

# The code of a ConnectX's firmware, for a text without the status. 0x81: the acknowledgement did not come.
_SYNDROME = re.compile(r"syndrome? (0x[0-9a-fA-F]+)")

_BY_SYNDROME = {"0x81": 12}


def failure(text: str, *, measured: bool = False) -> Verdict | None:
    """Why perftest failed, from the words of one end; None where it complains of nothing.

    measured: the text has a figure and may have other people's words too, so that only what can follow a figure
    counts. Warnings, as that of a CPU frequency that is not at its maximum, are no failure. A row may stand in the
    text all the same: a test that failed after it has measured nothing reliable. Level "unknown" means that the
    link itself is neither proved nor disproved.
    """
    causes, consequences = (
        [each for each in table(tool) if not (measured and each.early)]
        for tool in ("perftest", "perftest consequence")
    )
    return _told(causes, text) or _completion(text) or _told(consequences, text)


def _told(signatures: Iterable[Signature], text: str) -> Verdict | None:
    found = first(signatures, text)
    if found is None:
        return None
    signature, words = found
    limit = _MEMLOCK.search(text) if signature.cause == "memory-refused" else None
    said, cure = (limit.group(), _RAISE_MEMLOCK) if limit else (_short(words), signature.cure)
    return Verdict(signature.level, signature.cause, f"{signature.meaning}: {said}", cure)


def _completion(text: str) -> Verdict | None:
    """What a message that did not arrive means; None where all did."""
    found = _STATUS.search(text)
    if not found and "ompletion with error" not in text:
        return None
    status = int(found["status"] or found["other"]) if found else _status_of_syndrome(text)
    completions = table("perftest completion")
    known = next((completion for completion in completions if status in completion.statuses), completions[-1])
    syndrome = f", syndrome {found['syndrome']}" if found and int(found["syndrome"] or "0", 16) else ""
    figures = f" (completion status {status}{syndrome})" if found else ""
    return Verdict("fault", known.cause, f"{known.meaning}{figures}", known.cure)


def _status_of_syndrome(text: str) -> int:
    found = _SYNDROME.search(text)
    return _BY_SYNDROME.get(found[1].lower(), 0) if found else 0


def _short(words: str) -> str:
    words = words.strip(" .")
    return words if len(words) <= 100 else f"{words[:99]}…"
