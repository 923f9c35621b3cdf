"""The files of ours on a host: read, and compared."""

from __future__ import annotations

import base64

import pytest

from sparkrig.files import File, Found, parse, stale

WANTED = File("/etc/nccl.conf", "A=1\nümlaut\n")


def row(content: str, mode: str = "644", owner: str = "root:root") -> str:
    return f"/etc/nccl.conf {mode} {owner} {base64.b64encode(content.encode()).decode()}"


def test_parse() -> None:
    assert parse([row("A=1\n", "4755")]) == {"/etc/nccl.conf": Found("A=1\n", "4755", "root:root")}
    assert parse([]) == {}


def test_an_empty_file_is_there() -> None:
    assert parse([row("")]) == {"/etc/nccl.conf": Found("", "0644", "root:root")}


@pytest.mark.parametrize("line", ["/etc/a", "/etc/a 644 root:root", row("") + " x", "a 644 r:r %%%"])
def test_a_broken_row_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match="cannot read"):
        parse([line])


@pytest.mark.parametrize(
    ("rows", "late"),
    [
        ([], True),
        ([row(WANTED.content)], False),
        ([row(WANTED.content, "0644")], False),
        ([row("A=2\n")], True),
        ([row(WANTED.content.rstrip("\n"))], True),
        ([row(WANTED.content, "600")], True),
        ([row(WANTED.content, "4644")], True),
        ([row(WANTED.content, owner="nvidia:root")], True),
        ([row(WANTED.content, owner="root:nvidia")], True),
    ],
)
def test_stale(rows: list[str], late: bool) -> None:
    assert stale([WANTED], parse(rows)) == ([WANTED] if late else [])
