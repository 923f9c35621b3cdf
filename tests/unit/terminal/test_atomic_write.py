"""Files of this machine that are replaced as a whole."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sparkrig.bandwidth.io import history_file
from sparkrig.refusal import Refusal
from sparkrig.terminal.atomic_write import create, folder, read, remove, write
from sparkrig.verdict import Verdict
from tests.faults.record import Seen
from tests.tables import each_row
from tests.unit.bandwidth_calls import measured

RUN = measured("left", Verdict("healthy"))


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


# --- what another user of this machine can have put there

STRANGER = 4711


def planted(desk: Path, shape: str, of: str) -> Path:
    """A path below a desk whose last or last but one name is a link to a file of ours. of: who could plant it."""
    ours, theirs = desk / "ours", desk / "theirs"
    ours.mkdir(mode=0o700)
    theirs.mkdir()
    (ours / "key").write_text("secret\n")
    if shape == "file":
        link, asked = theirs / "key", theirs / "key"
        link.symlink_to(ours / "key")
    elif shape == "folder":
        link, asked = theirs / "way", theirs / "way" / "key"
        link.symlink_to(ours)
    else:  # a trusted link leads to the one that is none
        link, asked = theirs / "way", desk / "first" / "key"
        link.symlink_to(ours)
        (desk / "first").symlink_to(theirs / "way")
    theirs.chmod({"anyone": 0o777, "anyone in a sticky folder": 0o1777, "a group": 0o770}.get(of, 0o755))
    if of != "anyone":
        os.chown(theirs if of == "the folder's owner" else link, STRANGER, STRANGER, follow_symlinks=False)
    return asked


SHAPES = ("file", "folder", "a link to it")
GIVEN = ("the folder's owner", "anyone in a sticky folder", "a group")  # only root can give a file away
PLANTERS = ("anyone", *(() if os.geteuid() else GIVEN))
WRITERS: dict[str, Callable[[Path], object]] = {
    "write": lambda file: write(file, "forged"),
    "create": lambda file: create(file, b"forged"),
    "folder": lambda file: folder(file.with_name("new") / "file"),
    "remove": remove,
    "append": lambda file: history_file.append(RUN, file),
}


@pytest.mark.fault(51)
def test_no_writer_follows_a_link_that_another_user_can_have_put_there(tmp_path: Path, seen: Seen) -> None:
    def holds(shape: str, of: str, writer: str) -> None:
        desk = Path(tempfile.mkdtemp(dir=tmp_path))
        asked = planted(desk, shape, of)
        if (shape, writer) == ("file", "folder"):
            return  # which makes the folder beside it, and no link is in its way
        with pytest.raises(Refusal):
            WRITERS[writer](asked)
        assert {each.name: each.read_text() for each in (desk / "ours").iterdir()} == {"key": "secret\n"}

    rows = list(itertools.product(SHAPES, PLANTERS, WRITERS))
    each_row(rows, holds)
    seen(f"{len(rows)} links that another user put in the way of a file: refused, and what they led to was whole")


def test_a_link_that_no_other_user_can_have_put_there_is_followed(tmp_path: Path) -> None:
    def holds(made: Callable[[Path], object]) -> None:
        desk = Path(tempfile.mkdtemp(dir=tmp_path))
        (desk / "real").mkdir()
        (desk / "way").symlink_to("real")
        made(desk)
        folder(desk / "way" / "deep" / "file")
        write(desk / "way" / "deep" / "file", "text")
        assert (desk / "real" / "deep" / "file").read_text() == "text"

    each_row(
        [lambda desk: desk.chmod(0o755), lambda desk: desk.chmod(0o775), lambda desk: desk.chmod(0o1777)], holds
    )


def test_in_the_folder_of_another_user_a_file_of_theirs_is_replaced_and_its_mode_is_not_kept(
    tmp_path: Path,
) -> None:
    """node_exporter's folder belongs to the user of the exporter."""
    file, aside = tmp_path / "textfiles" / "a.prom", tmp_path / "aside"
    file.parent.mkdir()
    aside.write_text("ours\n")
    os.link(aside, file)  # a second name of a file of ours
    file.chmod(0o4666)
    file.parent.chmod(0o777)
    write(file, "metrics\n")
    assert (file.read_text(), mode(file), file.stat().st_mode & 0o7000) == ("metrics\n", "644", 0)
    assert aside.read_text() == "ours\n"
    os.link(aside, file.with_name("history"))
    with pytest.raises(Refusal, match="another user can have put history there"):
        history_file.append(RUN, file.with_name("history"))
    os.mkfifo(file.with_name("pipe"))
    with pytest.raises(Refusal, match="another user can have put pipe there"):
        write(file.with_name("pipe"), "text")
