"""T1: what a user added to a file of ours is shown before it goes, and stays where a setting has it."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest

from sparkrig.host import branches
from sparkrig.network import environment
from tests.plan.conftest import A, B, Deploy, Host, converged, pair, well
from tests.plan.desk import Desk
from tests.tables import each_row

PATHS = {
    environment.NCCL_CONF: ("environment.nccl.conf", "the setting nccl_conf keeps NCCL_DEBUG"),
    environment.CONTAINER_ENV: ("environment.container.env", "the setting environment keeps NCCL_DEBUG"),
    branches.PIN_PATH: ("driver.pin", "a file of your own beside it keeps them"),
}
LINE = "NCCL_DEBUG=INFO"


def edited(text: str, path: str) -> str:
    """A deployed host, a line added to one file."""

    def added(row: re.Match[str]) -> str:
        content = base64.b64decode(row[2]) + f"{LINE}\n".encode()
        return f"{row[1]} {base64.b64encode(content).decode()}"

    text, count = re.subn(rf"^({re.escape(path)} \d+ \S+) (\S+)$", added, text, flags=re.MULTILINE)
    assert count == 1, path
    return text


def hosts(half: str, path: str, **settings: Any) -> list[Host]:
    texts = [edited(converged(each), path) if each == half else converged(each) for each in "ab"]
    return pair(*texts, **settings)


@pytest.mark.slow  # whole deploys
@pytest.mark.parametrize("flags", [("-y",), ("--dry",)])
def test_a_line_of_the_users_is_shown_before_it_goes(deploy: Deploy, flags: tuple[str]) -> None:
    def told(half: str, path: str, keeps: str) -> None:
        run = well(deploy(hosts(half, path), *flags))
        lines = [line.strip() for line in run.stderr.splitlines()]
        here, other = (A, B) if half == "a" else (B, A)
        (head,) = (n for n, line in enumerate(lines) if line.startswith(f"[{here}] file {path}: "))
        assert lines[head].endswith(f"({keeps})")
        (row,) = (n for n, line in enumerate(lines) if line == f"[{here}]     -{LINE}")
        assert not [line for line in lines if line.startswith(f"[{other}]") and " file " in line]
        writes = [n for n, line in enumerate(lines) if "while read -r folder name mode content" in line]
        assert head < row and (flags == ("--dry",) or row < writes[0])

    each_row([(half, path, keeps) for half in "ab" for path, (_, keeps) in PATHS.items()], told)


@pytest.mark.slow
def test_drift_shows_the_line_and_what_keeps_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path)

    def found(half: str, path: str, id: str, keeps: str) -> None:
        done = desk.has(hosts(half, path)).drift()
        here, other = (A, B) if half == "a" else (B, A)
        assert done.said == "", "a report is all that drift prints"
        assert done.code == 2 and done.wrong == {here: {id}, other: set()}, done.wrong
        assert done.row(here, id)["found"] == f"1 line more ({LINE}); {keeps}"

    each_row([(half, path, *row) for half in "ab" for path, row in PATHS.items()], found)


def test_the_setting_keeps_the_line(deploy: Deploy) -> None:
    """Once it is declared the file is as declared but for where the line stands, and is written once."""
    for setting, path in (("nccl_conf", environment.NCCL_CONF), ("environment", environment.CONTAINER_ENV)):
        run = well(deploy(pair(converged("a"), converged("b"), **{setting: {"NCCL_DEBUG": "INFO"}}), "-y"))
        lines = run.stderr.splitlines()
        sent = [line for line in lines if "+NCCL_DEBUG=INFO" in line]
        assert len(sent) == 2, f"{path} gets it on both"
        assert len([line for line in lines if f"] file {path}: " in line]) == 2
