"""The package as a user installs it: in an environment of its own, with this checkout hidden from it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests import wheels
from tests.lab.commands import ROOT, Done

# $1 what is hidden, $2 where it is typed, $3... the command
HIDDEN = 'mount -t tmpfs tmpfs "$1" && cd "$2" && shift 2 && exec "$@"'


def programs(folder: Path) -> Path:
    """The programs of an environment that has the wheel and what it asks for, in the versions of the lock."""
    wheel = wheels.wheel(folder)
    (folder / "constraints").write_text(wheels.constraints())
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    pip = [str(folder / "venv" / "bin" / "pip"), "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "-c", "constraints", f"{wheel}[onboard]"], check=True, cwd=folder)
    return folder / "venv" / "bin"


def environ(home: Path) -> dict[str, str]:
    """The environment of a user whose home that is, who has nothing of ours."""
    env = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return env | {"HOME": str(home), "PYINFRA_PROGRESS": "off", "NO_COLOR": "1"}


def run(program: Path, *words: str, place: Path, env: Mapping[str, str]) -> Done:
    """A command of it, typed in a folder, where this checkout is an empty one. env: all of its environment."""
    hidden = ["unshare", "--mount", "--map-root-user", "sh", "-ec", HIDDEN, "hidden", str(ROOT)]
    done = subprocess.run(
        [*hidden, str(place), str(program), *words],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def assert_hidden(programs: Path, place: Path, env: Mapping[str, str]) -> None:
    """The package has nothing of this checkout."""
    seen = f"import os; assert not os.listdir({str(ROOT)!r})"
    assert run(programs / "python", "-c", seen, place=place, env=env).code == 0
