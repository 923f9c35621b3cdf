"""The black box of a host: unit and program that keep what precedes a reset (templates/watch/blackbox.py).

Its metrics go through Debian's node exporter, with that package's own unit and defaults [@node-exporter-deb].
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sparkrig import programs
from sparkrig.cure import on_host, verb
from sparkrig.files import Beside, File, Found, Managed
from sparkrig.host.blackbox import BlackBox
from sparkrig.resources import file_diff
from sparkrig.resources.check import Check, Subject, check
from sparkrig.resources.kind import Kind
from sparkrig.resources.resource import Changes, Resource, release
from sparkrig.text import listed

if TYPE_CHECKING:
    from sparkrig.resources.state import State

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
_GUARDS, _MEASURES = "--guard", "--metrics"
# Notes that a deploy installed the package. With it the package goes, by a deploy and by an undo.
INSTALLED = "/usr/local/lib/sparkrig/node-exporter"
_INSTALLED_TEXT = f"{EXPORTER} was installed by sparkrig, and is removed with this file: docs/watching.md\n"

# Has systemd do what the two files say, which may have come, changed or gone.
SETTLE = programs.text("operations/watch_settle.sh")
# Has the package go once INSTALLED is gone.
RELEASE = release(EXPORTER, INSTALLED)

Lack = Literal[
    "", "it does not run", "another version of it runs", "it does not start with the host", "it still runs"
]
Exporter = Literal["", "is not installed", "does not run"]
_CALM = on_host(
    "sudo systemctl start sparkrig-serve",
    "; sudo nvidia-smi -rgc lifts a cap, and sudo systemctl restart sparkrig-gpu-clock sets a declared one",
)
_PAGE = "docs/watching.md#the-black-box"


@dataclass(frozen=True)
class WatchChanges(Changes):
    """What makes the black box what is declared.

    lack: what beside its files is not as it should be; exporter: what is wrong with the node exporter that its
    metrics go through.
    """

    lack: Lack = ""
    exporter: Exporter = ""

    def __bool__(self) -> bool:
        return bool(super().__bool__() or self.lack or self.exporter)


class Watch(Resource[None]):
    """Unit and program of the black box, and the node exporter of its metrics."""

    name = "watch"
    files = (
        Managed(UNIT_FILE, reload=SETTLE),
        Managed(PROGRAM, reload=SETTLE),
        Managed(METRICS, reload=SETTLE),
        Managed(LINK, "seen"),
        Managed(STARTED, "seen"),
        Managed(
            INSTALLED, reload=RELEASE, beside=Beside(f"package {EXPORTER}, unless another one came to need it")
        ),
        Managed(EXPORTER_UNIT, "seen"),
        Managed(EXPORTER_RUNS, "seen"),
    )
    kinds = (
        Kind(
            "watch.files",
            "health",
            "the unit and the program of the black box are as declared",
            "they were edited or removed by hand, or the inventory changed since the last deploy",
            _PAGE,
        ),
        Kind(
            "watch.running",
            "health",
            "the black box runs, and starts with the host",
            "it was stopped by hand, or the disk takes no row: it has no room for its 34 MiB, or is read-only",
            _PAGE,
        ),
        Kind(
            "watch.metrics",
            "health",
            "the node exporter of its metrics is installed and runs",
            "it was removed or stopped by hand, or another program has its port 9100",
            "docs/watching.md#metrics",
        ),
        Kind(
            "watch.reset",
            "health",
            "the host was not reset in the last 24 hours without being asked to",
            "its memory ran out, it became too hot, or the power was cut",
            "docs/watching.md#what-preceded-a-reset",
        ),
        Kind(
            "watch.guard",
            "health",
            "the guard of the black box had nothing to do in the last 24 hours",
            "a model takes more memory than there is, or the host gets too little air",
            "docs/watching.md#the-guard",
        ),
    )

    def changes(self, subject: Subject) -> WatchChanges:
        settings = subject.settings
        return plan(
            subject.found.files, on=settings.watch, guard=settings.watch_guard, metrics=settings.watch_metrics
        )

    def settings_of(self, found: State) -> Mapping[str, Any]:
        unit = found.files.get(UNIT_FILE)
        parts = {
            "watch": unit,
            "watch_guard": unit and _GUARDS in unit.content,
            "watch_metrics": METRICS in found.files,
        }
        return {setting: True for setting, there in parts.items() if unit and there}

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Nothing is declared of a host without the setting, unless one is there."""
        changes, on = self.changes(subject), subject.settings.watch
        if not on and not changes:
            return
        odd = file_diff.differences(changes.write, changes.remove, subject.found.files)
        want = "a black box" if on else "no black box"
        yield check("watch.files", not odd, want, listed(odd) or want, subject.apply)
        if not odd:
            yield check("watch.running", not changes.lack, want, changes.lack or want, subject.apply)
        if subject.settings.watch_metrics:
            runs = f"{EXPORTER} runs"
            said = f"{EXPORTER} {changes.exporter}" if changes.exporter else runs
            yield check("watch.metrics", not changes.exporter, runs, said, subject.apply)

    def guarded(self, found: BlackBox) -> Iterator[Check]:
        """What the guard did, while it is news; nothing of a host where it never acted."""
        if found.acts:
            want, acts = "nothing to do for the guard", found.recent_acts
            said = f"it {acts[-1].sentence(found)}" if acts else want
            yield check("watch.guard", not acts, want, said, _CALM, environment=True)

    def reset(self, found: BlackBox) -> Iterator[Check]:
        """The last end that was not asked for, while it is news; nothing of a host that keeps no black box."""
        last, want = found.recent, "no reset in the last 24 hours"
        if last or found.runs:
            cure = verb("blackbox")
            yield check("watch.reset", last is None, want, last.sentence if last else want, cure, environment=True)


WATCH = Watch()


def plan(files: Mapping[str, Found], *, on: bool, guard: bool = False, metrics: bool = False) -> WatchChanges:
    """What is to be done. files: ours, as they stand on the host; the others: whether these are declared."""
    words = [*([_GUARDS] if guard else []), *([_MEASURES] if metrics else [])]
    wanted = _files(words) if on else []
    if metrics and (INSTALLED in files or EXPORTER_UNIT not in files):  # else it is its owner's, and stays
        wanted.append(File(INSTALLED, _INSTALLED_TEXT))
    made = Changes.of(wanted, files, (file for file in WATCH.files if file.kind == "owned"))
    lack = _lack(files, words, on=on)
    changed = {*made.paths}
    unit = (UNIT_FILE,) if changed - {INSTALLED} or lack else ()
    exporter = (INSTALLED,) if INSTALLED in made.remove else ()
    return WatchChanges(
        made.wanted,
        made.write,
        made.remove,
        (*unit, *exporter),
        lack=lack,
        exporter=_exporter(files) if metrics else "",
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
