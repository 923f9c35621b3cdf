"""The files of ours on a host: read, and compared."""

from __future__ import annotations

import base64

import pytest

from sparkrig.files import File, Found, parse, stale
from sparkrig.parsing import encoding
from sparkrig.runs.change import of_file

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


def test_a_file_that_is_no_text_is_never_as_it_should_be() -> None:
    """What stands for its bytes may be the very text that is wanted."""
    encoded = base64.b64encode(b"a\ncaf\xe9\n").decode()
    (found,) = parse([f"/etc/nccl.conf 644 root:root {encoded}"]).values()
    assert found.fault == "not UTF-8 text (byte 0xe9 in line 2)"
    assert not found.matches(File("/etc/nccl.conf", found.content))
    made = of_file(File("/etc/nccl.conf", "a\n"), found)
    assert (
        made.before
        and made.before.startswith(f"it is {found.fault}, ")
        and all(row.isprintable() for row in made.diff)
    )
    assert encoding.fault("é\r\n".encode()) == encoding.fault(b"") == ""
    assert encoding.look("/a b") == "sudo iconv -f UTF-8 -t UTF-8 '/a b'"
