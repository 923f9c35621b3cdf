"""`sparkrig storage`: what lies on the disks of the hosts for serving, what needs it, and its removal by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files
from sparkrig.cure import quoted
from sparkrig.refusal import Refusal
from sparkrig.terminal.project import Where

if TYPE_CHECKING:
    from pyinfra.api import Host

    from sparkrig.fleet import Fleet
    from sparkrig.serving.plan import Find
    from sparkrig.ssh.remote import Failed, Lost
    from sparkrig.storage.report import Disk, Removal, Removed

    Hosts = Mapping[str, Host | Failed | Lost]
    Disks = Mapping[str, Disk | Failed | Lost]


@click.command()
@files.HOSTS
@click.option("--host", "only", multiple=True, metavar="HOST", help="On this host only; may be repeated.")
@click.option(
    "--remove",
    metavar="NAME",
    help="Remove a checkpoint (OWNER/NAME), or an image by its name or ID, after a question.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/storage.json).")
def storage(inventory_file: Where, only: tuple[str, ...], remove: str | None, yes: bool, as_json: bool) -> None:
    """Show which checkpoints and images lie on each host, how large they are, and what needs them.

    It lists the checkpoints below the setting `weights`, docker's images, the caches of the server and of Hugging
    Face's programs, and the free room. A setting, what is served, the state that undo brings back, or a container
    may need one.

    --remove shows what goes and how much room that gives, and asks. What is needed is refused. Removal is a run
    that `sparkrig status` shows, but undo cannot bring back what was removed. Caches are only shown.

    Exit code 1: refused, or declined; 3: a host could not be read, or its removal broke off.
    """
    from sparkrig.storage import report as judgement

    if remove is not None:
        inventory_file = files.declared(inventory_file, "a removal")
    fleet, data = files.inventory(inventory_file)
    if remove is not None:
        with files.refusals():
            judgement.judge_name(remove)
        files.must_answer(yes, f"sparkrig storage {files.typed(inventory_file)}; then the same with --yes")
    elif yes:
        raise click.UsageError("--yes expects --remove NAME")
    with files.refusals():
        files.limited(data, only, fleet)
    mine = {name: values for name, values in data.items() if not only or name in only}
    _Storage(fleet, inventory_file, as_json=as_json).run(mine, remove, yes=yes)


class _Storage:
    """One run of the verb."""

    def __init__(self, fleet: Fleet, inventory: Where, *, as_json: bool) -> None:
        from sparkrig.terminal.screen import Screen

        self.fleet, self.inventory, self.as_json = fleet, inventory, as_json
        named = any(fleet[name].model or fleet[name].recipe for name in fleet)
        self.find: Find = (
            files.catalogue(inventory).find if named and isinstance(inventory, Path) else lambda _: None
        )
        self.console = Screen(stderr=as_json)

    def run(self, data: Mapping[str, Mapping[str, Any]], remove: str | None, *, yes: bool) -> None:
        """Look, remove what is to be removed, print, and exit."""
        from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded

        from sparkrig.storage.report import Report, host
        from sparkrig.value import each_host

        outcomes: dict[str, Removed] = {}
        with session.connected(data) as hosts:
            disks = session.ask(hosts, "Looking at the disks", self._look)
            if remove is None:
                self._show(disks)
            else:
                outcomes = self._remove(hosts, disks, remove, yes=yes)
        unread = any(isinstance(disk, Exception) for disk in disks.values())
        unknown = remove is None and any(
            not isinstance(disk, Exception) and disk.unknown for disk in disks.values()
        )
        code = max([3 if unread or unknown else 0, *(outcome.exit_code for outcome in outcomes.values())])
        if remove is not None and code == 0 and not any(outcome.removed for outcome in outcomes.values()):
            code = 1
        if unread:
            files.try_doctor()
        if self.as_json:
            files.print_json(Report(hosts=each_host(disks, host), removal=outcomes, exit_code=code))
        raise SystemExit(code)

    def _look(self, at: Host) -> Disk:
        from sparkrig.operations import storage as operations

        settings = self.fleet[at.name]
        return self._judged(at.name, operations.look(at, settings.weights, settings.patience))

    def _judged(self, name: str, seen: Any) -> Disk:
        from sparkrig.serving.io import recipe_file
        from sparkrig.storage import report as judgement

        needed = judgement.declared(self.fleet, name, self.find, recipe_file.read)
        return judgement.Disk(seen.storage, seen.journal, needed)

    def _show(self, disks: Disks) -> None:
        from sparkrig.storage.render.storage import Shown, unread

        if self.as_json:
            return
        for name, disk in disks.items():
            self.console.print(unread(name, str(disk)) if isinstance(disk, Exception) else Shown(name, disk))
            self.console.print()

    # --- removal

    def _remove(self, hosts: Hosts, disks: Disks, name: str, *, yes: bool) -> dict[str, Removed]:
        """Show what goes, ask, and remove it; what becomes of one host does not touch another."""
        from sparkrig.storage.render.storage import goes
        from sparkrig.storage.report import Removal, removed

        planned = {host: self._planned(disk, name) for host, disk in disks.items()}
        due = {host: removal for host, removal in planned.items() if isinstance(removal, Removal)}
        outcomes = {host: each for host, each in planned.items() if not isinstance(each, Removal)}
        for host, each in planned.items():
            self._say(host, goes(each) if isinstance(each, Removal) else each.outcome)
        if not due:
            if not any(each.exit_code for each in outcomes.values()):
                self._say("", f"Try: sparkrig storage {files.typed(self.inventory)}, which lists what there is")
            return outcomes
        self._say("", "Undo cannot bring it back; a deploy that needs it fetches it again.")
        if not (yes or files.agreed(f"Remove it from {', '.join(due)}?")):
            return outcomes | {host: removed(removal, "declined", 1) for host, removal in due.items()}
        done = self._removed({host: hosts[host] for host in due}, due, name)
        for host, outcome in done.items():
            self._say(host, outcome.outcome)
        return {host: (outcomes | done)[host] for host in planned}

    def _planned(self, disk: Disk | Failed | Lost, name: str) -> Removal | Removed:
        """What goes from a host, or what came of it already."""
        from sparkrig.storage.report import removed

        if isinstance(disk, Exception):
            return removed(None, f"not read: {disk}", 3)
        try:
            return disk.removal(name) or removed(None, f"{name} is not there", 0)
        except Refusal as refusal:
            return removed(None, _refused(refusal), 1)

    def _say(self, host: str, text: str) -> None:
        self.console.print(f"{host}: {text}" if host else text, soft_wrap=True)

    def _removed(self, hosts: Hosts, due: Mapping[str, Removal], name: str) -> dict[str, Removed]:
        from sparkrig.operations.journal import Run
        from sparkrig.ssh import remote
        from sparkrig.storage.report import removed
        from sparkrig.terminal import progress

        run = Run(f"sparkrig storage {files.typed(self.inventory)} --remove {quoted(name)}")
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
        from sparkrig.operations import storage as operations
        from sparkrig.storage.render.storage import gone
        from sparkrig.storage.report import removed

        settings = self.fleet[at.name]

        def judge(seen: Any) -> Removal | None:
            return self._judged(at.name, seen).removal(name)

        try:
            operations.remove(run, at, removal, settings.weights, settings.patience, judge, told)
        except Refusal as refusal:
            return removed(removal, _refused(refusal), 1)
        return removed(removal, f"{gone(removal)}, as run {run.id}", 0, done=True)


def _refused(refusal: Refusal) -> str:
    return f"refused: {refusal.what}. Try: {refusal.cure}"
