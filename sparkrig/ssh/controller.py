"""What differs between the systems that sparkrig is typed on: Linux, Linux in WSL, and macOS.

What Linux alone has stands here, with what takes its place. `mypy --platform darwin` (make lint) finds a use of it
in any other module, and tests/plan/test_other_system.py runs the verbs without it. No Mac was at hand, so nothing
of sparkrig was run on one.
"""

from __future__ import annotations

import os
import platform
import pwd
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


_BOOT = Path("/proc/sys/kernel/random/boot_id")  # of the kernel (random(4)); macOS has none
# what docker and podman leave in each of their containers
_IN_CONTAINER = (Path("/.dockerenv"), Path("/run/.containerenv"))


def user() -> str:
    """The user that commands of this machine run as."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a container may run as a user that its image does not know
        return str(os.geteuid())


def name() -> str:
    """What this machine calls itself, without a domain; `here` where it has no name."""
    return platform.node().partition(".")[0] or "here"


def boot_id() -> str:
    """What names this machine in this boot, in each of its containers too; empty where nothing does."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def is_linux() -> bool:
    """Whether this machine could be a Spark at all."""
    return sys.platform == "linux"


def contained() -> bool:
    """Whether this process runs in a container, whose files are not those of the machine."""
    return any(file.exists() for file in _IN_CONTAINER)


def under_sudo() -> bool:
    """Whether it was root only by sudo that another user called."""
    return os.geteuid() == 0 and os.environ.get("SUDO_USER", "root") != "root"


def make_room(files: int) -> None:
    """Raise the limit of open files, as far as this user may: macOS begins with 256, Linux with 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < files:
        most = files if hard == resource.RLIM_INFINITY else min(files, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
