"""The black box of a host: unit and program that keep what precedes a reset (templates/watch/blackbox.py)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sparkrig import programs
from sparkrig.files import File, Found, Managed, stale

UNIT = "sparkrig-blackbox.service"
UNIT_FILE = f"/etc/systemd/system/{UNIT}"
LINK = f"/etc/systemd/system/multi-user.target.wants/{UNIT}"  # by which it starts with the host
PROGRAM = "/usr/local/lib/sparkrig/blackbox.py"
STARTED = "/run/sparkrig-blackbox/started"  # as what the process was started; it goes when that ends

# Has systemd do what the two files say, which may have come, changed or gone.
SETTLE = programs.text("operations/watch_settle.sh")
FILES = (
    Managed(UNIT_FILE, reload=SETTLE),
    Managed(PROGRAM, reload=SETTLE),
    Managed(LINK, "seen"),
    Managed(STARTED, "seen"),
)

Lack = Literal[
    "", "it does not run", "another version of it runs", "it does not start with the host", "it still runs"
]


@dataclass(frozen=True)
class Plan:
    """What makes the black box what is declared.

    write: files; remove: paths of files that are declared no more; lack: what else is not as it should be.
    """

    write: tuple[File, ...] = ()
    remove: tuple[str, ...] = ()
    lack: Lack = ""

    def __bool__(self) -> bool:
        return bool(self.write or self.remove or self.lack)


def plan(files: Mapping[str, Found], *, on: bool, guard: bool = False) -> Plan:
    """What is to be done. files: ours, as they stand on the host; on, guard: whether these are declared."""
    words = ["--guard"] if guard else []
    wanted = _files(words) if on else []
    paths = {each.path for each in wanted}
    remove = tuple(path for path in (UNIT_FILE, PROGRAM) if path in files and path not in paths)
    return Plan(tuple(stale(wanted, files)), remove, _lack(files, words, on=on))


def _lack(files: Mapping[str, Found], words: Sequence[str], *, on: bool) -> Lack:
    started = files.get(STARTED)
    if not on:
        return "it still runs" if started or LINK in files else ""
    if started is None:
        return "it does not run"
    if started.content.strip() != digest(words):
        return "another version of it runs"
    return "" if LINK in files else "it does not start with the host"


def digest(words: Sequence[str] = ()) -> str:
    """Of the program and its words: it stands in the unit, so that both change together, and shows what runs."""
    text = " ".join([programs.file("watch/blackbox.py"), *words])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _files(words: Sequence[str]) -> list[File]:
    rows = [
        "# Written by sparkrig: docs/watching.md",
        "[Unit]",
        "Description=keeps on the disk, every ten seconds, what this host does",
        "RequiresMountsFor=/var/lib/sparkrig",
        "",
        "[Service]",
        "Type=exec",
        f"ExecStart=/usr/bin/python3 -IBS {' '.join([PROGRAM, digest(words), *words])}",
        "RuntimeDirectory=sparkrig-blackbox",
        "Restart=always",
        "RestartSec=10",
        "OOMScoreAdjust=-900",  # what it keeps is of most use when the memory ends
        "Nice=-5",
        "ProtectHome=yes",
        "NoNewPrivileges=yes",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    return [File(PROGRAM, programs.file("watch/blackbox.py"), "0755"), File(UNIT_FILE, "\n".join(rows) + "\n")]
