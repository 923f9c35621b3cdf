"""`sparkrig undo`: put the hosts of an inventory back to what stood there before a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.command import files
from sparkrig.refusal import Refusal

if TYPE_CHECKING:
    from pyinfra.api import Host
    from rich.console import Console

    from operations.remote import Failed, Lost
    from sparkrig.journal import Journal
    from sparkrig.settings import Fleet
    from sparkrig.undo import Plan


@dataclass
class _Group:
    """A pair, or a Spark on its own, which goes back together. outcome: what came of it, with its exit code."""

    names: tuple[str, ...]
    journals: dict[str, Journal] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)
    outcome: str = "nothing to undo"
    code: int = 0

    @property
    def due(self) -> bool:
        return self.code == 0 and any(self.plans.values())

    def ends(self, outcome: str, code: int) -> None:
        self.outcome, self.code = outcome, code


@click.command()
@files.INVENTORY
@click.argument("run", required=False)
@click.option("--all", "everything", is_flag=True, help="Also what somebody else changed since.")
@click.option("--restart-docker", is_flag=True, help="Although containers run, where its daemon.json goes back.")
@click.option("--dry", is_flag=True, help="Show what would be done, and do nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="For programs (docs/schema/undo.json).")
def undo(
    inventory_file: Path,
    run: str | None,
    everything: bool,
    restart_docker: bool,
    dry: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Put files, holds, pins and network profiles back to what stood there before RUN.

    RUN is one that `sparkrig status` shows; by default the newest that changed something. The plan comes first,
    and a question. A pair goes back as a pair, or not at all. Packages that were installed stay. An undo is a run
    too, and can be undone. Exit code 3: a host could not be read, or it broke off and the same again goes on; 4:
    the network could not be put back, and nothing was changed.
    """
    fleet, data = files.inventory(inventory_file)
    if not dry:
        files.must_answer(yes, "the same with --dry, which shows the plan; then with --yes")
    from rich.console import Console

    from sparkrig import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from operations import journal
    from sparkrig.topology import groups

    console = Console(stderr=as_json, highlight=False)
    with session.connected(data) as hosts:
        found = session.ask(hosts, "Reading the journals", journal.look)
        made = [_planned(names, found, run, everything) for names in groups(fleet)]
        for group in made:
            _leave(group, hosts, fleet, restart_docker=restart_docker)
            _show(console, group)
        due = [group for group in made if group.due]
        if due and not dry:
            if yes or files.agreed("Do this?"):
                for group in due:
                    _carry_out(console, group, hosts, fleet, inventory_file, restart_docker=restart_docker)
            else:
                for group in due:
                    group.ends("declined", 1)
    if any(isinstance(each, Exception) for each in found.values()):
        files.try_doctor(inventory_file)
    if as_json:
        files.document("undo", groups=[_document(group) for group in made])
    raise SystemExit(max(group.code for group in made))


def _planned(
    names: tuple[str, ...], found: Mapping[str, Journal | Failed | Lost], run: str | None, everything: bool
) -> _Group:
    """What is to be done to one group; nothing where one half cannot be read."""
    from sparkrig import undo as judgement

    group = _Group(names)
    unread = [f"{name} cannot be read: {found[name]}" for name in names if isinstance(found[name], Exception)]
    if unread:
        group.ends("; ".join([*unread, "nothing is undone"]), 3)
        return group
    group.journals = {name: each for name in names if not isinstance(each := found[name], Exception)}
    try:
        target = judgement.target(group.journals, run)
    except Refusal as refusal:
        group.ends(f"{refusal.what}. Try: {refusal.cure}", 1)
        return group
    if target:
        group.plans = {
            name: judgement.plan(each, target, everything=everything) for name, each in group.journals.items()
        }
        group.outcome = "planned" if group.due else f"nothing is left to undo of {target}"
    return group


def _leave(
    group: _Group, hosts: Mapping[str, Host | Failed | Lost], fleet: Fleet, *, restart_docker: bool
) -> None:
    """Ask docker, where it would have to restart, what that would stop."""
    from sparkrig import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from facts.containers import Containers
    from operations import remote
    from sparkrig import undo as judgement

    asked = {name: hosts[name] for name, plan in group.plans.items() if plan.docker}
    answers = session.ask(
        asked,
        "Asking docker what runs",
        lambda at: remote.read(at, Containers(), seconds=int(60 * fleet[at.name].patience)),
    )
    lost = [f"{name}: {answer}" for name, answer in answers.items() if isinstance(answer, Exception)]
    if lost:
        group.ends("; ".join(lost), 3)
        return
    running = {name: each.running for name, each in answers.items() if not isinstance(each, Exception)}
    try:
        judgement.judge(group.plans, running, restart_docker=restart_docker)
    except Refusal as refusal:
        group.ends(f"{refusal.what}. Nothing is undone. Try: {refusal.cure}", 1)


def _carry_out(
    console: Console,
    group: _Group,
    hosts: Mapping[str, Host | Failed | Lost],
    fleet: Fleet,
    inventory_file: Path,
    *,
    restart_docker: bool,
) -> None:
    from rich.markup import escape

    from operations import undo as operations
    from operations.guard import RolledBack
    from operations.journal import Run
    from operations.remote import Failed, Lost
    from sparkrig import progress

    target = next(iter(group.plans.values())).run
    able = {name: host for name in group.names if not isinstance(host := hosts[name], Exception)}
    run = Run(f"sparkrig undo {inventory_file} {target}", undoes=target)
    again = f"the same again goes on: {run.why}"
    try:
        with progress.hosts(able, f"Undoing {target}") as told:
            operations.carry_out(
                run, able, group.plans, fleet[group.names[0]], told, restart_docker=restart_docker
            )
        group.ends(f"undone, as run {run.id}", 0)
    except Refusal as refusal:
        group.ends(str(refusal), 1)
    except RolledBack as why:
        group.ends(f"rolled back: {why}; nothing else was changed", 4)
    except (Failed, Lost) as error:
        group.ends(f"broke off: {error}; {again}", 3)
    console.print(f"{', '.join(group.names)}: {escape(group.outcome)}", soft_wrap=True)


def _show(console: Console, group: _Group) -> None:
    from rich.markup import escape

    from sparkrig.picture.journal import undoing

    for name, plan in group.plans.items():
        console.print(undoing(name, plan, group.journals[name]))
    if not group.due:
        console.print(f"{', '.join(group.names)}: {escape(group.outcome)}", soft_wrap=True)


def _document(group: _Group) -> dict[str, Any]:
    from sparkrig.picture.journal import planned

    plans = {name: planned(plan) for name, plan in group.plans.items()}
    return {"hosts": list(group.names), "plans": plans, "outcome": group.outcome, "exit_code": group.code}
