"""Files of this machine that are replaced as a whole: a reader sees the old or the new file."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sparkrig.cure import quoted_path
from sparkrig.refusal import Refusal
from sparkrig.text import reason


def create(file: Path, content: bytes, mode: int = 0o600) -> None:
    """Put content into a new file; a reader sees all of it or no file. Raises Refusal where one is there."""
    try:
        with _beside(file, content, mode) as new:
            os.link(new, file)  # unlike a rename, it fails where there is a file
    except FileExistsError:
        raise Refusal(f"{file} is there already, and is not overwritten", f"ls -l {quoted_path(file)}") from None
    except OSError as error:
        raise _refusal(file, error) from None


def folder(file: Path) -> None:
    """Make the folder of a file, for its owner alone, where it is not there. Raises Refusal."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _refusal(file, error) from None


def read(file: Path, errors: str = "strict") -> str:
    """The text of a file with the ends of lines that it has. Raises Refusal for one that cannot be read.

    errors: `surrogateescape` for a file that may hold other bytes, which `write` puts back as they were.
    """
    try:
        return file.read_bytes().decode(errors=errors)
    except OSError as error:
        raise Refusal(f"{file} cannot be read: {reason(error)}", f"ls -l {quoted_path(file)}") from None
    except UnicodeDecodeError:
        raise Refusal(f"{file} is no text in UTF-8", f"file {quoted_path(file)}") from None


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
        with _beside(real, text.encode(errors="surrogateescape"), kept) as new:
            new.replace(real)
    except OSError as error:
        raise _refusal(file, error) from None


@contextmanager
def _beside(file: Path, content: bytes, mode: int) -> Iterator[Path]:
    """A file with that content in the same folder, all of it on the disk; gone afterwards under that name."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    new = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        yield new
    finally:
        new.unlink(missing_ok=True)


def _refusal(file: Path, error: OSError) -> Refusal:
    return Refusal(f"{file} cannot be written: {reason(error)}", f"ls -ld {quoted_path(file.parent)}")
