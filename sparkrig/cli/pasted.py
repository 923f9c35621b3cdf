"""Text that a person pastes, pipes in or names as a file: bounded, and decoded as an editor or shell writes it."""

from __future__ import annotations

import sys
from typing import BinaryIO

import click

from sparkrig.cure import quoted_path

_MOST = 2_000_000  # bytes; a long log of NCCL has a tenth of it
_LINES = 200_000  # as many of ten bytes each, which are blank or noise


def text(file: BinaryIO, source: str, instead: str) -> str:
    """All that a file has; exit code 1 where that is more than the bound.

    source: of what it should be, as in `tool prints`; instead: the command to try, with FILE for the file.
    """
    content = file.read(_MOST + 1)
    if len(content) > _MOST:
        raise _too_long(file, f"{_MOST // 1_000_000} MB", source, instead)
    if content.count(b"\n") > _LINES:
        raise _too_long(file, f"{_LINES:,} lines", source, instead)
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    return content.decode("utf-16" if wide else "utf-8-sig", errors="replace")


def _too_long(file: BinaryIO, bound: str, source: str, instead: str) -> click.ClickException:
    piped = file is sys.stdin.buffer or file.name == "-"
    name, at_hand = ("standard input", "FILE") if piped else (file.name, quoted_path(file.name))
    return click.ClickException(
        f"{name} has more than {bound}, which no {source}; nothing of it was read. "
        f"Try: {instead.replace('FILE', at_hand)}"
    )
