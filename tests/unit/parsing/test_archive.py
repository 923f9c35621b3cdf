"""An archive of plain files as GNU tar writes it, and nothing else."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sparkrig.parsing import archive
from tests.tables import each_row

BLOCK = 512


def packed(*paths: Path, more: tuple[str, ...] = ()) -> bytes:
    words = ["tar", "-c", "-P", "-b", "1", "--format=gnu", "--no-recursion", *more, "-f", "-", "--"]
    return subprocess.run([*words, *map(str, paths)], capture_output=True, check=True).stdout


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    texts = {
        "empty": b"",
        "one block": b"x" * BLOCK,
        "one more": b"y" * (BLOCK + 1),
        "no text": bytes(range(256)),
        "zeros": bytes(3 * BLOCK),
        "name \n; $(id)": b"ustar",
        "n" * 180: b"its name has more than 100 bytes",
    }
    for name, content in texts.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o640)
    return [tmp_path / name for name in texts]


def test_each_file_is_read_with_its_mode_and_owner(files: list[Path]) -> None:
    found = list(archive.files(packed(*files)))
    assert [each.path for each in found] == [str(file) for file in files]
    assert [each.content for each in found] == [file.read_bytes() for file in files]
    owners = subprocess.run(["stat", "-c", "%a %U:%G", *files], capture_output=True, text=True, check=True).stdout
    assert [f"{each.mode} {each.owner}" for each in found] == owners.splitlines()


def test_an_owner_without_a_name_is_printed_as_stat_does(files: list[Path]) -> None:
    if os.geteuid() == 0:
        os.chown(files[0], 54321, 54321)
        (found,) = archive.files(packed(files[0]))
    else:
        (found,) = archive.files(packed(files[0], more=("--owner=:54321", "--group=:54321")))
    assert found.owner == "UNKNOWN:UNKNOWN"


def test_no_archive_is_refused_in_a_sentence(files: list[Path], tmp_path: Path) -> None:
    whole = packed(*files)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(files[1])
    os.link(files[1], tmp_path / "twin")

    def header(change: Callable[[bytearray], object]) -> bytes:
        changed = bytearray(whole)
        change(changed)
        return bytes(changed)

    def refused(data: bytes) -> None:
        with pytest.raises(ValueError, match="an archive of files"):
            list(archive.files(data))

    each_row(
        {
            "nothing": (b"",),
            "no tar": (b"x" * 2048,),
            "a folder": (packed(tmp_path / "folder"),),
            "a link": (packed(tmp_path / "link"),),
            "a second name": (packed(files[1], tmp_path / "twin"),),
            "a size below zero": (header(lambda data: data.__setitem__(slice(124, 136), b"-0000000001\0")),),
            "a size in base 256": (header(lambda data: data.__setitem__(slice(124, 136), b"\x80" + bytes(11))),),
            "a huge size": (header(lambda data: data.__setitem__(slice(124, 136), b"77777777777\0")),),
            "a mode that is none": (header(lambda data: data.__setitem__(slice(100, 108), b"rw-r--r-")),),
        },
        refused,
    )
    each_row([(whole[:length],) for length in range(1, len(whole) - 2 * BLOCK, 333)], refused)
    assert len(list(archive.files(packed(files[1], tmp_path / "twin", more=("--hard-dereference",))))) == 2
