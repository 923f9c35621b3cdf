"""Files of this machine that are replaced as a whole: whoever reads one sees the old or the new one."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from sparkrig.refusal import Refusal
from sparkrig.words import reason


def write(file: Path, text: str, mode: int = 0o644) -> None:
    """Put a text into a file; a link stays one, and a file that stood there keeps its mode. Raises Refusal.

    mode: of a new file. What is no file, such as /dev/stdout or a pipe, is written to as it is.
    """
    try:
        if file.exists() and not file.is_file() and not file.is_dir():
            file.write_text(text, encoding="utf-8", newline="")
            return
        real = file.resolve()
        kept = stat.S_IMODE(real.stat().st_mode) if real.exists() else mode
        handle, new = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
                stream.write(text)
                stream.flush()
                os.fchmod(stream.fileno(), kept)
                os.fsync(stream.fileno())
            Path(new).replace(real)
        except BaseException:
            Path(new).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Refusal(f"{file} cannot be written: {reason(error)}", f"ls -ld {file.parent}") from None
