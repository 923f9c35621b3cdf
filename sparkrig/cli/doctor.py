"""`sparkrig doctor`: whether hosts are well, category by category, and the one command to type now."""

from __future__ import annotations

import difflib
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files
from sparkrig.cure import quoted_path
from sparkrig.io import project, terminal
from sparkrig.text import plain

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from sparkrig.checks.pair import Pings
    from sparkrig.checks.remedy import Compared
    from sparkrig.fabric.neighbours import Neighbours
    from sparkrig.fabric.survey import Survey
    from sparkrig.facts.together import Part
    from sparkrig.fleet import Fleet
    from sparkrig.io.remote import Keep
    from sparkrig.look.state import State
    from sparkrig.reports.doctor import Report
    from sparkrig.resources.check import Check
    from sparkrig.runs.journal import Journal


_PAIRS = "the hosts of each pair"
# the checks that take all hosts of a cluster at the same time, and what of facts/together.py each asks for
_TOGETHER = {"pair.cabling": "neighbours", "pair.halves": "journal", "pair.NETDEV.ping": "pings"}


@dataclass(frozen=True)
class Seen:
    """What was seen, by host.

    unread: why nothing was; heard: of the hosts that listened; pings: of those that pinged, by netdev or why not;
    journals: of the hosts whose journal was asked for, or why it was not read.
    """

    hosts: Mapping[str, State]
    unread: Mapping[str, str]
    heard: Mapping[str, Neighbours]
    pings: Mapping[str, Pings | str]
    journals: Mapping[str, Journal | str] = field(default_factory=dict)


def _list(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from sparkrig.checks.reference import KINDS
        from sparkrig.resources.kind import CATEGORIES

        width = max(len(kind.name) for kind in KINDS)
        for category in CATEGORIES:
            terminal.echo(category)
            for kind in KINDS:
                if kind.category == category:
                    terminal.echo(f"  {kind.name:{width}}  {kind.meaning}")
        ctx.exit()


def _names(_ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from sparkrig.checks.reference import KINDS
    from sparkrig.resources.kind import CATEGORIES

    words = [*(each.split()[0].lower() for each in CATEGORIES), *(each.name for each in KINDS)]
    return [CompletionItem(word) for word in words if word.startswith(incomplete)]


@click.command()
@files.INVENTORY
@click.argument("names", metavar="[CHECK]...", nargs=-1, shell_complete=_names)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list,
    help="List every check with its meaning, and exit.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show every check, not only what is wrong.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/doctor.json).")
def doctor(inventory_file: Path, names: tuple[str, ...], verbose: bool, as_json: bool) -> None:
    """Check whether hosts are healthy: what is wrong, why, and which command to type next.

    CHECK limits it to one check (net.enp1s0f0np0.mtu), to all that begin alike (net, net.enp1s0f0np0), or to a
    category (network).

    It changes nothing on a host. The hosts of a pair or cluster send each other a few frames and pings. Exit
    code 2: something is wrong; 3: a host could not be read, or a check has no result.
    """
    _refuse_unknown(names)
    fleet, data = files.inventory(inventory_file)
    started, clock = datetime.now(UTC), time.monotonic()
    seen = look(inventory_file.name, fleet, data, names)
    made = judged(files.typed(inventory_file), fleet, data, seen, names, started, clock)
    _refuse_absent(made)
    if as_json:
        terminal.echo(made.dumps())
    else:
        _show(made, everything=verbose or bool(names))
        _show_age(inventory_file)
    raise SystemExit(made.exit)


def _show_age(inventory_file: Path) -> None:
    """Print where the project was made by an older sparkrig than the one that runs."""
    from importlib.metadata import version

    root, current = project.root(inventory_file), version("sparkrig")
    if made := project.outdated(root, current):
        new = root.with_name(f"{root.name}-new")
        cure = f"sparkrig init {quoted_path(new)}; diff -r {quoted_path(new)} {quoted_path(root)}"
        terminal.echo(f"{root} is older than this {current}: {plain(made)} made it. Try: {cure}", err=True)


def _refuse_unknown(names: Sequence[str]) -> None:
    """Before anything connects."""
    from sparkrig.checks.reference import KINDS, kinds
    from sparkrig.resources.kind import CATEGORIES

    for name in names:
        if not kinds(name):
            known = [*(each.lower() for each in CATEGORIES), *(each.name for each in KINDS)]
            near = difflib.get_close_matches(name, known, n=1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise click.ClickException(f"no check is called {name}{meant}. Try: sparkrig doctor --list")


def _refuse_absent(made: Report) -> None:
    """A check that no host has did not pass."""
    from sparkrig.checks.reference import means

    ids = {row.id for host in made.hosts for row in host.rows}
    for name in made.asked:
        if any(host.read for host in made.hosts) and not any(means(name, id) for id in ids):
            raise click.ClickException(
                f"no host has a check {name}; nothing there is declared or to be seen that it could be about. "
                f"Try: sparkrig doctor {quoted_path(made.inventory)} -v"
            )


def look(
    title: str,
    fleet: Fleet,
    data: Mapping[str, Mapping[str, Any]],
    names: Sequence[str],
    keep: Keep | None = None,
) -> Seen:
    """Look at the hosts, and let those of a pair or cluster listen and ping.

    names: checks that were asked for, all where there are none; keep: is given what each host printed.
    """
    from sparkrig.io import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.checks.reference import kinds
    from sparkrig.io import examine
    from sparkrig.look.state import State

    limits = {name: examine.limit_s(fleet[name]) for name in data}
    wanted = {kind.name for name in names for kind in kinds(name)} or _TOGETHER.keys()
    nouns = {_TOGETHER[name] for name in wanted & _TOGETHER.keys()}
    paired = [name for name in data if nouns and data.keys() & set(fleet.peers(name))]
    with session.staying(
        data,
        f"Looking at {title}",
        lambda at: examine.look(at, fleet, keep),
        paired,
        wait_s=0,
        limits_s=limits,
    ) as (looked, hosts):
        seen = {name: found for name, found in looked.items() if isinstance(found, State)}
        unread = {name: str(why) for name, why in looked.items() if isinstance(why, Exception)}
        groups = {
            name: at for name, at in hosts.items() if seen.keys() & {name} and seen.keys() & set(fleet.peers(name))
        }
        if not groups:
            return Seen(seen, unread, {}, {}, {})
        answers = session.ask(
            groups,
            f"Looking at {'the hosts of each cluster' if any(map(fleet.many, groups)) else _PAIRS} together",
            lambda at: examine.together(at, fleet, seen[at.name], nouns, keep),
        )
    return Seen(seen, unread, *_between(answers, nouns))


def _between(
    answers: Mapping[str, Mapping[str, Part] | Exception], nouns: Collection[str]
) -> tuple[dict[str, Neighbours], dict[str, Pings | str], dict[str, Journal | str]]:
    """Who hears whom, what pings, and the journals, as far as they were asked for; in words why not."""
    from sparkrig.fabric.neighbours import Neighbours

    found: dict[str, dict[str, Any]] = {noun: {} for noun in _TOGETHER.values()}
    for name, answer in answers.items():
        for noun in nouns:
            part = answer if isinstance(answer, Exception) else answer[noun]
            found[noun][name] = str(part) if isinstance(part, Exception) else part
    heard = {
        name: Neighbours(trouble=each) if isinstance(each, str) else each
        for name, each in found["neighbours"].items()
    }
    return heard, found["pings"], found["journal"]


def judged(
    inventory: str,
    fleet: Fleet,
    data: Mapping[str, Mapping[str, Any]],
    seen: Seen,
    names: Sequence[str],
    started: datetime,
    clock: float,
) -> Report:
    """The report on what was seen. started, clock: now and time.monotonic() as the look began."""
    from importlib.metadata import version

    from sparkrig.checks import access
    from sparkrig.checks.remedy import Compared
    from sparkrig.checks.root_causes import roots
    from sparkrig.operations.subject import subject
    from sparkrig.reports.doctor import report

    states = {name: seen.hosts[name] for name in data if name in seen.hosts}
    hosts = {name: Compared(subject(name, fleet, states, inventory), found) for name, found in seen.hosts.items()}
    surveys = _surveys(fleet, seen)
    read = {
        name: [
            *access.checks(name, data[name], each.found.identity),
            *_checks(each, surveys.get(name), seen, states),
        ]
        for name, each in hosts.items()
    }
    unread = {name: access.unread(name, data[name], why) for name, why in seen.unread.items()}
    compared = _compared(read, hosts)
    found = {name: compared.get(name) or unread[name] for name in data}
    return report(
        found,
        list(hosts),
        fleet,
        asked=names,
        roots=roots(found, fleet),
        notes=_notes(compared, hosts, started),
        inventory=inventory,
        version=version("sparkrig"),
        started=started,
        seconds=time.monotonic() - clock,
    )


def _notes(
    compared: Mapping[str, Sequence[Check]], hosts: Mapping[str, Compared], now: datetime
) -> dict[tuple[str, str], tuple[str, ...]]:
    """What stands beside a check of a host, by both: what else was seen there, and how old a measurement is."""
    from sparkrig.checks import remedy

    return {
        (name, check.id): (*remedy.notes(check.id, hosts[name].found), *_age(check.id, hosts[name], now))
        for name, checks in compared.items()
        for check in checks
    }


def _checks(host: Compared, survey: Survey | None, seen: Seen, group: Mapping[str, State]) -> list[Check]:
    """Every check of a host that was read, but for its access."""
    from sparkrig.checks import condition, live, pair, resources
    from sparkrig.resources.watch import WATCH

    return [
        *pair.checks(host.subject, survey, seen.pings.get(host.subject.name), group),
        *resources.checks(host.subject),
        *live.checks(host.subject, host.found.hostname),
        *condition.checks(host.found.condition),
        *WATCH.reset(host.subject, host.found.blackbox),
        *WATCH.guarded(host.found.blackbox),
        *pair.partial(host.subject, seen.journals),
    ]


def _age(id: str, host: Compared, now: datetime) -> tuple[str, ...]:
    """How old the measurement of a rail is."""
    noun, _, netdev = id.partition(".")
    if noun != "bandwidth":
        return ()
    from sparkrig.bandwidth import records

    kept = records.found(host.found.files)
    mine = [record for (of, _), record in kept.items() if of == netdev]
    oldest = min(mine, key=lambda record: record.measured_at, default=None)
    said = records.age(oldest, now) if oldest else ""
    return (said,) if said else ()


def _surveys(fleet: Fleet, seen: Seen) -> dict[str, Survey]:
    """What the hosts of each cluster show together, by host; of two that listened, or more.

    Nothing where one was left out of this look; one that could not be read is a finding beside the others.
    """
    from sparkrig.fabric.survey import Survey

    found: dict[str, Survey] = {}
    for group in fleet.groups():
        there = {name: seen.hosts[name] for name in group if name in seen.heard}
        unread = {name: f"{name} could not be read: {why}" for name, why in seen.unread.items() if name in group}
        if len(there) > 1 and there.keys() | unread.keys() == {*group}:
            found |= dict.fromkeys(there, Survey(fleet, group, there, seen.heard, unread))
    return found


def _compared(read: Mapping[str, Sequence[Check]], hosts: Mapping[str, Compared]) -> dict[str, list[Check]]:
    """The checks, with those of hosts that differ, and what brings them together."""
    from sparkrig.checks import remedy
    from sparkrig.checks.consistency import judged

    values: dict[str, dict[str, str]] = {}
    for name, checks in read.items():
        for check in checks:
            if check.alike and not check.wrong:
                values.setdefault(check.id, {})[name] = check.found
    after = judged(read, lambda _: remedy.PAGE)
    return {
        name: [
            replace(each, cure=remedy.cure(each, name, hosts, values[each.id])) if each is not before else each
            for before, each in zip(read[name], checks, strict=True)
        ]
        for name, checks in after.items()
    }


def _show(made: Report, *, everything: bool) -> None:
    from sparkrig.io.screen import Screen
    from sparkrig.render.doctor import lines

    console = Screen()
    width = min(console.width, 100) if console.has_width else None
    for line in lines(made, everything=everything, ascii_only=console.options.ascii_only, width=width):
        console.print(line, soft_wrap=True)
