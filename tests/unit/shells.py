"""Running shell texts for real on this machine, with stand-ins for programs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


def tool(folder: Path, name: str, text: str) -> None:
    """A stand-in for a program, found first on PATH."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def sh(
    text: str, *words: str, path: Path | None = None, env: Mapping[str, str] | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a script as `sparkrig.ssh.shell.script` has it run."""
    found = {**os.environ, **(env or {})}
    if path:
        found["PATH"] = f"{path}:{found['PATH']}"
    return subprocess.run(
        ["sh", "-c", text, "sparkrig", *words],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env=found,
        timeout=20,
    )


def well(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """A process that ended well."""
    assert done.returncode == 0, done.stdout + done.stderr
    return done
