"""Plain files in a tar archive, as GNU tar writes them: one program that reads many files, each of them whole.

Python's tarfile reads every format there ever was, and follows what a header claims; this is data of a host, and
one form of it is expected: that of `--format=gnu` (tar(5)).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_BLOCK = 512
_SIZE = re.compile(rb"[0-7]{11}\0")
_MODE = re.compile(rb"0*([0-7]{3,4})\0")
_FILE, _LONG_NAME = b"0", b"L"  # the content of the latter is the name of the file behind it
_NAMELESS = "UNKNOWN"  # of an owner that is a number without a name, as stat prints it


@dataclass(frozen=True)
class Member:
    """A file of an archive.

    mode: its octal digits, without zeros in front; owner: `USER:GROUP`; at: when it was written, in seconds since
    1970.
    """

    path: str
    mode: str
    owner: str
    content: bytes
    at: int = 0


def files(data: bytes) -> Iterator[Member]:
    """Its files, in their order. Raises ValueError for what is no file, and where the archive is cut short."""
    at, longer = 0, ""
    while any(head := data[at : at + _BLOCK]):
        member = _member(head, data[at + _BLOCK :])
        at += _BLOCK + -(-len(member.content) // _BLOCK) * _BLOCK
        if head[156:157] == _LONG_NAME:
            longer = _text(member.content)
            continue
        yield replace(member, path=longer or member.path)
        longer = ""
    if len(head) < _BLOCK:
        raise ValueError("an archive of files has no end")


def _member(head: bytes, rest: bytes) -> Member:
    size, mode = _SIZE.fullmatch(head[124:136]), _MODE.fullmatch(head[100:108])
    if (
        len(head) < _BLOCK
        or head[257:262] != b"ustar"
        or head[156:157] not in (_FILE, _LONG_NAME)
        or not size
        or not mode
    ):
        raise ValueError("an archive of files has what is no plain file")
    length = int(size[0][:-1], 8)
    if len(rest) < length:
        raise ValueError("an archive of files is cut short")
    name, user, group = (_text(head[start:end]) for start, end in ((0, 100), (265, 297), (297, 329)))
    owner = f"{user or _NAMELESS}:{group or _NAMELESS}"
    at = _SIZE.fullmatch(head[136:148])  # a time is written as a size is
    return Member(name, mode[1].decode().lstrip("0") or "0", owner, rest[:length], int(at[0][:-1], 8) if at else 0)


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "replace")
