"""Taking a run back: what of a host is put back to what stood there before, what is left alone, and why.

An item that a later run changed too goes back with it, past both. Only what a run itself wrote is taken back:
where another one changed it since, both are merged, or the file is left alone and the difference shown. Packages
stay, for others may have come to need them, but for those that go beside a file; weights and images that were
removed are kept nowhere.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field, computed_field

from sparkrig import programs
from sparkrig.cure import over_ssh
from sparkrig.files import MEASURED, Beside
from sparkrig.host import targets
from sparkrig.host.targets import Barred
from sparkrig.network.guard import Guarded
from sparkrig.refusal import Refusal
from sparkrig.runs import journal, lock
from sparkrig.runs.journal import ABSENT, Journal, Run
from sparkrig.runs.managed_files import BESIDE, GUARDED, RELOADS, RESTARTING
from sparkrig.runs.undo_target import wholly_undone
from sparkrig.serving import served

Act = Literal[
    "put back",
    "remove",
    "merge",
    "restart",
    "hold",
    "release",
    "already",
    "foreign",
    "stays",
    "unfit",
    "failed",
    "differs",
]
_PENDING = ("put back", "remove", "merge", "restart", "hold", "release")
_UNPRINTED = Field(exclude=True)  # in a document
DOCKER_PART = "docker"  # the step of an undo that puts the file back that docker starts with
# a measurement after a boot writes it outside of any run, so it is ours all the same
MEASURED_ITEM = f"file {MEASURED}"

RESTORE = programs.text("runs/undo_restore.sh")

FIT = programs.text("runs/undo_fit.sh")

TEXTS = programs.text("runs/undo_texts.sh")

DOCKER = programs.text("runs/undo_docker.sh")

HOLDS = programs.text("runs/undo_holds.sh")

SERVE = programs.text("runs/undo_serve.sh")


def kept(run: str, path: str = "") -> str:
    """Where a host keeps the file that a run found at a path; without a path, the folder of all."""
    return f"{lock.RUNS}/{run}/before/files{path}"


@dataclass(frozen=True)
class Change:
    """What becomes of one item.

    later: the later runs that changed it too, and whose change goes with it; why: of a file that is left alone as
    docker does not start with what stood there (`unfit` by dockerd's own check, `failed` once it was tried), or as
    another one changed it and that cannot be merged; diff: what leads from what stands there to what would stand
    there, of a file that another one changed.
    """

    item: str
    act: Act
    later: tuple[str, ...] = ()
    why: str = ""
    diff: tuple[str, ...] = ()
    # wrote: the runs whose change of it is taken back, newest first, where that is the case; stood: those of them
    # before which something stood there; text, sum: what a merged file becomes, and the SHA-256 of the one that it
    # was made of; now, before: what stands there, and what stood there before, as the journal has it
    wrote: Annotated[tuple[str, ...], _UNPRINTED] = ()
    stood: Annotated[tuple[str, ...], _UNPRINTED] = ()
    text: Annotated[str, _UNPRINTED] = ""
    sum: Annotated[str, _UNPRINTED] = ""
    now: Annotated[str, _UNPRINTED] = ""
    before: Annotated[str, _UNPRINTED] = ""

    @property
    def kind(self) -> str:
        return self.item.partition(" ")[0]

    @property
    def name(self) -> str:
        return self.item.partition(" ")[2]

    @property
    def row(self) -> str:
        """The row of RESTORE for a file."""
        if self.act == "merge":
            return f"merge {self.name} {self.sum} {base64.b64encode(self.text.encode()).decode()}\n"
        seen = "" if self.item == MEASURED_ITEM else self.now  # which the network's way back takes away before
        return f"{_VERBS[self.act]} {self.name} {seen.replace(' ', '|')}".rstrip() + "\n"


_VERBS: Mapping[Act, str] = {"put back": "put", "remove": "remove", "restart": "restart"}


@dataclass(frozen=True)
class Plan:
    """What is to be done to one host. network: whether it goes back to what it was, under guard."""

    run: str
    changes: tuple[Change, ...] = ()
    network: bool = False
    # noted: whether it is known which files of the network are ours; amiss: what of it is not as it was afterwards
    noted: Annotated[bool, _UNPRINTED] = False
    amiss: Annotated[str, _UNPRINTED] = ""

    @property
    def pending(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.act in _PENDING)

    def __bool__(self) -> bool:
        return bool(self.pending) or self.network

    @computed_field(alias="restart_docker")  # type: ignore[prop-decorator]
    @property
    def docker(self) -> bool:
        """Whether docker must restart."""
        return any(each.name == RESTARTING for each in self.pending)

    @property
    def beside(self) -> list[Beside]:
        """What goes with the files that are removed, and is none itself."""
        gone = (each.name for each in self.pending if each.act == "remove")
        return [BESIDE[name] for name in gone if name in BESIDE]

    @property
    def checked(self) -> bool:
        """Whether docker is to be asked if it starts with the file that is put back."""
        return any(change.name == RESTARTING and change.act in ("put back", "merge") for change in self.changes)

    @property
    def merged_docker(self) -> str:
        """Its file as both sides were merged to it, in BASE64; empty where it is one that stood there."""
        merged = (change for change in self.changes if change.name == RESTARTING and change.act == "merge")
        return "".join(base64.b64encode(each.text.encode()).decode() for each in merged)

    @property
    def kept_docker(self) -> str:
        """Its file that stood there, as the host keeps it."""
        return kept(self.run, RESTARTING)

    @property
    def serving(self) -> list[served.Service]:
        """The servers that are another one, or none."""
        found = (served.whose(each.name) for each in self.pending if each.kind == "file")
        return list(dict.fromkeys(each for each in found if each))

    @property
    def reloads(self) -> list[str]:
        """What makes services read again the files that go back."""
        return list(dict.fromkeys(RELOADS[each.name] for each in self.pending if each.name in RELOADS))

    def files(self, *, docker: bool) -> str:
        """The rows of RESTORE for all files but docker's and what goes back under guard, or for docker's."""
        rows = [each for each in self.pending if each.kind == "file" and each.name not in GUARDED]
        mine = [row for row in rows if (row.name == RESTARTING) is docker]
        return "".join(each.row for each in mine)

    def guarded(self, what: str) -> tuple[Guarded, ...]:
        """The files that go back under one guard. what: they are, as its resource calls them."""
        return tuple(
            Guarded(each.name, text=each.text)
            if each.act == "merge"
            else Guarded(each.name, kept=kept(self.run, each.name) if each.act == "put back" else None)
            for each in self.pending
            if GUARDED.get(each.name) == what
        )

    @property
    def mine(self) -> dict[str, str] | None:
        """The network's files that go back, with the digest of each; None where it is not known which are ours."""
        going = [each for each in self.pending if each.kind == "profile"]
        return {each.name: each.now for each in going} if self.noted else None

    @property
    def targets(self) -> list[str]:
        """The files that are put back or removed, dpkg's own included where a hold changes."""
        going = [each.name for each in self.pending if each.kind != "hold" and each.act != "restart"]
        paths = [path for path in going if not re.search(r"\s", path)]  # a profile may be called by any name
        return [*paths, *([journal.DPKG_STATUS] if self.holds() else [])]

    def holds(self) -> list[str]:
        """The words of HOLDS; none where no hold changes."""
        free = [each.name for each in self.pending if each.act == "release"]
        held = [each.name for each in self.pending if each.act == "hold"]
        return [*free, "--", *held] if free or held else []


def step(part: str) -> str:
    """What a part of an undo is called in the journal."""
    return f"Undo | {part}"


def plan(found: Journal, run_id: str, *, everything: bool) -> Plan:
    """What takes a run back on one host. everything: also what others changed since."""
    run = found.find(run_id)
    if run is None or wholly_undone(run_id, found):
        return Plan(run_id)
    later = _later(found, run)
    pairs = journal.changed(run, found)
    if run.torn:  # what its last step, or something else, may have written
        pairs = {**journal.differing(run, found), **pairs}
    changes = []
    for item, (before, _) in pairs.items():
        wrote = _writers(found, run, item)
        now = found.current.get(item, ABSENT)
        act = _act(item, before, now, wrote, everything=everything)
        names = tuple(each.id for each, items in later if item in items)
        chain = [each for each, _ in wrote] if act == "foreign" else []
        stood = tuple(each.id for each in chain if each.before.get(item, ABSENT) != ABSENT)
        changes.append(
            Change(item, act, names, wrote=tuple(each.id for each in chain), stood=stood, now=now, before=before)
        )
    if _owes_restart(found, run_id):
        changes = [
            replace(change, act="restart") if change.name == RESTARTING and change.act == "already" else change
            for change in changes
        ]
    last = found.runs[0]
    moved_back = last.owner.undoes == run_id and last.after is None and last.moved_network
    return Plan(run_id, tuple(changes), run.moved_network and not moved_back, noted=run.network is not None)


def _owes_restart(found: Journal, run_id: str) -> bool:
    """Whether an undo of that run broke off within its step that puts docker's file back and restarts docker."""
    for run in found.runs:
        if run.owner.undoes != run_id or run.after is not None:
            return False
        rcs = [each.rc for each in run.steps if each.name == step(DOCKER_PART)]
        if rcs:
            return rcs[-1] != 0
    return False


def _later(found: Journal, run: Run) -> list[tuple[Run, Iterable[str]]]:
    """The later runs that still stand, with the items of each."""
    gone = journal.undone(found)
    newer = found.runs[: found.runs.index(run)]
    return [
        (each, journal.changed(each, found)) for each in newer if each.id not in gone and not each.owner.undoes
    ]


Writers = list[tuple[Run, tuple[str, ...]]]


def _writers(found: Journal, run: Run, item: str) -> Writers:
    """The runs that wrote an item, from the newest down to that run, each with what it put there.

    An undo is one of them, and what it took back is, too: one after the other they lead to what stands there.
    """
    newer = found.runs[: found.runs.index(run) + 1]
    changes = [(each, journal.changed(each, found)) for each in newer]
    return [(each, _values(each, item, items[item][1])) for each, items in changes if item in items]


def _values(run: Run, item: str, last: str) -> tuple[str, ...]:
    """What a run put to an item; of one that broke off any of it may be what it left."""
    values = (run.wrote or {}).get(item, (last,))
    return values if run.after is None else values[-1:]


def _act(item: str, before: str, now: str, wrote: Writers, *, everything: bool) -> Act:
    if item.startswith(journal.STAYING):
        return "stays"
    if now == before:
        return "already"
    if item != MEASURED_ITEM and not everything and not _led_back(item, before, now, wrote):
        return "foreign"
    if item.startswith("hold "):
        return "release" if before == ABSENT else "hold"
    return "remove" if before == ABSENT else "put back"


def _led_back(item: str, before: str, now: str, wrote: Writers) -> bool:
    """Whether the newest run wrote what stands there, the one before it what that one found, and so on.

    It ends where that is what stood there before: an older run's value may be gone since, and is not to be kept.
    """
    for run, values in wrote:
        found = journal.stood(run, item)
        if now not in values and (run.after is not None or now != found):
            return False
        now = found
        if now == before:
            return True
    return False


def judge(
    plans: Mapping[str, Plan],
    running: Mapping[str, int],
    barred: Mapping[str, Collection[Barred]],
    *,
    restart_docker: bool,
) -> None:
    """Raise Refusal where something would fail on the way, before anything is changed on any host.

    running: containers that run on each host whose docker must restart; barred: the files of each that cannot be
    put back. Docker is not restarted under containers without leave.
    """
    bars = [
        (name, refusal)
        for name, found in barred.items()
        for refusal in targets.refusals(found, {each.path for each in found})
    ]
    if bars:
        raise Refusal(
            "; ".join(f"{name}: {each.what}" for name, each in bars),
            "; ".join(over_ssh(name, each.cure) for name, each in bars),
        )
    for name, count in running.items():
        if plans[name].docker and count and not restart_docker:
            raise Refusal(
                f"{name}: docker must restart, and {count} container(s) are running",
                "stop them, or the same with --restart-docker",
            )
