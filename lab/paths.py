"""Where the lab lives: one folder, and nothing outside it."""

from __future__ import annotations

import os
from pathlib import Path

from lab.errors import LabError

# sun_path of a Unix socket, the closing NUL included.
SOCKET_PATH_LIMIT = 108
LONGEST_SOCKET = "spark-a/enP2p1s0f0np0.rail"


def home() -> Path:
    """The lab's folder: `SPARKRIG_LAB_DIR`, by default `~/.cache/sparkrig/lab`.

    Raises LabError where sockets below it would have names too long for the kernel.
    """
    folder = Path(os.environ.get("SPARKRIG_LAB_DIR") or "~/.cache/sparkrig/lab").expanduser().absolute()
    longest = len(os.fsencode(folder / LONGEST_SOCKET))
    if longest >= SOCKET_PATH_LIMIT:
        room = SOCKET_PATH_LIMIT - 1 - len(LONGEST_SOCKET) - 1
        raise LabError(
            f"the lab folder {folder} has too long a name for Unix sockets",
            expected=f"at most {room} characters",
            attempt="SPARKRIG_LAB_DIR=/var/tmp/lab sparkrig lab up",
        )
    return folder


def node_folder(node: str) -> Path:
    """Everything of one guest: disk, sockets, pid file, console."""
    return home() / node


def images() -> Path:
    """The image cache, one folder per image key."""
    return home() / "images"
