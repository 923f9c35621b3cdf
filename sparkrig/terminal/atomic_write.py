"""Files of this machine that are replaced as a whole: a reader sees the old or the new file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sparkrig.cure import quoted_path
from sparkrig.refusal import Refusal
from sparkrig.terminal import planted
from sparkrig.terminal.planted import Place
from sparkrig.text import reason


def create(file: Path, content: bytes, mode: int = 0o600) -> None:
    """Put content into a new file; a reader sees all of it or no file. Raises Refusal where one is there."""
    try:
        if file.is_symlink():
            raise FileExistsError
        with planted.place(file) as at, _beside(at, content, mode) as new:
            # unlike a rename, it fails where there is a file
            os.link(new, at.name, src_dir_fd=at.folder, dst_dir_fd=at.folder, follow_symlinks=False)
    except FileExistsError:
        raise Refusal(f"{file} is there already, and is not overwritten", f"ls -l {quoted_path(file)}") from None
    except OSError as error:
        raise _refusal("written", file, error) from None


def folder(file: Path, mode: int = 0o700) -> None:
    """Make the folder of a file, and those above it, where it is not there. Raises Refusal."""
    try:
        with planted.place(file, make=mode):
            return
    except OSError as error:
        raise _refusal("made", file.parent, error) from None


def remove(file: Path) -> None:
    """Remove a file that `write` may have written. Raises Refusal."""
    try:
        with planted.place(file) as at, suppress(FileNotFoundError):
            os.unlink(at.name, dir_fd=at.folder)
    except FileNotFoundError:  # nor is its folder there
        return
    except OSError as error:
        raise _refusal("removed", file, error) from None


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

    mode: of a new file, and of one that another user can have put there, as such a link is refused. What is no
    file, such as /dev/stdout or a pipe, is written to as it is.
    """
    content = text.encode(errors="surrogateescape")
    try:
        with planted.place(file) as at:
            if at.special:
                _pour(at, content)
                return
            kept = mode if at.status is None or at.planted else at.status.st_mode & 0o777
            with _beside(at, content, kept) as new:
                os.replace(new, at.name, src_dir_fd=at.folder, dst_dir_fd=at.folder)
    except OSError as error:
        raise _refusal("written", file, error) from None


def _pour(at: Place, content: bytes) -> None:
    """Into a pipe or a device. One of another user may wait for ever, or be a disk."""
    if at.planted:
        raise planted.Planted(at.name)
    with os.fdopen(os.open(at.name, os.O_WRONLY | os.O_CLOEXEC, dir_fd=at.folder), "wb") as stream:
        stream.write(content)


@contextmanager
def _beside(at: Place, content: bytes, mode: int) -> Iterator[str]:
    """A file with that content in the same folder, all of it on the disk; gone afterwards under that name."""
    new = f".{at.name}.{os.urandom(4).hex()}"
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=at.folder)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        yield new
    finally:
        with suppress(FileNotFoundError):
            os.unlink(new, dir_fd=at.folder)


def _refusal(done: str, file: Path, error: OSError) -> Refusal:
    return Refusal(f"{file} cannot be {done}: {reason(error)}", f"ls -ld {quoted_path(file.parent)}")
