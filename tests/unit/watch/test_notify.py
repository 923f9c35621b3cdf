"""Notices to servers that mean no good: they hang, lead elsewhere, or answer without end."""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path

import pytest

from sparkrig.watch.io import notify
from sparkrig.watch.schedule import Notice
from tests.attacks.servers import Answer, drip, flood, hang, server, well

SECRET = "s3cret-t0ken"
NOTICE = Notice("pair.py: 1 new", "NEW a net.mtu: 1500", "failure")


def addresses(file: Path, *lines: str) -> Path:
    file.touch(mode=0o600)
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.mark.slow  # a process that loads apprise has its time before it is given up
@pytest.mark.parametrize("answer", [hang, drip, flood])
def test_one_that_does_not_end_its_answer_is_given_up_and_the_others_have_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    monkeypatch.setattr(notify, "LIMIT_S", 15.0)
    with server(answer) as (port, _), server(well) as (other, asked):
        file = addresses(
            tmp_path / "notify", f"json://127.0.0.1:{port}/{SECRET}", f"json://127.0.0.1:{other}/{SECRET}"
        )
        began = time.monotonic()
        failed, every = notify.send(file, NOTICE)
        assert time.monotonic() - began < 60
        assert every == 2 and len(failed) == 1 and failed[0].startswith(f"line 1 of {file} (JSON) did not ")
        assert len(asked) == 1 and SECRET not in failed[0]


def test_no_redirect_is_followed(tmp_path: Path) -> None:
    """It could lead to another host, which would have the secret of the path, or the notice."""
    with server(well) as (other, asked):

        def elsewhere(client: socket.socket) -> None:
            to = f"Location: http://127.0.0.1:{other}/{SECRET}"
            client.sendall(f"HTTP/1.1 307 Moved\r\n{to}\r\nContent-Length: 0\r\n\r\n".encode())

        with server(elsewhere) as (port, _):
            file = addresses(tmp_path / "notify", f"json://127.0.0.1:{port}/{SECRET}")
            assert len(notify.send(file, NOTICE)[0]) == 1
        assert asked == []


def test_no_word_of_a_process_has_an_address_and_no_file_of_the_folder_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every user can read the words of a process; a project may have a file of any name."""
    (tmp_path / "apprise.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    words: list[str] = []
    sys.addaudithook(
        lambda event, given: words.extend(map(str, given[1])) if event == "subprocess.Popen" else None
    )
    with server(well) as (port, asked):
        file = addresses(tmp_path / "notify", f"json://127.0.0.1:{port}/{SECRET}")
        assert notify.send(file, NOTICE) == ([], 1)
        assert len(asked) == 1
    assert words and SECRET not in " ".join(words) and SECRET not in str(os.environ)
