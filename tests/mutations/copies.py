"""A copy of the checkout, where tests run on files that are broken on purpose."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 300
PASSED, FAILED = 0, 1  # pytest's exit codes; any other is a test that did not run
IMPORTED = "import sparkrig, tests.unit as t; print(sparkrig.__file__, t.__file__)"


class Copy:
    """The files of a checkout, as they are now, in a folder of their own.

    before: the words of a program that runs pytest, which is the end of its command line.
    """

    def __init__(self, folder: Path, root: Path = ROOT, before: Sequence[str] = ()) -> None:
        self.folder = folder
        self.before = before
        self.env = {**os.environ, "PYTHONPATH": str(folder)}  # wins over the editable install
        words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for name in filter(None, subprocess.check_output(words, cwd=root, text=True).split("\0")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if (root / name).is_symlink():  # sparkrig/facts and the like
                (folder / name).symlink_to((root / name).readlink())
            elif (root / name).is_file():
                shutil.copy2(root / name, folder / name)

    def text(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def strangers(self) -> list[str]:
        """The files that Python imports from elsewhere, in whatever folder it starts."""
        found = subprocess.check_output([sys.executable, "-c", IMPORTED], cwd="/", env=self.env, text=True)
        return [file for file in found.split() if not Path(file).is_relative_to(self.folder)]

    def test(self, tests: Iterable[str], *options: str, quiet: bool = True, limit: float = LIMIT_S) -> int:
        """Run tests, and return pytest's exit code; tests that take more than `limit` seconds have failed."""
        words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *options]
        run = subprocess.Popen(
            [*self.before, *words, *dict.fromkeys(tests)],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if quiet else None,
            stderr=subprocess.DEVNULL if quiet else None,
            start_new_session=True,  # what the tests started ends with them
        )
        try:
            return run.wait(limit)
        except subprocess.TimeoutExpired:
            return FAILED
        finally:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()

    @contextmanager
    def broken(self, name: str, text: str, number: int) -> Iterator[None]:
        """Let a file have another text for a while; its own time keeps Python from what it compiled before."""
        file = self.folder / name
        whole, kept = self.text(name), file.stat()
        file.write_text(text, encoding="utf-8")
        os.utime(file, (number, number))
        try:
            yield
        finally:
            file.write_text(whole, encoding="utf-8")
            os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))
