"""Mutates modules in one place at a time, and counts what their tests find: python -m tests.mutations.mutate

Pieces of paths of tests/mutations/score.py MODULES may follow; without one all are meant. Every mutant is a copy
of the checkout with one change (tests/mutations/operators.py), in which the tests of the module are run until one
fails; tests that do not end in time count as failed. A mutant that no test finds is a survivor: it needs a test,
or a row in survivors.yaml that says why none can find it. Results are kept in build/mutate by the text of the
mutant and of the tests, so that a run that was broken off goes on where it was; a score is recorded for each
module that was run whole.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory, gettempdir

import yaml

from tests.faults.record import commit
from tests.mutations import score
from tests.mutations.copies import PASSED, ROOT, Copy
from tests.mutations.operators import Mutant, mutants
from tests.mutations.score import FROZEN, MODULES, Score

SURVIVORS = Path(__file__).with_name("survivors.yaml")
KEPT = ROOT / "build" / "mutate"
RECORD = score.FILE
CANARY = 'raise RuntimeError("the canary of tests/mutations")\n'
LEAST_LIMIT_S, LIMIT_FACTOR = 30, 5  # of what the tests take without a mutant
MEMORY_KIB = 4 * 1024 * 1024
# What no mutant needs costs time in each: plugins are named, not looked for.
OPTIONS = ("-p", "pytest_timeout")
# A mutant is a program that nobody read. Where root runs it, it may write to the temporary folder alone.
LEAN = f'ulimit -v {MEMORY_KIB}; exec "$@"'
JAIL = f'mount --bind "$0" "$0" && mount -o remount,bind,ro / && {LEAN}'


class Stop(Exception):
    """Nothing can be concluded, for the reason that is given."""


@dataclass(frozen=True)
class Explained:
    """A survivor, and why no test can find it. at: the definition around it; old, new: the changed lines."""

    file: str
    at: str
    old: str
    new: str
    why: str


class Kept:
    """The results of one module in build/mutate, a line a mutant; each is written as it is known."""

    def __init__(self, file: Path, tests: str, anew: bool) -> None:
        """tests: a digest of the tests; anew: what other tests killed is not taken for killed."""
        self._file, self._tests = file, tests
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = [json.loads(row) for row in file.read_text().splitlines()] if file.exists() else []
        self._known: dict[str, bool] = {
            row["mutant"]: row["killed"] for row in rows if row["tests"] == tests or (row["killed"] and not anew)
        }

    def killed(self, mutant: Mutant) -> bool | None:
        """Whether it was; None where it was not tried."""
        return self._known.get(_digest(mutant.text))

    def keep(self, mutant: Mutant, killed: bool) -> None:
        key = _digest(mutant.text)
        self._known[key] = killed
        with self._file.open("a") as file:
            file.write(json.dumps({"mutant": key, "tests": self._tests, "killed": killed}) + "\n")

    def forget(self, tried: Iterable[Mutant]) -> None:
        """Take back what a run kept whose tests failed for another reason than a mutant."""
        keys = {_digest(mutant.text) for mutant in tried}
        self._known = {key: killed for key, killed in self._known.items() if key not in keys}
        rows = [
            row
            for row in self._file.read_text().splitlines(keepends=True)
            if json.loads(row)["mutant"] not in keys
        ]
        self._file.write_text("".join(rows))


class Bench:
    """Copies of a checkout in which mutants of one module are tried side by side."""

    def __init__(self, copies: Sequence[Copy], file: str, tests: Sequence[str]) -> None:
        self.file, self.tests = file, tests
        self._count = len(copies)
        self._copies: SimpleQueue[tuple[int, Copy]] = SimpleQueue()
        for each in enumerate(copies):
            self._copies.put(each)
        self._number = 0
        self.limit = float("inf")

    def whole(self) -> None:
        """Try the module as it is, and learn how long that takes. Raises Stop where its tests fail."""
        began = time.monotonic()
        if (code := self._test(None)) != PASSED:
            raise Stop(f"{' '.join(self.tests)}: pytest ends with {code} where nothing is mutated")
        self.limit = max(LEAST_LIMIT_S, LIMIT_FACTOR * (time.monotonic() - began))

    def canary(self, source: str) -> None:
        """Raises Stop where the tests pass although the module cannot run: they see another one."""
        if self._test(CANARY + source) == PASSED:
            raise Stop(f"{' '.join(self.tests)}: do not run {self.file} of the copy")

    def run(self, chosen: Sequence[Mutant]) -> Iterator[tuple[Mutant, bool]]:
        """Every mutant with whether it was killed, as they end."""
        with ThreadPoolExecutor(self._count) as pool:
            tried = {pool.submit(self._test, mutant.text): mutant for mutant in chosen}
            try:
                for each in as_completed(tried):
                    yield tried[each], each.result() != PASSED
            finally:
                pool.shutdown(cancel_futures=True)

    def _test(self, text: str | None) -> int:
        self._number += 1
        number, (place, copy) = self._number, self._copies.get()
        try:
            if text is None:
                return copy.test(self.tests, *OPTIONS, quiet=False)
            with copy.broken(self.file, text, number):
                return copy.test(self.tests, *OPTIONS, limit=self.limit)
        finally:
            self._copies.put((place, copy))


def main(words: Sequence[str]) -> int:
    """Mutate the modules that are meant; 1 where a survivor has no reason, or a reason no survivor."""
    asked = _asked(words)
    chosen = [file for file in MODULES if not asked.names or any(name in file for name in asked.names)]
    if not chosen:
        print(f"no module has {' or '.join(asked.names)} in its path; there are: {', '.join(MODULES)}")
        return 1
    explanations(SURVIVORS)  # a file that cannot be read is known before hours have passed
    try:
        with ExitStack() as stack:
            copies = list(_copies(stack, asked.workers))
            wrong = sum(_module(copies, file, asked.anew) for file in chosen)
    except Stop as stop:
        print(stop)
        return 1
    except KeyboardInterrupt:
        print("broken off; the same command goes on where this was")
        return 1
    return 1 if wrong else 0


def _asked(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations.mutate")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a piece of a module's path")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="mutants at a time")
    parser.add_argument(
        "--only-added",
        dest="anew",
        action="store_false",
        help="tests were added and none was taken away: what was killed before is not tried again",
    )
    return parser.parse_args(words)


def _copies(stack: ExitStack, count: int) -> Iterator[Copy]:
    before = _jail()
    for _ in range(count):
        folder = stack.enter_context(TemporaryDirectory(prefix="sparkrig-mutate-"))
        copy = Copy(Path(folder).resolve(), ROOT, before)
        copy.env |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        if strangers := copy.strangers():
            raise Stop(f"not of the copy: {' '.join(strangers)}")
        yield copy


def _jail() -> list[str]:
    """The words before a command that keep it from endless memory, and root from what is not temporary."""
    if os.geteuid():
        return ["sh", "-c", LEAN, "sh"]
    words = ["unshare", "--mount", "sh", "-c", JAIL, gettempdir()]
    if not shutil.which("unshare") or subprocess.run([*words, "true"], check=False).returncode:
        raise Stop("root may not run mutants where no mount namespace keeps them in; try: as another user")
    return words


def _module(copies: Sequence[Copy], file: str, anew: bool) -> bool:
    """Mutate one module, print and record its score; whether something is wrong with it."""
    source, tests = copies[0].text(file), (*MODULES[file], FROZEN)
    every = mutants(file, source)
    digest = _digest(*(copies[0].text(test.partition("::")[0]) for test in tests))
    kept = Kept(KEPT / f"{file.replace('/', '-')}.jsonl", digest, anew)
    todo = [mutant for mutant in every if kept.killed(mutant) is None]
    print(f"{file}: {len(every)} mutants, {len(every) - len(todo)} of them known from before", flush=True)
    bench = Bench(copies, file, tests)
    bench.whole()
    bench.canary(source)
    _try(bench, todo, kept)
    try:
        bench.whole()  # what failed since the beginning failed for its mutant, and for nothing else
    except Stop:
        kept.forget(todo)
        raise
    return _told(file, every, [mutant for mutant in every if not kept.killed(mutant)])


def _try(bench: Bench, todo: Sequence[Mutant], kept: Kept) -> None:
    began = time.monotonic()
    for number, (mutant, killed) in enumerate(bench.run(todo), 1):
        kept.keep(mutant, killed)
        if not killed:
            print(_shown(mutant), flush=True)
        if not number % 20 or number == len(todo):
            print(f"{number} of {len(todo)} tried, {time.monotonic() - began:.0f} s", flush=True)


def _told(file: str, every: Sequence[Mutant], survivors: Sequence[Mutant]) -> bool:
    """Print, write and record what a whole module came to; whether a survivor or a reason is left over."""
    known = [each for each in explanations(SURVIVORS) if each.file == file]
    open_, stale = unexplained(survivors, known), unused(survivors, known)
    done = Score(
        module=file,
        mutants=len(every),
        killed=len(every) - len(survivors),
        explained=len(survivors) - len(open_),
        open=len(open_),
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        commit=commit(),
    )
    lines = [f"{file}: {done.mutants} mutants, {done.killed} killed, {done.explained} explained, {done.open} open"]
    lines += [f"survives, and nothing says why:\n{_shown(each)}" for each in open_]
    lines += [
        f"explained, and no survivor (any more), in {each.at}:\n- {each.old}\n+ {each.new}" for each in stale
    ]
    print("\n".join(lines))
    (KEPT / f"{file.replace('/', '-')}.txt").write_text("\n".join([*lines, ""]))
    score.save([done], RECORD)
    return bool(open_ or stale)


def explanations(file: Path = SURVIVORS) -> list[Explained]:
    """The rows of survivors.yaml, one for each of their `new` lines."""
    rows = yaml.safe_load(file.read_text(encoding="utf-8")) or []
    return [Explained(**{**row, "new": new}) for row in rows for new in row["new"]]


def unexplained(survivors: Iterable[Mutant], known: Iterable[Explained]) -> list[Mutant]:
    """The survivors that no row is about."""
    reasons = {(each.at, each.old, each.new) for each in known}
    return [each for each in survivors if (each.at, each.old, each.new) not in reasons]


def unused(survivors: Iterable[Mutant], known: Iterable[Explained]) -> list[Explained]:
    """The rows that are about no survivor."""
    there = {(each.at, each.old, each.new) for each in survivors}
    return [each for each in known if (each.at, each.old, each.new) not in there]


def _shown(mutant: Mutant) -> str:
    old, new = ("".join(f"\n{sign} {row}" for row in rows.splitlines()) for sign, rows in _sides(mutant))
    return f"{mutant.file}:{mutant.line}  {mutant.at}{old}{new}"


def _sides(mutant: Mutant) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("-", mutant.old), ("+", mutant.new)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:20]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
