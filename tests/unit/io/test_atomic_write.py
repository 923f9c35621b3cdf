"""Files of this machine that are replaced as a whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sparkrig.io.atomic_write import read, write
from sparkrig.refusal import Refusal


def mode(file: Path) -> str:
    return oct(file.stat().st_mode)[-3:]


def test_a_new_file_has_the_mode_that_was_asked_for(tmp_path: Path) -> None:
    write(tmp_path / "new", "one\r\ntwo\n", 0o640)
    assert (tmp_path / "new").read_bytes() == b"one\r\ntwo\n"
    assert mode(tmp_path / "new") == "640"


def test_a_file_keeps_its_mode_and_a_link_stays_one(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o604)
    link.symlink_to(real)
    write(link, "new")
    assert (link.is_symlink(), real.read_text(), mode(real)) == (True, "new", "604")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "real"]


def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    write(Path("/dev/null"), "text")
    assert Path("/dev/null").is_char_device()
    reader, writer = os.pipe()
    write(Path(f"/dev/fd/{writer}"), "text")
    os.close(writer)
    with os.fdopen(reader) as stream:
        assert stream.read() == "text"


def test_what_cannot_be_written_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="cannot be written: no such file or directory"):
        write(tmp_path / "none" / "file", "text")
    (tmp_path / "folder").mkdir()
    with pytest.raises(Refusal, match="cannot be written: is a directory"):
        write(tmp_path / "folder", "text")
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


def test_bytes_that_are_no_text_and_line_ends_go_back_as_they_were(tmp_path: Path) -> None:
    """Others' lines in known_hosts may be in any encoding."""
    file, stood = tmp_path / "known_hosts", b"a ssh-rsa x caf\xe9\r\n\n"
    file.write_bytes(stood)
    write(file, read(file, "surrogateescape") + "b\n")
    assert file.read_bytes() == stood + b"b\n"
    with pytest.raises(Refusal, match="is no text in UTF-8"):
        read(file)
    with pytest.raises(Refusal, match="cannot be read: no such file"):
        read(tmp_path / "none")
