"""Running programs of this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.errors import LabError


def run(
    arguments: Sequence[str | Path],
    *,
    attempt: str,
    timeout: float = 60,
    log: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """Runs a program to its end and returns what it printed; its complaints go to `log` where one is given.

    LabError with the program's own words if it fails or takes longer than `timeout` seconds.
    """
    name = str(arguments[0])
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=timeout, env=env, check=False)
    except subprocess.TimeoutExpired as error:
        raise LabError(f"{name} did not end", expected=f"within {timeout:.0f} s", attempt=attempt) from error
    if log:
        log.write_text(done.stderr)
    if done.returncode:
        where = f", all of it in {log}" if log else ""
        words = complaint(done.stderr) or f"exit code {done.returncode}"
        raise LabError(f"{name} failed: {words}", expected=f"exit code 0{where}", attempt=attempt)
    return done.stdout


def complaint(stderr: str) -> str:
    """The most useful line: apt's first error, which causes all later ones, else the last line."""
    lines = stderr.strip().splitlines()
    return next((line for line in lines if line.startswith("E: ")), lines[-1] if lines else "")
