"""Files that cannot be put in their places: what a host's own tools say of each, and what is made of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sparkrig.facts.preflight import BARRED, BARS
from sparkrig.host import targets
from sparkrig.host.targets import Barred
from sparkrig.runs.managed_files import WRITTEN
from tests.tables import each_row
from tests.unit.shells import tool

CONF, ENV, RAILS = "/etc/nccl.conf", "/etc/sparkrig/container.env", "/etc/sparkrig/rails.json"

SAID: dict[str, tuple[tuple[Barred, ...], list[tuple[str, str]]]] = {
    "immutable": (
        (Barred("immutable", CONF, CONF),),
        [(f"{CONF} is immutable (chattr +i)", f"sudo chattr -i {CONF}")],
    ),
    "append-only": (
        (Barred("append-only", CONF, CONF),),
        [(f"{CONF} is append-only (chattr +a)", f"sudo chattr -a {CONF}")],
    ),
    "a folder in place of a file": (
        (Barred("folder", CONF, CONF),),
        [(f"{CONF} is a directory, and a file is expected there", f"sudo mv {CONF} {CONF}.old")],
    ),
    "a FIFO in place of a file": (
        (Barred("fifo", CONF, CONF),),
        [(f"{CONF} is a FIFO, not a file", f"sudo mv {CONF} {CONF}.old")],
    ),
    "a socket": (
        (Barred("socket", CONF, CONF),),
        [(f"{CONF} is a socket, not a file", f"sudo mv {CONF} {CONF}.old")],
    ),
    "a device": (
        (Barred("device", CONF, CONF),),
        [(f"{CONF} is a device, not a file", f"sudo mv {CONF} {CONF}.old")],
    ),
    "a mount point": (
        (Barred("mount", CONF, CONF),),
        [(f"{CONF} is a mount point, and a file is to be replaced there", f"sudo umount {CONF}")],
    ),
    "one folder bars two": (
        (Barred("read-only", "/etc/sparkrig", ENV), Barred("read-only", "/etc/sparkrig", RAILS)),
        [
            (
                "/etc/sparkrig cannot be written: its file system is read-only, "
                f"and {ENV} and {RAILS} are to be written",
                "findmnt -T /etc/sparkrig",
            )
        ],
    ),
    "a file in place of a folder": (
        (Barred("no-folder", "/etc/sparkrig", ENV),),
        [
            (
                f"/etc/sparkrig is no directory, and one is expected there, and {ENV} is to be written",
                "sudo mv /etc/sparkrig /etc/sparkrig.old",
            )
        ],
    ),
}


def test_each_says_what_it_is_and_what_mends_it() -> None:
    def holds(found: tuple[Barred, ...], said: list[tuple[str, str]]) -> None:
        assert [(each.what, each.cure) for each in targets.refusals(found, {CONF, ENV, RAILS})] == said
        assert targets.refusals(found, set()) == [], "what is as it should be is not written"

    each_row(SAID.values(), holds)


def test_nonsense_is_an_error() -> None:
    def refused(row: str) -> None:
        with pytest.raises(ValueError):
            targets.parse([row])

    each_row(["immutable /etc", "odd /etc /etc/x", "folder /var /etc/x", "folder /etc/n /etc/nccl", ""], refused)
    assert targets.parse([f"immutable / {CONF}"]) == (Barred("immutable", "/", CONF),)


# What a person does to a file or a folder, in a mount namespace; $1: the root. Only root of the machine may set
# the flags of chattr, so lsattr prints what it was seen to print.
FLAGS = {"immutable": "----i---------e-------", "append-only": "-----a--------e-------"}
SOCKET = """of() { rm "$1"; python3 -c 'import socket, sys; socket.socket(1).bind(sys.argv[1])' "$1"; }; of"""
FAULTS: dict[str, tuple[str, str, list[tuple[str, str]]]] = {
    "nothing": ("", "", []),
    "immutable": ("", "etc/nccl.conf", [("immutable", "etc/nccl.conf")]),
    "append-only": ("", "etc/nccl.conf", [("append-only", "etc/nccl.conf")]),
    "immutable folder": ("", "etc/sparkrig", [("immutable", "etc/sparkrig")]),
    "a folder in place": ("rm $1/etc/nccl.conf; mkdir $1/etc/nccl.conf", "", [("folder", "etc/nccl.conf")]),
    "a fifo": ("rm $1/etc/nccl.conf; mkfifo $1/etc/nccl.conf", "", [("fifo", "etc/nccl.conf")]),
    "a socket": (f"{SOCKET} $1/etc/nccl.conf", "", [("socket", "etc/nccl.conf")]),
    "a link to a device": ("ln -sf /dev/null $1/etc/nccl.conf", "", [("device", "etc/nccl.conf")]),
    "a file in place": ("rmdir $1/etc/sparkrig; touch $1/etc/sparkrig", "", [("no-folder", "etc/sparkrig")]),
    "no folder yet": ("rmdir $1/etc/sparkrig", "", []),
    "a link to a FIFO": (
        "rm $1/etc/nccl.conf; mkfifo $1/fifo; ln -s $1/fifo $1/etc/nccl.conf",
        "",
        [("fifo", "etc/nccl.conf")],
    ),
    "a mount point": ("mount --bind $1/other $1/etc/nccl.conf", "", [("mount", "etc/nccl.conf")]),
    "read-only": (
        "mount -t tmpfs tmpfs $1/etc/sparkrig; mount -o remount,ro $1/etc/sparkrig",
        "",
        [("read-only", "etc/sparkrig")],
    ),
}


@pytest.mark.slow
def test_the_script_finds_each_alone_and_leaves_nothing(tmp_path: Path) -> None:
    def finds(name: str, line: str, flagged: str, expected: list[tuple[str, str]]) -> None:
        root = tmp_path / name.replace(" ", "-")
        (root / "etc/sparkrig").mkdir(parents=True)
        for file in ("etc/nccl.conf", "other"):
            (root / file).touch()
        rows = [f"--------------e------- {root}/other"]
        rows += [f"{FLAGS[name.split(maxsplit=1)[0]]} {root}/{flagged}"] if flagged else []
        tool(root / "tools", "lsattr", "\n".join(f"echo '{row}'" for row in rows))
        script = BARRED.replace(" ".join(WRITTEN), " ".join(f"{root}{path}" for path in (CONF, ENV)))
        assert script != BARRED
        before = times(root)
        done = subprocess.run(
            [
                "unshare",
                "--mount",
                "--map-root-user",
                "sh",
                "-c",
                f"set -e; {line}\nset +e\n{script}",
                "x",
                str(root),
            ],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": f"{root}/tools:{os.environ['PATH']}"},
        )
        found = targets.parse(row.removeprefix("barred ") for row in done.stdout.splitlines())
        assert [(each.kind, each.where.removeprefix(f"{root}/")) for each in found] == expected, done.stderr
        assert line or times(root) == before

    each_row([(name, *row) for name, row in FAULTS.items()], finds)


def times(root: Path) -> list[tuple[str, int]]:
    return sorted((str(each), each.stat().st_mtime_ns) for each in root.rglob("*"))


def test_any_paths_are_looked_at_alike(tmp_path: Path) -> None:
    """As an undo does, whose paths a host's journal has."""
    odd = tmp_path / "etc;touch x"
    odd.mkdir()
    (odd / "a").mkdir()
    done = subprocess.run(
        ["sh", "-c", BARS, "x", f"{odd}/a", f"{odd}/b"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.stdout == f"barred folder {odd}/a {odd}/a\n", done.stderr
    assert not (tmp_path / "x").exists()
