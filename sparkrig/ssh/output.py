"""What a command prints, as rows of text with an end: the same over ssh and on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sparkrig.parsing import bounds

CHUNK = 65_536


def excess() -> str:
    """Why the output of a command was cut."""
    return f"it printed more than the {bounds.STREAM_BYTES >> 20} MiB and {bounds.STREAM_ROWS} rows expected"


def rows(read: Callable[[int], bytes], cut: Callable[[], None]) -> Iterator[str]:
    """Each row of a stream with its end, and U+FFFD in place of what is no UTF-8.

    read: the next bytes, none at the end; cut: is called where there are too many rows, and lets `read` end.
    """
    row: list[bytes] = []
    count = 0
    while data := read(CHUNK):
        ended, end, rest = data.rpartition(b"\n")
        if end:
            whole = b"".join([*row, ended]).decode(errors="replace").split("\n")
            yield from (f"{each}\n" for each in whole)
            row.clear()
            count += len(whole)
        row.append(rest)
        if count > bounds.STREAM_ROWS:
            cut()
    if any(row):
        yield b"".join(row).decode(errors="replace")
