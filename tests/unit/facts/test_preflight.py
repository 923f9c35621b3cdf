"""What the preflight asks of the journal and of the mounts, run for real against a tree of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sparkrig import programs
from sparkrig.facts.preflight import Preflight
from sparkrig.files import DECLARED
from sparkrig.host import preflight
from sparkrig.runs.lock import RUNS
from tests.unit.resources.world import settled

OPEN_RUN = programs.text("facts/preflight_open_run.sh")
# by name: of each run its number, and whether it has an end; whether the newest is open
JOURNALS = {
    "no journal": ({}, False),
    "one that ended": ({"20261123T180644Z-291b": ("1", True)}, False),
    "one that broke off": ({"20261123T180644Z-291b": ("1", False)}, True),
    "one that broke off, and one after it": (
        {"20261123T180644Z-291b": ("1", False), "20261123T190644Z-291c": ("2", True)},
        False,
    ),
    "by number, not by clock": (
        {"20381123T180644Z-291b": ("9", True), "20261123T190644Z-291c": ("10", False)},
        True,
    ),
    "of a version that numbered none": ({"20261123T180644Z-291b": ("", False)}, False),
    "a garbled number": (
        {"20261123T180644Z-291b": ("-1; reboot", False), "20261123T190644Z-291c": ("9" * 40, False)},
        False,
    ),
    "being made": ({".20261123T180644Z-291b": ("3", False)}, False),
}


@pytest.mark.parametrize("name", JOURNALS)
def test_a_run_is_open_where_the_newest_has_no_end(tmp_path: Path, name: str) -> None:
    runs, is_open = JOURNALS[name]
    for run, (number, ended) in runs.items():
        (tmp_path / run).mkdir()
        (tmp_path / run / "number").write_text(f"{number}\n")
        if ended:
            (tmp_path / run / "after").touch()
    assert asked(tmp_path) == ("open\n" if is_open else "")
    (tmp_path / "declared.json").touch()
    lost = name in ("no journal", "being made")
    assert asked(tmp_path) == ("lost\n" if lost else "open\n" if is_open else ""), "a run ended here"


def test_a_fifo_in_place_of_a_number_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "20261123T180644Z-291b").mkdir()
    os.mkfifo(tmp_path / "20261123T180644Z-291b" / "number")
    assert asked(tmp_path) == ""


def asked(folder: Path) -> str:
    script = OPEN_RUN.replace(RUNS, str(folder)).replace(DECLARED, str(folder / "declared.json"))
    assert script != OPEN_RUN
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=10, check=False)
    assert done.stderr == ""
    return done.stdout


def test_what_is_a_mount_of_its_own_is_asked_for_its_room(tmp_path: Path) -> None:
    rows, _ = settled(tmp_path).look(Preflight().command())
    room = preflight.parse([row for row in rows if row], 0).room_mb
    assert {*room} == {"/", "/var", "/etc", "/boot", "/var/cache"}, "as the tree has them, and no folder besides"
