"""Written by sparkrig: look the GID index up again and put it into the environment files.

usage: refresh_gid.py NETDEV   (does nothing unless NETDEV is a rail)

It reads /etc/sparkrig/rails.json (address by netdev) and judges with gid.py, the very module that the deploy
itself uses. Where a rail has no GID yet the files stay as they are: the rail's own `up` event comes later.
"""

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from ipaddress import IPv4Interface
from pathlib import Path

import gid

RAILS = Path("/etc/sparkrig/rails.json")
FILES = (Path("/etc/nccl.conf"), Path("/etc/sparkrig/container.env"))
LOCK = Path("/run/sparkrig-gid.lock")
DEADLINE_S = 10.0  # the GID follows its address within moments


def main(netdev: str) -> int:
    rails = {name: IPv4Interface(address) for name, address in json.loads(RAILS.read_text()).items()}
    if netdev not in rails:
        return 0
    with locked():
        table = settled_table(rails)
        absent = gid.missing(table, rails)
        if absent:
            print(
                f"sparkrig: no RoCE v2 GID yet for {', '.join(absent)}; the files stay as they are",
                file=sys.stderr,
            )
            return 0
        block = gid.block(gid.choose(table, rails))
        return sum([refresh(path, block) for path in FILES])


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """NetworkManager runs one script for each event, and the rails come up together."""
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def settled_table(rails: dict[str, IPv4Interface]) -> list[gid.Gid]:
    """The GID table, once every rail stands in it or the deadline has passed."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        shown = subprocess.run(["sh", "-c", gid.COMMAND], capture_output=True, text=True, timeout=30, check=False)
        table = gid.parse(shown.stdout.splitlines())
        if not gid.missing(table, rails) or time.monotonic() > deadline:
            return table
        time.sleep(0.2)


def refresh(path: Path, block: str) -> int:
    """Replace the block of one file, atomically, if it says something else; 1 where the file has none.

    Every other byte stays, whatever its encoding and its line ends. A link is not ours, nor is what it leads to.
    """
    if path.is_symlink():
        print(f"sparkrig: {path} is a link and stays as it is", file=sys.stderr)
        return 0
    try:
        if not path.is_file():
            raise ValueError("it is no file")
        old = path.read_bytes().decode(errors="surrogateescape")
        new = gid.replace_block(old, block)
    except (OSError, ValueError) as error:
        print(f"sparkrig: {path}: {error}; run the deploy again", file=sys.stderr)
        return 1
    if new == old:
        return 0
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(descriptor, "wb") as file:
        file.write(new.encode(errors="surrogateescape"))
        file.flush()
        kept = path.stat()
        os.fchown(descriptor, kept.st_uid, kept.st_gid)
        os.fchmod(descriptor, kept.st_mode & 0o7777)
        os.fsync(descriptor)
    Path(name).replace(path)
    print(f"sparkrig: {path} has the GID block of now", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
