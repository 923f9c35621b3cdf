"""The place of a file on this machine, found so that no other user can have chosen it.

Whoever may write to a folder can put a link into it, which leads what is written to another file of the one who
writes. So a path is opened folder by folder, and a link in it is followed only where no other user can have put it
there. What no link leads away is written where it was asked for, in the folder of another user too.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

# O_PATH: a folder that may be passed through and not be read, as the home folders of others; macOS has none
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LINKS = 40  # as many as the kernel follows in one path (path_resolution(7))


class Planted(OSError):
    """What another user of this machine can have put there."""

    def __init__(self, what: str) -> None:
        super().__init__(errno.ELOOP, f"another user can have put {what} there")


@dataclass(frozen=True)
class Place:
    """A name in an open folder. status: of what stands there, which is no link but one of the kernel's own."""

    folder: int
    name: str
    status: os.stat_result | None
    planted: bool

    @property
    def special(self) -> bool:
        """Whether it is a pipe, a terminal or another device, which no file can take the place of."""
        return self.status is not None and stat.S_IFMT(self.status.st_mode) not in (stat.S_IFREG, stat.S_IFDIR)


@contextmanager
def place(file: Path, make: int | None = None) -> Iterator[Place]:
    """Where a file is or will be. make: the mode of folders that are missing. Raises OSError, Planted too."""
    folder = os.open(".", _FOLDER)
    parts, links = [*reversed(file.parts)] or ["."], 0
    try:
        while True:
            name = parts.pop()
            status = _status(name, folder)
            planted = status is not None and _planted(os.fstat(folder), status)
            target = os.readlink(name, dir_fd=folder) if status and stat.S_ISLNK(status.st_mode) else None
            if target is not None and not _is_kernels(target):
                links += 1
                if planted:
                    raise Planted(f"the link {name}")
                if links > _LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                parts += reversed(Path(target).parts)
                continue
            if not parts:
                yield Place(folder, name, status, planted)
                return
            if status is None and make is not None:
                with suppress(FileExistsError):  # by another process, just now
                    os.mkdir(name, make, dir_fd=folder)
            folder = _into(name, folder)
    finally:
        os.close(folder)


def _status(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _into(name: str, folder: int) -> int:
    """A folder of an open one, or from the root, which takes its place."""
    inner = os.open(name, _FOLDER, dir_fd=folder)
    os.close(folder)
    return inner


def _is_kernels(target: str) -> bool:
    """Whether a link of /proc/self/fd leads to what has no path, such as `pipe:[4711]` (proc_pid_fd(5))."""
    kind, _, rest = target.partition(":[")
    return kind.isalpha() and rest.endswith("]")


def _planted(folder: os.stat_result, status: os.stat_result) -> bool:
    """Whether another user can have put there what stands in a folder."""
    us = (0, os.geteuid())
    if folder.st_uid not in us:
        return True
    if not folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return False
    # a group is often a user's own; whoever is in another one can rename a link of ours, and makes none
    anyone = folder.st_mode & stat.S_IWOTH and not folder.st_mode & stat.S_ISVTX
    return bool(anyone) or status.st_uid not in us
