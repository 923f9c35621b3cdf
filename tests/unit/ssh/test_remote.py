"""A word with a host outside of an operation reaches it whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from pyinfra.api import Host
from pyinfra.connectors.util import CommandOutput, run_local_process

from sparkrig.files import File
from sparkrig.operations import files, journal
from sparkrig.ssh import remote
from sparkrig.ssh.shell import script


@dataclass
class Here:
    """This machine, as pyinfra has a host."""

    name: str = "here"
    data: Mapping[str, Any] = field(default_factory=dict)

    def run_shell_command(self, command: Any, *, _timeout: int, **how: Any) -> tuple[bool, CommandOutput]:
        status, output = run_local_process(command.get_raw_value(), stdin=how.get("_stdin"), timeout=_timeout)
        return status == 0, output


HERE = cast(Host, Here())


def test_a_file_that_is_written_outside_of_an_operation_has_its_text(tmp_path: Path) -> None:
    """Its text travels on the command's own standard input (found on the virtual pair, 2026-11-21)."""
    written = tmp_path / "sub" / "sparkrig.conf"
    remote.execute(HERE, files.write(File(str(written), "a text\n")), 20)
    assert written.read_text() == "a text\n"


@pytest.mark.slow
def test_a_noted_step_hears_what_it_is_told(tmp_path: Path) -> None:
    told = script(f"cat >{tmp_path}/heard", _stdin="told")
    remote.execute(HERE, journal.noted(told, str(tmp_path), "a step"), 20)
    assert (tmp_path / "heard").read_text() == "told\n"
    assert [line.split(" ", 1)[1] for line in (tmp_path / "steps").read_text().splitlines()] == [
        "begun a step",
        "ended 0 a step",
    ]


def test_a_script_answers_and_fails_with_its_last_words() -> None:
    assert remote.shell(HERE, 'printf "%s " "$@"; cat', "a b", "c", seconds=20, stdin="d") == "a b c d"
    with pytest.raises(remote.Failed, match=r"^no room; try df$"):
        remote.shell(HERE, "echo 'no room; try df' >&2; exit 1", seconds=20)


def test_how_a_command_ended_that_wrote_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A login whose .bashrc prints and exits took nine seconds, and was called over its 360 s, without a word."""
    with pytest.raises(
        remote.Failed, match=r"^it ended without a word after 0 s; the connection may have broken off$"
    ):
        remote.shell(HERE, "exit 255", seconds=20)
    with pytest.raises(
        remote.Failed, match=r"after 0 s; a start-up file .* may end it, and printed: Welcome home$"
    ):
        remote.shell(HERE, "echo Welcome; echo home; exit 1", seconds=20)
    clock = iter((0.0, 21.0))
    monkeypatch.setattr(remote, "monotonic", lambda: next(clock))
    with pytest.raises(remote.Failed, match=r"^it ended without a word, over its 20 s$"):
        remote.shell(HERE, "exit 1", seconds=20)
