"""What lies on the disks of hosts, and removing a checkpoint or an image, as a run of its own.

What is removed is judged again once the host is locked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyinfra.api import Host
from rich.console import Console

from sparkrig import programs
from sparkrig.cure import quoted
from sparkrig.facts.storage import Disk as Seen
from sparkrig.facts.storage import Disks as DisksFact
from sparkrig.fleet import Fleet
from sparkrig.operations import journal
from sparkrig.operations.journal import Run
from sparkrig.refusal import Refusal
from sparkrig.serving.io import recipe_file
from sparkrig.serving.plan import Find
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.ssh.shell import script
from sparkrig.storage import report as judgement
from sparkrig.storage.render import storage as picture
from sparkrig.storage.report import Disk, Removal, Removed, Report, removed
from sparkrig.terminal import progress, terminal
from sparkrig.value import each_host

LOOK_S = 300  # times `patience`; a healthy host answers within a few
_REMOVE_S = 600  # 400 GB take seconds on a disk of a Spark, and minutes on one that is shared over a network

CHECKPOINT = programs.text("operations/storage_checkpoint.sh")

IMAGE = programs.text("operations/storage_image.sh")


def look(at: Host, weights: str, patience: float) -> Seen:
    """What lies on the disks of a host, and its journal. Raises Failed or Lost."""
    return remote.read(at, DisksFact(), weights, seconds=int(LOOK_S * patience))


def remove(
    run: Run,
    at: Host,
    shown: Removal,
    weights: str,
    patience: float,
    judge: Callable[[Seen], Removal | None],
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


Hosts = Mapping[str, Host | Failed | Lost]
Disks = Mapping[str, Disk | Failed | Lost]


class Storing:
    """One run of `sparkrig storage`. typed: the inventory, as typed; quiet: whether the disks are not shown."""

    def __init__(self, fleet: Fleet, typed: str, find: Find, console: Console, *, quiet: bool) -> None:
        self.fleet, self.typed, self.find, self.console, self.quiet = fleet, typed, find, console, quiet

    def run(self, data: Mapping[str, Mapping[str, Any]], name: str | None, *, yes: bool) -> Report:
        """Look, and remove what is to be removed. name: of that, None where nothing is."""
        from sparkrig.ssh import session

        outcomes: dict[str, Removed] = {}
        with session.connected(data) as hosts:
            disks = session.ask(hosts, "Looking at the disks", self._look)
            if name is None:
                self._show(disks)
            else:
                outcomes = self._remove(hosts, disks, name, yes=yes)
        code = _code(disks, outcomes, looks=name is None)
        return Report(hosts=each_host(disks, judgement.host), removal=outcomes, exit_code=code)

    def _look(self, at: Host) -> Disk:
        settings = self.fleet[at.name]
        return self._judged(at.name, look(at, settings.weights, settings.patience))

    def _judged(self, host: str, seen: Seen) -> Disk:
        needed = judgement.declared(self.fleet, host, self.find, recipe_file.read)
        return Disk(seen.storage, seen.journal, needed)

    def _show(self, disks: Disks) -> None:
        for host, disk in {} if self.quiet else disks.items():
            shown = picture.unread(host, str(disk)) if isinstance(disk, Exception) else picture.Shown(host, disk)
            self.console.print(shown)
            self.console.print()

    def _remove(self, hosts: Hosts, disks: Disks, name: str, *, yes: bool) -> dict[str, Removed]:
        """Show what goes, ask, and remove it; what becomes of one host does not touch another."""
        planned = {host: self._planned(disk, name) for host, disk in disks.items()}
        due = {host: removal for host, removal in planned.items() if isinstance(removal, Removal)}
        outcomes = {host: each for host, each in planned.items() if not isinstance(each, Removal)}
        for host, each in planned.items():
            self._say(host, picture.goes(each) if isinstance(each, Removal) else each.outcome)
        if not due:
            if not any(each.exit_code for each in outcomes.values()):
                self._say("", f"Try: sparkrig storage {self.typed}, which lists what there is")
            return outcomes
        self._say("", "Undo cannot bring it back; a deploy that needs it fetches it again.")
        if not (yes or terminal.confirm(f"Remove it from {', '.join(due)}?")):
            return outcomes | {host: removed(removal, "declined", 1) for host, removal in due.items()}
        done = self._removed({host: hosts[host] for host in due}, due, name)
        for host, outcome in done.items():
            self._say(host, outcome.outcome)
        return {host: (outcomes | done)[host] for host in planned}

    def _planned(self, disk: Disk | Failed | Lost, name: str) -> Removal | Removed:
        """What goes from a host, or what came of it already."""
        if isinstance(disk, Exception):
            return removed(None, f"not read: {disk}", 3)
        try:
            return disk.removal(name) or removed(None, f"{name} is not there", 0)
        except Refusal as refusal:
            return removed(None, _refused(refusal), 1)

    def _say(self, host: str, text: str) -> None:
        self.console.print(f"{host}: {text}" if host else text, soft_wrap=True)

    def _removed(self, hosts: Hosts, due: Mapping[str, Removal], name: str) -> dict[str, Removed]:
        run = Run(f"sparkrig storage {self.typed} --remove {quoted(name)}")
        with progress.hosts(list(due), f"Removing {name}") as told:

            def carry_out(at: Host) -> Removed:
                return self._carry_out(run, at, due[at.name], name, told)

            answers = remote.each(hosts, told.during("lock", carry_out))
        return {
            host: removed(due[host], f"broke off: {answer}. Try: the same again", 3)
            if isinstance(answer, Exception)
            else answer
            for host, answer in answers.items()
        }

    def _carry_out(self, run: Any, at: Host, removal: Removal, name: str, told: Any) -> Removed:
        """Raises Failed or Lost."""
        settings = self.fleet[at.name]

        def judge(seen: Seen) -> Removal | None:
            return self._judged(at.name, seen).removal(name)

        try:
            remove(run, at, removal, settings.weights, settings.patience, judge, told)
        except Refusal as refusal:
            return removed(removal, _refused(refusal), 1)
        return removed(removal, f"{picture.gone(removal)}, as run {run.id}", 0, done=True)


def _code(disks: Disks, outcomes: Mapping[str, Removed], *, looks: bool) -> int:
    """The exit code; looks: whether nothing was to be removed."""
    if not looks and outcomes and not any(each.exit_code or each.removed for each in outcomes.values()):
        return 1
    unknown = any(isinstance(disk, Exception) or (looks and disk.unknown) for disk in disks.values())
    return max([3 if unknown else 0, *(outcome.exit_code for outcome in outcomes.values())])


def _refused(refusal: Refusal) -> str:
    return f"refused: {refusal.what}. Try: {refusal.cure}"
