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

    def journal(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.file.read_text().splitlines()] if self.file.exists() else []


@contextmanager
def serving(folder: Path, *options: str, python: str = sys.executable) -> Iterator[Standin]:
    """One that listens; its process is ended, and must have ended well, when the context does."""
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
        process.terminate()
        assert process.wait(_LIMIT_S) == 0
        assert drain.wait(_LIMIT_S) == 0
    finally:
        limit.cancel()
        process.kill()
        process.wait()
