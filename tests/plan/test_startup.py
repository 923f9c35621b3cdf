"""`sparkrig startup` over real connections: it looks once and again, with one exec a host each time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.plan import fleet
from tests.plan.conftest import ROOT
from tests.plan.desk import write
from tests.plan.startups import text

# the command, with little more than the two seconds after which progress is shown between two looks
PROGRAM = (
    "import sparkrig.cli.startup as startup; startup._PAUSE_S = 2.1;from sparkrig.cli.main import main; main()"
)


LOADING = "spark-00a: loading weights (7 min 0 s elsewhere) ..."


@pytest.mark.slow  # it waits until progress is shown, in a program of its own
def test_a_pair_is_followed_until_it_answers(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    with fleet.served(hosts, 2) as entries:
        head, worker = (hosts / str(entry["ssh_port"]) for _, entry in entries)
        head.write_text(text("pair-head", 400))
        worker.write_text(text("pair-worker"))
        words = [sys.executable, "-c", PROGRAM, "startup", str(write(tmp_path, entries)), "--minutes", "1"]
        running = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert running.stderr is not None
        shown = []
        for line in running.stderr:  # until its first look is told; it ends with the program
            shown.append(line)
            if LOADING in line:
                break
        after = head.with_suffix(".new")
        after.write_text(text("pair-head"))
        after.rename(head)
        told, rest = running.communicate(timeout=90)
    assert running.returncode == 0, told + "".join(shown) + rest
    assert "up after 14 min 50 s" in told and "it has joined the head" in told
    assert LOADING in shown[-1]
    looks = len(head.with_suffix(".asked").read_text())
    assert looks >= 2 and len(worker.with_suffix(".asked").read_text()) == looks
