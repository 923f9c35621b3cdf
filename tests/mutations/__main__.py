"""Breaks the product in one place at a time, and expects a test to see it: python -m tests.mutations [NAME...]

mutations.yaml has what is broken and the test that must fail then. NAME is a piece of a name, or a topic. Nothing
of the checkout itself is changed: a copy of it is broken, and the tests run there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("mutations.yaml")
LIMIT_S = 300
PASSED, FAILED = 0, 1  # pytest's exit codes; any other is a test that did not run
IMPORTED = (
    "import sparkrig, operations, tests.unit as t; print(sparkrig.__file__, operations.__file__, t.__file__)"
)


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


class Copy:
    """The files of the checkout, as they are now, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {**os.environ, "PYTHONPATH": str(folder)}  # wins over the editable install
        words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for name in filter(None, subprocess.check_output(words, cwd=ROOT, text=True).split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)

    def strangers(self) -> list[str]:
        """The files that Python imports from elsewhere, in whatever folder it starts."""
        found = subprocess.check_output([sys.executable, "-c", IMPORTED], cwd="/", env=self.env, text=True)
        return [file for file in found.split() if not Path(file).is_relative_to(self.folder)]

    def test(self, tests: Iterable[str], *, quiet: bool = True) -> int:
        """Run tests, and return pytest's exit code; a test that hangs has failed."""
        words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *dict.fromkeys(tests)]
        out = subprocess.DEVNULL if quiet else None
        try:
            done = subprocess.run(words, cwd=self.folder, env=self.env, stdout=out, timeout=LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            return FAILED
        return done.returncode

    @contextmanager
    def broken(self, mutation: Mutation, number: int) -> Iterator[None]:
        """Let one mutation stand for a while; its own time keeps Python from what it compiled before."""
        file = self.folder / mutation.file
        whole, kept = file.read_text(encoding="utf-8"), file.stat()
        file.write_text(whole.replace(mutation.old, mutation.new), encoding="utf-8")
        os.utime(file, (number, number))
        try:
            yield
        finally:
            file.write_text(whole, encoding="utf-8")
            os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))


def main(words: Sequence[str]) -> int:
    """Check the mutations that are meant; 1 where one is not as the list says."""
    listed = [Mutation(**row) for row in yaml.safe_load(LIST.read_text(encoding="utf-8"))]
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
    return 1 if wrong else 0


def _as_listed(copy: Copy, mutation: Mutation, number: int) -> bool:
    """Whether a mutation is killed, or survives where the list says so; one line tells."""
    began = time.monotonic()
    with copy.broken(mutation, number):
        code = copy.test([mutation.test])
    word = {PASSED: "survived", FAILED: "killed"}.get(code, f"exit {code}")
    right = code == (PASSED if mutation.survives else FAILED)
    tail = "" if right else f"  <- not as listed: {mutation.test}"
    print(f"{word:9} {time.monotonic() - began:4.1f} s  {mutation.topic}: {mutation.name}{tail}", flush=True)
    return right


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
