"""Where the history lies on the disk of the one who measures: read, and only ever appended to."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from sparkrig.bandwidth import history
from sparkrig.bandwidth.history import History, LaterVersion
from sparkrig.bandwidth.measurement import Run
from sparkrig.cure import quoted_path
from sparkrig.refusal import Refusal
from sparkrig.ssh import controller
from sparkrig.terminal import planted
from sparkrig.text import reason

_WAIT_SECONDS = 5  # a line is written in milliseconds; a process that holds the lock longer was stopped

_CURES = {
    errno.EACCES: "ls -ld {folder} {path}; it may belong to root after a run with sudo",
    errno.EPERM: "{attributes}; it may be immutable, or belong to another user",
    errno.EROFS: "{mounted}",
    errno.ENOSPC: "df -h {folder}",
    errno.EDQUOT: "quota",
    errno.EISDIR: "mv {path} {path}.aside",
    errno.ENOTDIR: "ls -ld {folder}; a file stands where the folder should",
    errno.EEXIST: "ls -ld {folder}; a file stands where the folder should",
}


def path(pair: str) -> Path:
    """The history of a pair in the user's state folder; any pair name makes one safe file name."""
    from platformdirs import user_state_path

    name = quote(pair, safe="")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) > 200:  # file systems end at 255 bytes
        name = name[:180] + "~" + hashlib.sha256(pair.encode()).hexdigest()[:16]
    return user_state_path("sparkrig") / "bandwidth" / f"{name}.jsonl"


def read(pair: str, file: Path | None = None) -> History:
    """What was measured before; empty where nothing was. Raises Refusal, in words, where it cannot be read."""
    place = file or path(pair)
    try:
        with _open(place, os.O_RDONLY | os.O_NONBLOCK) as handle, os.fdopen(handle, "rb", closefd=False) as lines:
            return history.loads(lines.read().decode(errors="replace"))
    except LaterVersion as error:
        aside = f"mv {quoted_path(place)} {quoted_path(place)}.aside, and the next run begins a new one"
        raise Refusal(f"cannot read the history {place}: {error}", aside) from None
    except FileNotFoundError:
        return History()
    except OSError as error:
        raise _refusal("read", place, error) from None


def append(run: Run, file: Path | None = None) -> Path:
    """Add the line of a run, on the disk when this returns: all of it or nothing. Gives the file.

    Raises Refusal, in words, where that cannot be done; then the file is as it was.
    """
    place = file or path(run.pair)
    try:
        # not O_WRONLY: that would wait for ever on a named pipe
        with _open(place, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, make=0o700) as handle:
            _lock(handle)
            _write(handle, history.dumps([history.entry(run)]).encode())
    except OSError as error:
        raise _refusal("write", place, error) from None
    return place


@contextmanager
def _open(place: Path, flags: int, make: int | None = None) -> Iterator[int]:
    with planted.place(place, make) as at:
        handle = os.open(at.name, flags | os.O_CLOEXEC, 0o600, dir_fd=at.folder)
    try:
        found = os.fstat(handle)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "Not a regular file")
        if at.planted and found.st_nlink > 1:  # a second name of any file
            raise planted.Planted(at.name)
        yield handle
    finally:
        os.close(handle)


def _lock(handle: int) -> None:
    """Hold the file against other runs until it is closed."""
    end = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= end:
                raise OSError(errno.EBUSY, "another process has held it locked for too long") from None
            time.sleep(0.05)


def _write(handle: int, data: bytes) -> None:
    """One write and one sync; what was written in part is taken back."""
    size = os.fstat(handle).st_size
    if size and os.pread(handle, 1, size - 1) != b"\n":  # a power cut tore the last line: it stays one line
        data = b"\n" + data
    try:
        if os.write(handle, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(handle)
    except OSError:
        os.ftruncate(handle, size)
        raise


def _refusal(verb: str, place: Path, error: OSError) -> Refusal:
    cure = _CURES.get(error.errno or 0, "ls -ld {folder} {path}").format(
        folder=quoted_path(place.parent),
        path=quoted_path(place),
        attributes=controller.attributes(place),
        mounted=controller.mounted(place.parent),
    )
    return Refusal(f"cannot {verb} the history {place}: {reason(error)}", cure)
