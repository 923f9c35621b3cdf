"""Debian's Prometheus, promtool and node exporter, as scripts/prometheus fetches them; none is installed."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def programs() -> Path:
    """Their folder. Fails where they cannot be fetched."""
    done = subprocess.run([ROOT / "scripts/prometheus"], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())
