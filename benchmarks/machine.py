"""Where a benchmark ran, and with what."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks.contenders import environment
from lab.paths import home
from tests.plan.conftest import ROOT


def described() -> dict[str, str]:
    """Machine, versions and commit, by name."""
    others = _said(str(environment() / "bin" / "python"), "-m", "pip", "list", "--format=freeze").splitlines()
    found = dict(line.split("==", 1) for line in others if "==" in line)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _said("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"),
        "machine": f"{os.cpu_count()} processors ({_processor()}), Linux {platform.release()}",
        "guests": _accelerator(),
        "Python": platform.python_version(),
        "pyinfra": version("pyinfra"),
        "ansible-core": found["ansible-core"],
        "mitogen": found["mitogen"],
        "OpenSSH": _said("sh", "-c", "ssh -V 2>&1").split(",")[0],
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(": ")[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _accelerator() -> str:
    if not (home() / "accelerator.json").exists():
        return "none"
    return "KVM" if '"kvm"' in (home() / "accelerator.json").read_text() else "emulation (TCG, no KVM)"


def _said(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
