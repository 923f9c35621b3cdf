"""A real user manager of systemd for a test, in namespaces of its own: it sees none of this machine's units.

systemd 252 asks for a mounted cgroup2, a runtime folder, and /run/systemd/system, by which it knows that the
system was booted with it (sd_booted(3)). All its processes end with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SPARKRIG = str(Path(sys.executable).with_name("sparkrig"))
ROOT = Path(__file__).resolve().parents[2]
_SYSTEMD = "/lib/systemd/systemd"
_READY_S = 30
_BEGIN = f"""
mount -t tmpfs none /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup
mount -t tmpfs none /run && mkdir -p /run/systemd/system && mkdir -m 700 -p /run/user/0
{_SYSTEMD} --user & wait # the first process of a namespace would be a system's manager
"""


@dataclass(frozen=True)
class Manager:
    """home: of its user; env: of each command that is run beside it; pid: of the manager."""

    home: Path
    env: Mapping[str, str]
    pid: int

    def run(self, *words: str, more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """A command in its namespaces."""
        enter = ["nsenter", "--target", str(self.pid), "--all", "--preserve-credentials", f"--wd={ROOT}"]
        return subprocess.run(
            [*enter, *words],
            env={**self.env, **(more or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )

    def sparkrig(self, *words: str, more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return self.run(SPARKRIG, *words, more=more)

    def systemctl(self, *words: str) -> str:
        return self.run("systemctl", "--user", *words).stdout

    def units(self) -> list[str]:
        """The files of units of its user."""
        return sorted(
            each.name for each in (self.home / ".config" / "systemd" / "user").glob("*.*") if each.is_file()
        )


@contextmanager
def manager(home: Path, env: Mapping[str, str]) -> Iterator[Manager]:
    assert shutil.which("systemctl") and Path(_SYSTEMD).exists(), "apt install systemd"
    home.mkdir()
    whole = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_RUNTIME_DIR": "/run/user/0", **env}
    begin = [
        "unshare",
        "--mount",
        "--cgroup",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "--map-root-user",
    ]
    with (home.parent / "manager.log").open("w") as log:
        process = subprocess.Popen([*begin, "sh", "-ec", _BEGIN], env=whole, stdout=log, stderr=log)
    try:
        yield _ready(process, home, whole)
    finally:
        process.kill()
        process.wait()


def _ready(process: subprocess.Popen[bytes], home: Path, env: Mapping[str, str]) -> Manager:
    until = time.monotonic() + _READY_S
    while time.monotonic() < until and process.poll() is None:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        if children:
            found = Manager(home, env, int(children[0]))
            if found.systemctl("is-system-running").strip() in ("running", "degraded"):
                return found
        time.sleep(0.1)
    raise AssertionError((home.parent / "manager.log").read_text() or "no user manager of systemd begins here")
