"""A settled host is asked once, whatever is run (issue 6): counted by the hosts themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plan import fleet
from tests.plan.conftest import ROOT

BIN = Path(sys.executable).parent
CLUSTER = "deploys/cluster.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A settled pair behind an sshd on loopback; sparks.py is its inventory."""
    folder = tmp_path_factory.mktemp("execs")
    with fleet.served(folder / "hosts", 2) as entries:
        fleet.inventory(folder, entries)
        yield folder


@pytest.mark.parametrize(
    "words",
    [
        ["sparkrig", "drift", "INVENTORY"],
        ["sparkrig", "summary", "INVENTORY"],
        ["pyinfra", "--dry", "INVENTORY", CLUSTER],
        ["pyinfra", "-y", "INVENTORY", CLUSTER],
    ],
    ids=" ".join,
)
def test_a_settled_host_is_asked_once(folder: Path, words: list[str]) -> None:
    for file in (folder / "hosts").glob("*.asked"):
        file.unlink()
    program, *rest = [str(folder / "sparks.py") if word == "INVENTORY" else word for word in words]
    done = subprocess.run(
        [str(BIN / program), *rest],
        cwd=ROOT,
        env={**os.environ, "XDG_STATE_HOME": str(folder / "state")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [len(file.read_text()) for file in (folder / "hosts").glob("*.asked")] == [1, 1]
