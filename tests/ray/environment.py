"""Real Ray in an environment of its own, kept under ~/.cache/sparkrig/ray: no part of the product, and 300 MB."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).with_name("requirements.lock")


def folder() -> Path:
    """The environment's folder of programs; made where it is not there yet, which takes a minute."""
    key = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()[:12]
    venv = Path(f"~/.cache/sparkrig/ray/{key}").expanduser()
    programs, ready = venv / "bin", venv / ".ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True, timeout=120)
        pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--require-hashes", "-r", LOCK], check=True, timeout=900)
        ready.touch()
    return programs
