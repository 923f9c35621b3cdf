"""The runs of this machine: whether one of its own earlier processes is dead.

Each run holds a file of its name locked for as long as its process lives. The kernel drops that lock with the
process, however it ends, so there is no process number to be mistaken for another's.
"""

from __future__ import annotations

import atexit
import time
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

_KEPT_S = 30 * 86400  # as long as a host could remember a run whose controller never came back
_HELD: dict[Path, FileLock] = {}


def claim(run: str) -> None:
    """Hold a run until this process ends. Raises OSError where the state folder cannot be written."""
    file = _folder() / run
    if file in _HELD:
        return
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _forget_old()
    lock = _lock(file)
    lock.acquire()
    _HELD[file] = lock
    atexit.register(_forget, file)


def dead(run: str) -> bool:
    """Whether that run was one of this machine's, and its process has ended without giving it up.

    It is not known to be dead where the state folder cannot be read.
    """
    file = _folder() / Path(run).name  # a host's word for it, which must lead nowhere else
    try:
        return bool(run) and file not in _HELD and file.is_file() and _free(file)
    except OSError:
        return False


def _free(file: Path) -> bool:
    """Whether no process holds it. Raises OSError where it cannot be opened."""
    try:
        with _lock(file):
            return True
    except Timeout:
        return False


def _lock(file: Path) -> FileLock:
    """A lock of the kernel's or none: the file itself, which outlives the process, means nothing."""
    return FileLock(file, timeout=0, mode=0o600, thread_local=False, fallback_to_soft=False)


def _forget(file: Path) -> None:
    with suppress(OSError):  # one that stays is free, and goes with the old ones
        file.unlink()


def _folder() -> Path:
    from platformdirs import user_state_path

    return user_state_path("sparkrig") / "runs"


def _forget_old() -> None:
    for file in _folder().iterdir():
        if time.time() - file.stat().st_mtime > _KEPT_S and dead(file.name):
            _forget(file)
