"""Breaks the product in one place at a time, and expects a test to see it: python -m tests.mutations [NAME...]

mutations.yaml has what is broken and the test that must fail then. NAME is a piece of a name, or a topic. Nothing
of the checkout itself is changed: a copy of it is broken, and the tests run there. The score of a run over the
whole list is recorded for docs/faults.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.faults.record import commit
from tests.mutations import score
from tests.mutations.copies import FAILED, PASSED, ROOT, Copy
from tests.mutations.score import NAMED, Score
from tests.tables import data

LIST = Path(__file__).with_name("mutations.yaml")


@dataclass(frozen=True)
class Mutation:
    """One text of one file that is replaced by another. survives: why no test fails, where none does."""

    name: str
    topic: str
    file: str
    old: str
    new: str
    test: str
    survives: str = ""


def main(words: Sequence[str]) -> int:
    """Check the mutations that are meant; 1 where one is not as the list says."""
    listed = [Mutation(**row) for row in data(LIST)]
    chosen = [each for each in listed if not words or any(w == each.topic or w in each.name for w in words)]
    stale = [each for each in chosen if (ROOT / each.file).read_text(encoding="utf-8").count(each.old) != 1]
    for each in stale:
        print(f"stale     {each.topic}: {each.name}: its text is not in {each.file} exactly once")
    if stale or not chosen:
        print(f"{len(chosen)} mutations meant, {len(stale)} stale; nothing was run")
        return 1
    with TemporaryDirectory(prefix="sparkrig-mutations-") as name:
        copy = Copy(Path(name).resolve())
        if strangers := copy.strangers():
            print(f"not of the copy: {' '.join(strangers)}")
            return 1
        if copy.test([each.test for each in chosen], quiet=False) != PASSED:
            print("the tests fail without any mutation")
            return 1
        wrong = [each for number, each in enumerate(chosen, 1) if not _as_listed(copy, each, number)]
    print(f"{len(chosen)} mutations, {len(wrong)} not as listed")
    if chosen == listed:
        score.save([_score(listed, wrong)])
    return 1 if wrong else 0


def _score(listed: Sequence[Mutation], wrong: Sequence[Mutation]) -> Score:
    explained = sum(bool(each.survives) and each not in wrong for each in listed)
    return Score(
        module=NAMED,
        mutants=len(listed),
        killed=len(listed) - explained - len(wrong),
        explained=explained,
        open=len(wrong),
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        commit=commit(),
    )


def _as_listed(copy: Copy, mutation: Mutation, number: int) -> bool:
    """Whether a mutation is killed, or survives where the list says so; one line tells."""
    began = time.monotonic()
    with copy.broken(mutation.file, copy.text(mutation.file).replace(mutation.old, mutation.new), number):
        code = copy.test([mutation.test])
    word = {PASSED: "survived", FAILED: "killed"}.get(code, f"exit {code}")
    right = code == (PASSED if mutation.survives else FAILED)
    tail = "" if right else f"  <- not as listed: {mutation.test}"
    print(f"{word:9} {time.monotonic() - began:4.1f} s  {mutation.topic}: {mutation.name}{tail}", flush=True)
    return right


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
