"""The black box of a host: unit and program that keep what precedes a reset (templates/watch/blackbox.py).

Its metrics go through Debian's node exporter, with that package's own unit and defaults [@node-exporter-deb].
"""

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
METRICS = "/usr/local/lib/sparkrig/metrics.py"  # the same program, with metrics
METRICS_FILE = "/var/lib/prometheus/node-exporter/sparkrig.prom"
STARTED = "/run/sparkrig-blackbox/started"  # as what the process was started; it goes when that ends

EXPORTER = "prometheus-node-exporter"
EXPORTER_UNIT = f"/lib/systemd/system/{EXPORTER}.service"  # it is there with the package
EXPORTER_RUNS = f"/sys/fs/cgroup/system.slice/{EXPORTER}.service/cgroup.procs"  # while the unit is active
_MEASURES = "--metrics"
# Notes that a deploy installed the package. With it the package goes, by a deploy and by an undo.
INSTALLED = "/usr/local/lib/sparkrig/node-exporter"
_INSTALLED_TEXT = f"{EXPORTER} was installed by sparkrig, and is removed with this file: docs/watching.md\n"

# Has systemd do what the two files say, which may have come, changed or gone.
SETTLE = programs.text("operations/watch_settle.sh")
# Has the package go once INSTALLED is gone.
RELEASE = programs.text("operations/watch_release.sh")
FILES = (
    Managed(UNIT_FILE, reload=SETTLE),
    Managed(PROGRAM, reload=SETTLE),
    Managed(METRICS, reload=SETTLE),
    Managed(LINK, "seen"),
    Managed(STARTED, "seen"),
    Managed(INSTALLED, reload=RELEASE),
    Managed(EXPORTER_UNIT, "seen"),
    Managed(EXPORTER_RUNS, "seen"),
)

Lack = Literal[
    "", "it does not run", "another version of it runs", "it does not start with the host", "it still runs"
]
Exporter = Literal["", "is not installed", "does not run"]


@dataclass(frozen=True)
class Plan:
    """What makes the black box what is declared.

    write: files; remove: paths of files that are declared no more; lack: what else is not as it should be;
    exporter: what is wrong with the node exporter that its metrics go through.
    """

    write: tuple[File, ...] = ()
    remove: tuple[str, ...] = ()
    lack: Lack = ""
    exporter: Exporter = ""

    def __bool__(self) -> bool:
        return bool(self.write or self.remove or self.lack or self.exporter)

    @property
    def reloads(self) -> list[str]:
        """The files of ours that are to be read again."""
        changed = {*(file.path for file in self.write), *self.remove}
        unit = [UNIT_FILE] if changed - {INSTALLED} or self.lack else []
        return [*unit, *([INSTALLED] if INSTALLED in self.remove else [])]


def plan(files: Mapping[str, Found], *, on: bool, guard: bool = False, metrics: bool = False) -> Plan:
    """What is to be done. files: ours, as they stand on the host; the others: whether these are declared."""
    words = [*(["--guard"] if guard else []), *([_MEASURES] if metrics else [])]
    wanted = _files(words) if on else []
    if metrics and (INSTALLED in files or EXPORTER_UNIT not in files):  # else it is its owner's, and stays
        wanted.append(File(INSTALLED, _INSTALLED_TEXT))
    paths = {each.path for each in wanted}
    remove = tuple(
        path for path in (UNIT_FILE, PROGRAM, METRICS, INSTALLED) if path in files and path not in paths
    )
    return Plan(
        tuple(stale(wanted, files)), remove, _lack(files, words, on=on), _exporter(files) if metrics else ""
    )


def _exporter(files: Mapping[str, Found]) -> Exporter:
    if EXPORTER_UNIT not in files:
        return "is not installed"
    return "" if EXPORTER_RUNS in files else "does not run"


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
    texts = (programs.file(name) for name in _programs(words).values())
    return hashlib.sha256(" ".join([*texts, *words]).encode()).hexdigest()[:12]


def _programs(words: Sequence[str]) -> dict[str, str]:
    """The paths of the programs, and what each is of. The last one is started, and imports the first."""
    return {PROGRAM: "watch/blackbox.py"} | ({METRICS: "watch/metrics.py"} if _MEASURES in words else {})


def _files(words: Sequence[str]) -> list[File]:
    made = [File(path, programs.file(name), "0755") for path, name in _programs(words).items()]
    rows = [
        "# Written by sparkrig: docs/watching.md",
        "[Unit]",
        "Description=keeps on the disk, every ten seconds, what this host does",
        "RequiresMountsFor=/var/lib/sparkrig",
        "",
        "[Service]",
        "Type=exec",
        f"ExecStart=/usr/bin/python3 -IBS {' '.join([made[-1].path, digest(words), *words])}",
        "RuntimeDirectory=sparkrig-blackbox",
        # a process that is killed leaves its last readings, which an exporter would show for ever
        *([f"ExecStopPost=-/usr/bin/rm -f {METRICS_FILE}"] if _MEASURES in words else []),
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
    return [*made, File(UNIT_FILE, "\n".join(rows) + "\n")]
