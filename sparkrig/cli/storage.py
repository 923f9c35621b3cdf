"""`sparkrig storage`: what lies on the disks of the hosts for serving, what needs it, and its removal by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files
from sparkrig.cure import quoted, quoted_path
from sparkrig.refusal import Refusal

if TYPE_CHECKING:
    from pyinfra.api import Host

    from sparkrig.fleet import Fleet
    from sparkrig.io.remote import Failed, Lost
    from sparkrig.reports.storage import Disk, Removal
    from sparkrig.reports.storage_report import Report
    from sparkrig.serving.plan import Find

    Hosts = Mapping[str, Host | Failed | Lost]


@dataclass
class _Outcome:
    """What came of the removal on one host, with its exit code. removal: what goes, if anything does."""

    said: str
    code: int = 0
    removal: Removal | None = None
    done: bool = False


@click.command()
@files.INVENTORY
@click.option("--host", "only", multiple=True, metavar="HOST", help="On this host only; may be repeated.")
@click.option(
    "--remove",
    metavar="NAME",
    help="Remove a checkpoint (OWNER/NAME), or an image by its name or ID, after a question.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/storage.json).")
def storage(inventory_file: Path, only: tuple[str, ...], remove: str | None, yes: bool, as_json: bool) -> None:
    """Show which checkpoints and images lie on each host, how large they are, and what needs them.

    It lists the checkpoints below the setting `weights`, those in the Hugging Face caches of root and of the ssh
    user, docker's images, the caches of the server, and the free room. A setting, what is served, the state that
    undo brings back, or a container may need one.

    --remove shows what goes and how much room that gives, and asks. What is needed is refused. Removal is a run
    that `sparkrig status` shows, but undo cannot bring back what was removed. Hugging Face caches are only shown.

    Exit code 1: refused, or declined; 3: a host could not be read, or its removal broke off.
    """
    from sparkrig.reports import storage as judgement

    fleet, data = files.inventory(inventory_file)
    if remove is not None:
        with files.refusals():
            judgement.judge_name(remove)
        files.must_answer(yes, f"sparkrig storage {quoted_path(inventory_file)}; then the same with --yes")
    elif yes:
        raise click.UsageError("--yes expects --remove NAME")
    with files.refusals():
        files.limited(data, only, fleet)
    mine = {name: values for name, values in data.items() if not only or name in only}
    _Storage(fleet, inventory_file, as_json=as_json).run(mine, remove, yes=yes)


class _Storage:
    """One run of the verb."""

    def __init__(self, fleet: Fleet, inventory: Path, *, as_json: bool) -> None:
        from sparkrig.io.screen import Screen

        self.fleet, self.inventory, self.as_json = fleet, inventory, as_json
        named = any(fleet[name].model or fleet[name].recipe for name in fleet)
        self.find: Find = files.catalogue(inventory).find if named else lambda _: None
        self.console = Screen(stderr=as_json)

    def run(self, data: Mapping[str, Mapping[str, Any]], remove: str | None, *, yes: bool) -> None:
        """Look, remove what is to be removed, print, and exit."""
        from sparkrig.io import session  # isort: skip - it patches the standard library before pyinfra is loaded

        outcomes: dict[str, _Outcome] = {}
        with session.connected(data) as hosts:
            found = session.ask(hosts, "Looking at the disks", self._look)
            if remove is None:
                self._show(found)
            else:
                outcomes = self._plan(found, remove)
                self._remove(hosts, outcomes, remove, yes=yes)
        unread = any(isinstance(each, Exception) for each in found.values())
        unknown = any(not isinstance(each, Exception) and each.unknown for each in found.values())
        codes = [each.code for each in outcomes.values()]
        code = max([3 if unread or (unknown and remove is None) else 0, *codes])
        if remove is not None and not codes_of_there(outcomes) and code == 0:
            code = 1
        if unread:
            files.try_doctor(self.inventory)
        if self.as_json:
            files.print_json(self._document(found, outcomes, code))
        raise SystemExit(code)

    def _look(self, at: Host) -> Disk:
        from sparkrig.operations import storage as operations

        mine = self.fleet[at.name]
        return self._judged(at.name, operations.look(at, mine.weights, mine.patience))

    def _judged(self, name: str, seen: Any) -> Disk:
        from sparkrig.io import recipe_file
        from sparkrig.reports import storage as judgement

        needed = judgement.declared(self.fleet, name, self.find, recipe_file.read)
        return judgement.Disk(seen.storage, seen.journal, needed)

    def _show(self, found: Mapping[str, Disk | Failed | Lost]) -> None:
        from sparkrig.render.storage import Shown, unread

        if self.as_json:
            return
        for name, each in found.items():
            self.console.print(unread(name, str(each)) if isinstance(each, Exception) else Shown(name, each))
            self.console.print()

    # --- removal

    def _plan(self, found: Mapping[str, Disk | Failed | Lost], name: str) -> dict[str, _Outcome]:
        """What goes on each host, which is shown."""
        outcomes = {host: self._planned(each, name) for host, each in found.items()}
        for host, outcome in outcomes.items():
            self._say(host, outcome.said)
        if not any(each.removal or each.code for each in outcomes.values()):
            self._say("", f"Try: sparkrig storage {quoted_path(self.inventory)}, which lists what there is")
        return outcomes

    def _planned(self, found: Disk | Failed | Lost, name: str) -> _Outcome:
        from sparkrig.render.storage import goes

        if isinstance(found, Exception):
            return _Outcome(f"not read: {found}", 3)
        try:
            removal = found.removal(name)
        except Refusal as refusal:
            return _Outcome(f"refused: {refusal.what}. Try: {refusal.cure}", 1)
        return _Outcome(goes(removal), 0, removal) if removal else _Outcome(f"{name} is not there")

    def _say(self, host: str, text: str) -> None:
        self.console.print(f"{host}: {text}" if host else text, soft_wrap=True)

    def _remove(self, hosts: Hosts, outcomes: Mapping[str, _Outcome], name: str, *, yes: bool) -> None:
        """Ask, and remove it on each host side by side; what becomes of one does not touch another."""
        due = {host: each for host, each in outcomes.items() if each.removal}
        if not due:
            return
        self._say("", "Undo cannot bring it back; a deploy that needs it fetches it again.")
        if not (yes or files.agreed(f"Remove it from {', '.join(due)}?")):
            for each in due.values():
                each.said, each.code = "declined", 1
            return
        from sparkrig.io import progress, remote
        from sparkrig.operations.journal import Run

        run = Run(f"sparkrig storage {quoted_path(self.inventory)} --remove {quoted(name)}")
        able = {host: hosts[host] for host in due}
        with progress.hosts(list(due), f"Removing {name}") as told:

            def carry_out(at: Host) -> None:
                self._carry_out(run, at, due[at.name], name, told)

            remote.each(able, told.during("lock", carry_out))
        for host, outcome in due.items():
            self._say(host, outcome.said)

    def _carry_out(self, run: Any, at: Host, outcome: _Outcome, name: str, told: Any) -> None:
        from sparkrig.io.remote import Failed, Lost
        from sparkrig.operations import storage as operations
        from sparkrig.render.storage import gone

        mine, removal = self.fleet[at.name], outcome.removal
        assert removal
        try:
            operations.remove(
                run,
                at,
                removal,
                mine.weights,
                mine.patience,
                lambda seen: self._judged(at.name, seen).removal(name),
                told,
            )
        except Refusal as refusal:
            outcome.said, outcome.code = f"refused: {refusal.what}. Try: {refusal.cure}", 1
        except (Failed, Lost) as error:
            outcome.said, outcome.code = f"broke off: {error}. Try: the same again", 3
        else:
            outcome.said, outcome.done = f"{gone(removal)}, as run {run.id}", True

    def _document(
        self, found: Mapping[str, Disk | Failed | Lost], outcomes: Mapping[str, _Outcome], code: int
    ) -> Report:
        from sparkrig.reports.storage_report import Report, host, removed
        from sparkrig.value import each_host

        return Report(
            hosts=each_host(found, host),
            removal={
                name: removed(each.removal, each.said, each.code, done=each.done)
                for name, each in outcomes.items()
            },
            exit_code=code,
        )


def codes_of_there(outcomes: Mapping[str, _Outcome]) -> bool:
    """Whether what is to be removed is on any host."""
    return any(each.removal or each.code for each in outcomes.values())
