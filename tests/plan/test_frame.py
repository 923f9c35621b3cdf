"""A run of plain pyinfra ends with one sentence of ours, whatever went wrong, and with no traceback."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sparkrig.terminal import frame
from tests import warm
from tests.plan.conftest import ROOT, A, B, pair, recorded
from tests.plan.desk import HEAD, Desk
from tests.plan.lost import lost
from tests.plan.states import fresh, swap
from tests.tables import each_row

PYINFRAS = ("Traceback", "bug report", "No hosts remaining", "pyinfra error", "exception occurred")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path).has(fresh())


def last(done: subprocess.CompletedProcess[str]) -> str:
    """Its last line, where nothing of pyinfra's own is said."""
    assert done.returncode == 1, done.stderr
    for words in PYINFRAS:
        assert words not in done.stdout + done.stderr, done.stderr
    *_, line = done.stderr.splitlines()
    assert line.startswith("--> Error: ")
    return line.removeprefix("--> Error: ")


def typed(desk: Desk, *words: str, at: Path = ROOT) -> subprocess.CompletedProcess[str]:
    env = {"PYINFRA_PROGRESS": "off", "NO_COLOR": "1", "XDG_STATE_HOME": str(desk.folder / "state")}
    deploy = str(ROOT / "deploys" / "cluster.py")
    return warm.run("pyinfra", *words, str(desk.inventory), deploy, cwd=at, env=env, timeout=60)


def test_the_end_of_standard_input_says_what_to_type(desk: Desk) -> None:
    said = last(typed(desk, "--data", "x_token=opensesame"))
    wanted = r"nothing was changed\. Try: pyinfra -y --data x_token=\*\*\* \S+ \S+cluster\.py"
    assert re.search(wanted, said), said
    assert "opensesame" not in said


def test_an_inventory_without_a_name_is_one_sentence() -> None:
    env = {"PYINFRA_PROGRESS": "off", "NO_COLOR": "1"}
    said = last(warm.run("pyinfra", "-y", "", "deploys/cluster.py", cwd=ROOT, env=env, timeout=60))
    assert said.startswith(
        "a file's name is empty, where an inventory or a deploy is expected. Try: ls inventories"
    )


def test_a_refused_host_is_the_last_word(desk: Desk) -> None:
    desk.has(pair(recorded("fresh-a"), swap("uid=0\n", "uid=1000\n")(recorded("fresh-b"))))
    said = last(typed(desk, "-y", "--fail-percent", "0"))
    assert said.startswith(f"{B}: ") and " Try: " in said and A not in said


def test_a_host_that_cannot_be_reached_is_the_last_word_with_its_own_cure(desk: Desk) -> None:
    """Not "Over 0% of hosts failed (50%)"."""
    desk.has(lost(pair(recorded("fresh-a"), recorded("fresh-b"))))
    said = last(typed(desk, "-y", "--fail-percent", "0"))
    wanted = r"spark-b: Could not connect \(127\.0\.0\.1 port \d+: \[Errno \d+\] Connection refused\)\. Try: ssh "
    assert re.match(wanted, said), said


def test_a_limit_that_names_no_host_is_no_run_that_ends_well(desk: Desk) -> None:
    for words in (("--limit", "spark-q"), ("--limit=spark-q",), ("--limit", "spark"), ("--limit", "_checked")):
        done = typed(desk, "-y", *words)
        assert done.returncode == 1, words
        assert re.match(r"--limit \S+ names no host of ", last(done)) and A in last(done)
    for known in (B, "@fake/*", "sparks"):
        assert "names no host" not in typed(desk, "--dry", "--limit", known).stderr


def test_an_inventory_that_cannot_be_read_is_one_sentence(desk: Desk) -> None:
    def holds(text: str, words: str) -> None:
        desk.inventory.write_text(text)
        for at in (ROOT, desk.folder) if text.startswith(HEAD) else (ROOT,):
            assert re.search(words, last(typed(desk, "-y", at=at)))

    each_row(
        {
            "syntax": ("sparks = [\n", r"line 1, cannot be read \(SyntaxError: '\[' was never closed\)"),
            "name": ("\nsparks = [spark]\n", r"sparks\.py, line 2, cannot be read \(NameError: .*; try: python "),
            "setting": (HEAD + "sparks = _checked([('a', {'mtuu': 1})], __file__)\n", r"did you mean mtu\?"),
        },
        holds,
    )


def test_what_nothing_expects_is_said_with_where_its_traceback_is(desk: Desk) -> None:
    text = desk.inventory.read_text()
    desk.inventory.write_text(
        text + "\nimport pyinfra_cli.cli as _cli\n_cli.run_ops = lambda *_, **__: {}['odd']\n"
    )
    done = typed(desk, "-y", at=desk.folder)
    said = last(done)
    assert said.startswith("KeyError ('odd'), which nothing here expects; the traceback is in pyinfra-debug.log")
    assert "Traceback" in (desk.folder / "pyinfra-debug.log").read_text()


def test_no_password_is_asked_for_where_nobody_can_type_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """getpass would show "sudo password:" before it finds standard input at its end."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(EOFError):
        frame._password("sudo password: ")
    assert capsys.readouterr() == ("", "")
