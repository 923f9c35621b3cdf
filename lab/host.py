"""What this machine must have before the lab can run, each missing thing reported in one sentence."""

from __future__ import annotations

import os
import platform
import shutil
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from lab.errors import LabError
from lab.paths import home

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
TOOLS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
}
BUILD_TOOLS = {"mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs", "sfdisk": "fdisk", "tar": "tar"}
# A build passes through a tree, a tarball, a raw disk and a compressed one; then come three guests' disks.
BUILD_GIB = 6.0
RUN_GIB = 1.5
QEMU_MIB = 256  # beside the memory of its guest: translated code, buffers
MEMORY = Path("/proc/meminfo")


def require_tools(tools: dict[str, str]) -> None:
    """LabError naming the apt packages of the programs that are not there."""
    path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    missing = [tool for tool in tools if not shutil.which(tool, path=path)]
    if missing:
        packages = " ".join(sorted({tools[tool] for tool in missing}))
        raise LabError(
            f"the lab needs {', '.join(missing)}, which this machine lacks",
            expected=f"the apt packages {packages}",
            attempt=f"sudo apt-get install {packages}",
        )


def require_build_host() -> None:
    """LabError where an image cannot be built here."""
    if platform.machine() != "x86_64":
        raise LabError(
            f"the lab builds x86-64 guests, and this machine is {platform.machine()}",
            expected="an x86-64 machine",
            attempt="make test-fast",
        )
    require_tools(BUILD_TOOLS if os.geteuid() == 0 else BUILD_TOOLS | {"newuidmap": "uidmap"})
    if not KEYRING.is_file():
        raise LabError(
            f"{KEYRING} is missing, so no Debian mirror could be trusted",
            expected="the apt package debian-archive-keyring",
            attempt="sudo apt-get install debian-archive-keyring",
        )
    if os.geteuid() != 0:
        require_subordinate_ids(Path("/etc/subuid").read_text() if Path("/etc/subuid").exists() else "")


def require_subordinate_ids(subuid: str) -> None:
    """LabError where this user may not map the user ids that an image needs (`subuid`: text of /etc/subuid)."""
    import pwd

    user = pwd.getpwuid(os.geteuid()).pw_name
    if not any(line.split(":")[0] in (user, str(os.geteuid())) for line in subuid.splitlines()):
        raise LabError(
            f"/etc/subuid gives {user} no subordinate user ids to build an image with",
            expected="65536 of them",
            attempt=f"sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 {user}",
        )


def require_room(folder: Path, gib: float) -> None:
    """LabError where the disk of `folder` has less than `gib` GiB left."""
    free = shutil.disk_usage(folder).free / 2**30
    if free < gib:
        raise LabError(
            f"the disk of {folder} has {free:.1f} GiB left",
            expected=f"{gib} GiB free",
            attempt="SPARKRIG_LAB_DIR=/somewhere/larger sparkrig lab up",
        )


def require_memory(guests: int, gib: float) -> None:
    """LabError where so many guests, with so many GiB each, do not fit into the memory of this machine."""
    rows = dict(line.split(":", 1) for line in MEMORY.read_text().splitlines())
    free = int(rows["MemAvailable"].split()[0]) / 2**20
    if free < guests * gib:
        raise LabError(
            f"this machine has {free:.1f} GiB of memory left",
            expected=f"{guests * gib:.1f} GiB for {guests} more guests",
            attempt="sparkrig lab up",
        )


def require_free_ports(ports: Sequence[int]) -> None:
    """LabError where something else already listens on one of `ports` of 127.0.0.1."""
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                raise LabError(
                    f"port {port} of 127.0.0.1 is in use by another program",
                    expected="it free for ssh to a guest",
                    attempt=f"SPARKRIG_LAB_PORT={port + 1000} sparkrig lab up",
                ) from error


@contextmanager
def lock() -> Iterator[None]:
    """Holds the lab for one command; LabError while another one holds it."""
    home().mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        held = FileLock(home() / "lock", timeout=0, fallback_to_soft=False).acquire()
    except Timeout as error:
        raise LabError(
            "another `sparkrig lab` command is at work on this lab",
            expected="one at a time",
            attempt="sparkrig lab status",
        ) from error
    with held:
        yield
