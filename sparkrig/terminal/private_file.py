"""Files of this machine with a secret in them: read only where nobody but their owner may read them."""

from __future__ import annotations

import stat
from pathlib import Path
from secrets import token_hex

from sparkrig.cure import quoted_path
from sparkrig.refusal import Refusal
from sparkrig.terminal import atomic_write
from sparkrig.text import reason

_BYTES = 32  # of a key that is made here
_MOST = 65536  # bytes; a key or a few addresses


def make_key(file: Path) -> None:
    """Put a new key into a file where there is none yet. Raises Refusal, also for a key that others can read."""
    if not file.exists():
        atomic_write.folder(file)
        atomic_write.create(file, f"{token_hex(_BYTES)}\n".encode(), 0o600)
    read(file)


def read(file: Path) -> str:
    """The text of such a file. Raises Refusal, which has nothing of it in it; empty where it is no text."""
    try:
        found = file.stat()
        if not stat.S_ISREG(found.st_mode):  # a pipe would be waited for
            raise Refusal(f"{file} cannot be read: it is no file", f"ls -l {quoted_path(file.parent)}")
        content = file.read_bytes()[: _MOST + 1]
    except OSError as error:
        raise Refusal(f"{file} cannot be read: {reason(error)}", f"ls -l {quoted_path(file.parent)}") from None
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o077:
        raise Refusal(f"{file} can be read by others (mode {mode:o})", f"chmod 600 {quoted_path(file)}")
    try:
        return content.decode("utf-8") if len(content) <= _MOST else ""
    except UnicodeDecodeError:
        return ""
