"""`sparkrig update` without --check: what is shown and asked before, and the update itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkrig.cure import verb
from sparkrig.operations import applying
from sparkrig.operations.updating import Updating
from sparkrig.refusal import Refusal
from sparkrig.ssh import controller
from sparkrig.terminal import terminal

if TYPE_CHECKING:
    from sparkrig.fleet import Fleet
    from sparkrig.host.update_record import Standing
    from sparkrig.ssh.remote import Failed, Lost
    from sparkrig.update.look import Foreseen
    from sparkrig.update.report import Prospect


@dataclass(frozen=True)
class Asked:
    """What was typed."""

    inventory: Path
    to: str
    parts: Collection[str]
    limit: tuple[str, ...]
    back: bool
    irreversible: bool
    yes: bool
    may_go: tuple[str, ...] = ()


def run(asked: Asked, fleet: Fleet, data: Mapping[str, Mapping[str, Any]]) -> int:
    """The exit code, once everything was said. Raises Refusal before anything is changed."""
    at = Updating(asked.inventory, fleet, data, asked.to, asked.parts, asked.limit)
    back = ("--back",) if asked.back else ()
    check = f"{at.again('--check')}, which shows what it would do"
    terminal.must_answer(asked.yes, f"{check}; then {at.again(*back, '--yes')}")
    standings = at.standings()
    pending = {name: standing for name, standing in standings.items() if standing.record}
    order = (
        _goes_on(at, pending, asked, _own(standings)) if pending or asked.back else _begun(at, asked, standings)
    )
    if order is None:
        return 1
    if not order:
        return 0
    if stopped := at.carry_out(order):
        terminal.echo(f"✗ {stopped.what}. Try: {stopped.cure}", err=True)
        return 2
    terminal.echo(f"Done: {', '.join(order)}. Next: {verb('drift')}")
    return 0


def _own(standings: Mapping[str, Standing]) -> list[str]:
    """The machine that this runs on."""
    return [name for name, each in standings.items() if each.boot == controller.boot_id()]


# --- an update that is open


def _goes_on(
    at: Updating, pending: Mapping[str, Standing], asked: Asked, own: Collection[str]
) -> list[str] | None:
    """The hosts whose update goes on: the one that has begun first, so that never two are in the middle of one.

    own: the machine that this runs on, the last of those that have not begun. Raises Refusal.
    """
    if not pending:
        raise Refusal("no update is open, so nothing leads back", at.again("--check"))
    if not asked.back:
        _the_same(at, pending)
    for name, each in pending.items():
        terminal.echo(f"{name}: {each.sentence}{each.record.since if each.record else ''}")
    if not asked.yes and not terminal.confirm("Put the packages back?" if asked.back else "Go on with it?"):
        terminal.echo("Declined; nothing was changed.")
        return None
    if asked.back:
        at.back = True
        at.turn_back(pending)
    serving = {name for name, each in pending.items() if each.record and each.record.served}
    return sorted(pending, key=lambda name: (-len(pending[name].steps), name in own, name in serving))


def _the_same(at: Updating, pending: Mapping[str, Standing]) -> None:
    """Raise Refusal where another command than this one is open: an update does what was typed."""
    commands = {name: _command(at, standing) for name, standing in pending.items()}
    limits = len({*commands.values()}) > 1  # of several groups, each has its own
    for name, each in pending.items():
        if each.back or not (each.record and each.record.same(at.to, at.parts)):
            limit = ("--limit", name) if limits else ()
            command, back = _command(at, each, *limit), at.again("--back", *limit)
            raise Refusal(
                f"{name}: {each.sentence}, by another command than this one",
                command if each.back else f"{command}, which goes on; or {back}, which gives it up",
            )


def _command(at: Updating, standing: Standing, *more: str) -> str:
    """The command that an open update goes on by."""
    assert standing.record is not None
    return replace(at, to=standing.record.to, parts=standing.record.parts, back=standing.back).again(*more)


# --- a new one


def _begun(at: Updating, asked: Asked, standings: Mapping[str, Standing]) -> list[str] | None:
    """The hosts of a new update in their order, once their records are kept; none where nothing is to be done.

    The turn of the machine that this runs on is the last, for its reboot ends this command. Raises Refusal.
    """
    from sparkrig.operations import update_look
    from sparkrig.update import report, updating

    found = update_look.looked(asked.inventory.name, at.fleet, at.data, asked.to, asked.parts, fetch=True)
    made = update_look.prospects(at.fleet, at.data, found, asked.parts, asked.may_go)
    order = report.order(made, at.fleet.groups())
    update_look.show(made, order, report.mixed(made, at.fleet.groups()))
    _judge(at, made)
    own = _own(standings)
    due = sorted((name for name in order if made[name].due), key=lambda name: name in own)
    if not due:
        return []
    for name in set(own).intersection(due):
        terminal.echo(
            f"{name} is the machine that this runs on, and comes last: its reboot ends this command, and the same "
            f"command goes on once it is back, within {at.trial_minutes(name):.0f} min"
        )
    if not _agreed({name: updating.irreversible(made[name]) for name in due}, asked):
        return None
    id = applying.now()
    seen = {name: _foreseen(found[name]) for name in due}
    serving = {name: _foreseen(each).seen.serving for name, each in found.items()}
    at.serving = {
        name: updating.served(mine, [serving[peer] for peer in at.fleet.peers(name) if peer in serving])
        for name, mine in serving.items()
    }
    records = {
        name: updating.record(id, at.again(), asked.to, asked.parts, seen[name], made[name], at.serving[name])
        for name in due
    }
    at.begin(records, {name: seen[name].asked.limits for name in due}, standings)
    return due


def _judge(at: Updating, made: Mapping[str, Prospect]) -> None:
    """Raise Refusal unless every host is fit for it: of a cluster, all or none."""
    unfit = [name for name, each in made.items() if each.refusals or each.unread]
    if unfit:
        raise Refusal(
            f"no update begins, because of {', '.join(unfit)}: the reasons stand above",
            f"what stands there, or {at.again('--limit', 'HOST')} for the other Sparks",
        )


def _agreed(lost: Mapping[str, str], asked: Asked) -> bool:
    """Whether the update is agreed to, and what cannot be undone by its name."""
    closed = {name: each for name, each in lost.items() if each}
    if asked.yes and closed and not asked.irreversible:
        said = "; ".join(f"{name}: {each}" for name, each in closed.items())
        raise Refusal(f"this cannot be undone: {said}", "the same with --irreversible")
    if asked.yes:
        return True
    questions = [f"{name}: {each}. This cannot be undone; do it?" for name, each in closed.items()]
    for question in [*questions, f"Update {', '.join(lost)}, one after the other?"]:
        if not terminal.confirm(question):
            terminal.echo("Declined; nothing was changed.")
            return False
    return True


def _foreseen(found: Foreseen | Failed | Lost) -> Foreseen:
    assert not isinstance(found, Exception)
    return found
