"""What differs between the systems that sparkrig is typed on: Linux, Linux in WSL, and macOS.

What Linux alone has stands here, with what takes its place. `mypy --platform darwin` (make lint) finds a use of it
in any other module, and tests/plan/test_other_system.py runs the verbs without it. No Mac was at hand, so nothing
of sparkrig was run on one.
"""

from __future__ import annotations

import resource
import socket
import sys
from pathlib import Path

from sparkrig.cure import quoted_path


def end_unacknowledged(sock: socket.socket, after_s: int) -> None:
    """Have the kernel end a connection whose peer acknowledges nothing for so long.

    macOS has no such option: there the heartbeat (`sparkrig.ssh.heartbeat`) alone ends it.
    """
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None:
        sock.setsockopt(socket.IPPROTO_TCP, option, after_s * 1000)


def attributes(file: Path) -> str:
    """The command that shows whether a file is immutable."""
    return f"lsattr {quoted_path(file)}" if sys.platform == "linux" else f"ls -ldO {quoted_path(file)}"


def mounted(folder: Path) -> str:
    """The command that shows how the file system of a folder is mounted."""
    if sys.platform == "linux":
        return f"findmnt --target {quoted_path(folder)}"
    return f"df {quoted_path(folder)}; mount"


def make_room(files: int) -> None:
    """Raise the limit of open files, as far as this user may: macOS begins with 256, Linux with 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < files:
        most = files if hard == resource.RLIM_INFINITY else min(files, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
