"""The wheel of this checkout, and the versions of what it asks for."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).resolve().parents[1]


def wheel(folder: Path) -> Path:
    """The wheel, built into a folder."""
    (file,) = WheelBuilder(str(ROOT)).build(directory=str(folder))
    return Path(file)


def download(folder: Path, python: str, *more: str, extra: str = "") -> None:
    """The wheel and those of all that it asks for, of a version of Python, into `dist/` of a folder.

    more: other packages; extra: of ours, such as `[watch]`.
    """
    ours = wheel(folder / "dist")
    (folder / "constraints").write_text(constraints())
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--dest", "dist"]
    theirs = ["--python-version", python, "--only-binary", ":all:", "-c", "constraints"]
    subprocess.run([*pip, *theirs, f"{ours}{extra}", *more], check=True, cwd=folder)


def of_a_spark(folder: Path) -> list[str]:
    """What pip would install with the wheel on a Spark: Ubuntu 24.04 on aarch64, Python 3.12, no compiler."""
    ours = wheel(folder)
    (folder / "constraints").write_text(constraints())
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--dry-run"]
    names = [f"manylinux_2_{minor}_aarch64" for minor in (39, 28, 17)] + ["manylinux2014_aarch64"]
    theirs = ["--python-version", "3.12", "--implementation", "cp", *(f"--platform={name}" for name in names)]
    words = ["--ignore-installed", "--only-binary", ":all:", "-c", "constraints", "--report", "report", str(ours)]
    subprocess.run([*pip, "--target", "none", *theirs, *words], check=True, cwd=folder)
    report = json.loads((folder / "report").read_text())
    return [each["download_info"]["url"].rpartition("/")[2] for each in report["install"]]


def constraints() -> str:
    """What pip reads as constraints: each version of the lock."""
    lock = (ROOT / "requirements.lock").read_text()
    return "\n".join(re.findall(r"^([\w.\[\]-]+==[^ ;\\]+)", lock, re.MULTILINE))
