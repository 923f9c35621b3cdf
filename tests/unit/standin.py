"""lab/standin.py as a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from time import monotonic, sleep
from typing import Any

from lab import standin

FILE = Path(standin.__file__)
_LIMIT_S = 20.0


@dataclass(frozen=True)
class Standin:
    """url: where it listens; process: itself; journal: a line of JSON for each request that it has ended."""

    url: str
    process: subprocess.Popen[str]
    file: Path

    def journal(self, least: int) -> list[dict[str, Any]]:
        """Of so many requests at least, by number: a line is written a little after its answer."""
        until = monotonic() + _LIMIT_S
        while True:
            lines = self.file.read_text().splitlines() if self.file.exists() else []
            if len(lines) >= least:
                return sorted(map(json.loads, lines), key=lambda each: int(each["number"]))
            assert monotonic() < until, f"{len(lines)} requests of {least} ended"
            sleep(0.01)


@contextmanager
def serving(folder: Path, *options: str, python: str = sys.executable) -> Iterator[Standin]:
    """One that listens; it is ended with the context, and must end well."""
    file = folder / "journal"
    command = [python, str(FILE), "--port", "0", "--journal", str(file), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    limit = Timer(_LIMIT_S, process.kill)
    limit.start()
    try:
        url = ""
        for line in process.stdout or ():
            if "Starting vLLM server on" in line:
                url = line.split()[-1]
            if "startup complete" in line:
                break
        assert url, "the stand-in did not come up"
        limit.cancel()
        drain = subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
        yield Standin(url, process, file)
        if process.poll() is None:  # a test may have killed it
            process.terminate()
            limit = Timer(_LIMIT_S, process.kill)  # a wait with a limit of its own looks again and again
            limit.start()
            assert process.wait() == 0
        drain.wait()
    finally:
        limit.cancel()
        process.kill()
        process.wait()
