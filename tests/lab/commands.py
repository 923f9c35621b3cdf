"""The commands of this toolkit, run as a user runs them, on the lab's inventories."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
LAB, SOLO = "inventories/lab.py", "inventories/lab_solo.py"
CLUSTER = "deploys/cluster.py"
_FOLDER = tempfile.TemporaryDirectory(prefix="sparkrig-state-")  # goes when the tests end
STATE = _FOLDER.name  # what these runs measure is no history of the user's


@dataclass(frozen=True)
class Done:
    """A finished command."""

    code: int
    stdout: str
    stderr: str

    @property
    def plan(self) -> dict[str, set[str]]:
        """Operation -> hosts that it would change, where there are any."""
        rows = {
            op["name"]: {*op["hosts_with_change"], *op["hosts_with_conditional_change"]}
            for op in json.loads(self.stdout)["plan"]
        }
        assert len(rows) >= 7, "an empty deploy proves nothing"
        return {name: hosts for name, hosts in rows.items() if hosts}

    @property
    def changed(self) -> dict[str, set[str]]:
        """Operation -> hosts that a run with -y changed; its plan is empty, for -y computes none."""
        rows = {op["name"]: {*op["success"]} for op in json.loads(self.stdout)["results"]["operations"]}
        assert len(rows) >= 7, "an empty deploy proves nothing"
        return {name: hosts for name, hosts in rows.items() if hosts}


def run(
    program: str, *words: str, timeout: float = 600, env: Mapping[str, str] | None = None, cwd: Path = ROOT
) -> Done:
    """A program of the toolkit's, which nobody answers. env: all of its environment, where it is another one."""
    done = subprocess.run(
        [BIN / program, *words],
        cwd=cwd,
        env=env or {**os.environ, "PYINFRA_PROGRESS": "off", "NO_COLOR": "1", "XDG_STATE_HOME": STATE},
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def lab(*words: str) -> subprocess.CompletedProcess[str]:
    """One `lab` command, as a person types it."""
    command = [sys.executable, "-m", "lab", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def deploy(*flags: str, inventory: str = LAB, file: str = CLUSTER) -> Done:
    return run("pyinfra", "-y", *flags, inventory, file)


def planned(inventory: str = LAB) -> dict[str, set[str]]:
    done = run("pyinfra", "--json", "--dry", inventory, CLUSTER)
    assert done.code == 0, done.stderr
    return done.plan


def assert_state(inventory: str = LAB, what: str = "tests/state") -> None:
    done = run("pytest", "-q", "-p", "no:cacheprovider", what, "--inventory", inventory)
    assert done.code == 0, done.stdout[-3000:]


def drift(*words: str) -> Done:
    """`sparkrig drift` of the pair, by default as JSON."""
    return run("sparkrig", "drift", LAB, *(words or ("--json",)))


def wrong(done: Done) -> dict[tuple[str, str], str]:
    """What a drift report in JSON calls wrong, by host and check: who moved."""
    return {
        (host["name"], row["id"]): row["moved"]
        for host in json.loads(done.stdout)["hosts"]
        for row in host["rows"]
        if row["status"] not in ("ok", "skipped")
    }


def mend() -> list[str]:
    """Type the commands that the drift screen prints, and agree to their plans. Returns the commands."""
    screen = run("sparkrig", "drift", LAB)
    assert screen.code == 2, screen.stdout + screen.stderr
    commands = [line.partition(": ")[2] for line in screen.stdout.splitlines() if line.startswith("mends ")]
    assert commands, screen.stdout
    for command in commands:
        done = typed(command)
        assert done.returncode == 0, f"{command}: {done.stdout[-1500:]}{done.stderr[-3000:]}"
    return commands


def typed(command: str) -> subprocess.CompletedProcess[str]:
    """A command that a person types in the folder of the toolkit, with Enter at its question."""
    path = f"{BIN}:{os.environ['PATH']}"
    return subprocess.run(
        command,
        shell=True,
        cwd=ROOT,
        env={**os.environ, "PATH": path, "PYINFRA_PROGRESS": "off", "XDG_STATE_HOME": STATE},
        input="\n",
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
