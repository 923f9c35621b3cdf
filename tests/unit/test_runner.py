"""Real pyinfra on its @fake connector, through the runner; and which host stops which."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sparkrig import runner
from sparkrig.runner import RunError, Unread

FACT = "facts.files.Files"
GONE = ("gone", {"ssh_hostname": "127.0.0.1", "ssh_port": 9, "ssh_user": "nobody"})
CONTENT = {"/etc/nccl.conf": {"content": "hello\n", "mode": "0644", "owner": "root:root"}}


def fake(name: str, answer: Any = ("/etc/nccl.conf 644 root:root aGVsbG8K",)) -> tuple[str, dict[str, Any]]:
    return f"@fake/{name}", {
        "fake_responses": {"base64": answer if isinstance(answer, dict) else list(answer)},
        "fake_delay": 0,
        "fake_delay_jitter": 0,
    }


def inventory(folder: Path, *hosts: tuple[str, dict[str, Any]], together: bool = True) -> Path:
    file = folder / "my sparks.py"  # a name with a space
    head = "from sparkrig.inventory import stop_together as _together\n_together()\n" if together else ""
    file.write_text(f"{head}sparks = {list(hosts)!r}\n")
    return file


def test_a_fact_of_every_host(tmp_path: Path) -> None:
    found = runner.facts(inventory(tmp_path, fake("a"), fake("b")), FACT)
    assert found == {"@fake/a": CONTENT, "@fake/b": CONTENT}


def test_a_host_out_of_reach_hides_nothing_of_its_peer(tmp_path: Path) -> None:
    found = runner.facts(inventory(tmp_path, fake("a"), GONE), FACT)
    assert found["@fake/a"] == CONTENT
    assert isinstance(found["gone"], Unread)
    assert found["gone"].reason.startswith("Could not connect (")
    assert set(found) == {"@fake/a", "gone"}


def test_a_host_that_fails_the_fact_gives_its_reason(tmp_path: Path) -> None:
    failing = fake("a", {"success": False, "stderr": "sudo: a password is required"})
    found = runner.facts(inventory(tmp_path, failing, fake("b")), FACT)
    assert found == {"@fake/a": Unread("sudo: a password is required"), "@fake/b": CONTENT}


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        (GONE, "Could not connect ("),
        (fake("a", {"success": False, "stderr": "boo"}), "boo"),
        (fake("a", ["what is this row"]), "ValueError: cannot read"),
    ],
)
def test_no_host_at_all_is_no_error_of_the_tool(
    tmp_path: Path, host: tuple[str, dict[str, Any]], reason: str
) -> None:
    found = runner.facts(inventory(tmp_path, host), FACT)
    assert list(found) == [host[0]]
    assert found[host[0]].reason.startswith(reason)
    assert "Traceback" not in found[host[0]].reason


@pytest.mark.parametrize(
    ("text", "fact", "words"),
    [
        ("sparks = ['@fake/a']", "facts.files.Nope", "No such attribute in module facts.files: Nope"),
        ("sparks = [(", FACT, "'(' was never closed"),
    ],
)
def test_an_error_is_a_sentence(tmp_path: Path, text: str, fact: str, words: str) -> None:
    file = tmp_path / "pair.py"
    file.write_text(text)
    with pytest.raises(RunError) as caught:
        runner.facts(file, fact)
    said = str(caught.value)
    assert words in said
    assert "Traceback" not in said
    assert "\n" not in said
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("--> Loading\n--> pyinfra error: No such thing\n", "No such thing"),
        ("--> Loading\nTraceback\n  File x\nKeyError: 'a'\n", "File x KeyError: 'a'"),
        ("--> Loading\n", "--> Loading"),
        ("", "pyinfra said nothing"),
    ],
)
def test_last_words(text: str, words: str) -> None:
    assert runner._last_words(text) == words


@pytest.mark.parametrize(
    ("together", "flags", "goes_on"),
    [
        (True, (), False),
        (True, ("--fail-percent", "100"), True),
        (True, ("--fail-percent", "49"), False),
        (False, (), True),
    ],
)
def test_stop_together_against_fail_percent(
    tmp_path: Path, together: bool, flags: tuple[str, ...], goes_on: bool
) -> None:
    """stop_together() counts where no --fail-percent was given; which wins where one was."""
    file = inventory(tmp_path, fake("a"), GONE, together=together)
    done = subprocess.run(
        runner.command("--json", *flags, str(file), "fact", FACT),
        cwd=runner.ROOT,
        env=runner.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if goes_on:
        assert json.loads(done.stdout) == {FACT: {"@fake/a": CONTENT}}
    else:
        assert done.returncode == 1
        assert "% of hosts failed (50%)" in done.stderr
