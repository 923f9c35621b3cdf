"""The wheel of this checkout, and the versions of what it asks for."""

from __future__ import annotations

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
    """The packages that come with the wheel on a Spark: Ubuntu 24.04 on aarch64, Python 3.12, no compiler."""
    (folder / "asked").write_text(f"sparkrig @ {wheel(folder).as_uri()}")
    uv = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-config", "--no-header", "--no-annotate"]
    spark = ["--python-platform", "aarch64-manylinux_2_39", "--python-version", "3.12", "--only-binary", ":all:"]
    words = [*spark, "--constraints", str(ROOT / "requirements.lock"), "asked"]
    done = subprocess.run([*uv, *words], check=True, cwd=folder, stdout=subprocess.PIPE, text=True)
    return re.findall(r"^([\w.-]+)==", done.stdout, re.MULTILINE)


def constraints() -> str:
    """What pip reads as constraints: each version of the lock."""
    lock = (ROOT / "requirements.lock").read_text()
    return "\n".join(re.findall(r"^([\w.\[\]-]+==[^ ;\\]+)", lock, re.MULTILINE))
