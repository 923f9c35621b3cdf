"""T1: a file that cannot be written stops the run, and its pair's, before the first change; each fault alone."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.plan.conftest import A, B, Deploy, Host, barred, converged, pair, recorded
from tests.plan.desk import Desk
from tests.tables import each_row

CONF = "/etc/nccl.conf"
ROWS = {
    "immutable": (f"barred immutable {CONF} {CONF}", f"{CONF} is immutable (chattr +i)", f"sudo chattr -i {CONF}"),
    "a folder": (f"barred folder {CONF} {CONF}", f"{CONF} is a directory", f"sudo mv {CONF} {CONF}.old"),
    "a FIFO": (f"barred fifo {CONF} {CONF}", f"{CONF} is a FIFO, not a file", f"sudo mv {CONF} {CONF}.old"),
    "read-only": (
        "barred read-only /etc/docker /etc/docker/daemon.json",
        "/etc/docker cannot be written: its file system is read-only, "
        "and /etc/docker/daemon.json is to be written",
        "findmnt -T /etc/docker",
    ),
}


def fresh(half: str, row: str) -> list[Host]:
    texts = {each: recorded(f"fresh-{each}") for each in "ab"}
    return pair(**{each: barred(text, row) if each == half else text for each, text in texts.items()})


@pytest.mark.slow
def test_a_file_that_cannot_be_written_is_refused_before_the_first_change(deploy: Deploy) -> None:
    def refused(half: str, row: str, what: str, cure: str) -> None:
        run = deploy(fresh(half, row), "-y")
        assert run.code == 1
        (said,) = [line for line in run.stderr.splitlines() if "Refused: " in line]
        assert f"spark-{half}]" in said and what in said and f"Try: ssh spark-{half} {cure}" in said
        assert run.changes == [] and len(run.sent) == 2, "one look each, as ever"

    each_row([(half, *row) for half in "ab" for row in ROWS.values()], refused)


def test_a_settled_host_whose_files_are_locked_is_left_in_peace(deploy: Deploy) -> None:
    """Whoever locks a file that is as it should be keeps it so."""
    hosts = pair(*(barred(converged(half), ROWS["immutable"][0]) for half in "ab"))
    run = deploy(hosts, "-y")
    assert (run.code, len(run.sent)) == (0, 2), run.stderr


def test_drift_names_the_file_and_the_half(tmp_path: Path) -> None:
    hosts = pair(converged("a"), barred(converged("b"), ROWS["immutable"][0]))
    edited = re.sub(rf"^{CONF} .*\n", "", hosts[1].seen, flags=re.MULTILINE)
    done = Desk(tmp_path).has([hosts[0], replace(hosts[1], seen=edited)]).drift()
    assert done.code == 2, done.said
    assert not done.wrong[A] and f"{CONF} is immutable (chattr +i)" in str(done.report["hosts"][1]), done.out
    assert done.report["hosts"][1]["name"] == B
