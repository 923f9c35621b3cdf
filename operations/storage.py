"""Removing a checkpoint or an image from a host, as a run of its own: judged again once the host is locked."""

from __future__ import annotations

from collections.abc import Callable

from pyinfra.api import Host

from sparkrig import programs
from sparkrig.facts.storage import Disk, Disks
from sparkrig.operations import journal
from sparkrig.operations.journal import Run
from sparkrig.refusal import Refusal
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.ssh.shell import script
from sparkrig.storage.report import Removal

LOOK_S = 300  # times `patience`; a healthy host answers within a few
_REMOVE_S = 600  # 400 GB take seconds on a disk of a Spark, and minutes on one that is shared over a network

CHECKPOINT = programs.text("operations/storage_checkpoint.sh")

IMAGE = programs.text("operations/storage_image.sh")


def look(at: Host, weights: str, patience: float) -> Disk:
    """What lies on the disks of a host, and its journal. Raises Failed or Lost."""
    return remote.read(at, Disks(), weights, seconds=int(LOOK_S * patience))


def remove(
    run: Run,
    at: Host,
    shown: Removal,
    weights: str,
    patience: float,
    judge: Callable[[Disk], Removal | None],
    told: Callable[[str, str], None],
) -> None:
    """Remove what was shown and agreed to, on one host. weights: the folder of the checkpoints, by the setting.

    judge: what is to be removed, by a look that is taken once the host is locked; it raises Refusal as before.
    Raises Refusal where nothing was removed, Failed or Lost where it broke off.
    """
    alone = {at.name: at}
    told(at.name, "lock")
    journal.begin(run, alone)
    try:
        told(at.name, "looking once more")
        if judge(look(at, weights, patience)) != shown:
            raise Refusal(f"{shown.name} is not what was shown any more", "the same again, which shows it")
        told(at.name, f"removing {shown.name}")
        said = _removed(run, at, shown, weights, int(_REMOVE_S * patience))
    except (Refusal, Failed, Lost):
        journal.let_go(run, alone)
        raise
    try:
        journal.end(run, alone)
    except Refusal as refusal:
        raise Failed(f"{shown.name}: {said}, but {refusal.what}") from None
    if said != "removed":
        raise Refusal(
            f"{shown.name} is not removed: {said.removeprefix('refused ')}", "the same again, once that is mended"
        )


def _removed(run: Run, at: Host, shown: Removal, weights: str, seconds: int) -> str:
    """`removed`, or `refused WHY`. Raises Failed for any other answer."""
    size = str(shown.frees or 0)
    if shown.kind == "image":
        command = script(IMAGE, run.folder, shown.what, size, seconds=seconds)
    else:
        owner, _, name = shown.name.partition("/")
        command = script(CHECKPOINT, run.folder, weights, owner, name, size, seconds=seconds)
    said = journal.perform(run, at, shown.item, command, seconds).strip().rpartition("\n")[2]
    if said != "removed" and not said.startswith("refused "):
        raise Failed(f"it is not known whether {shown.name} is removed: {said or 'the host printed nothing'}")
    return said
