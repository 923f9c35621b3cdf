"""What the doctor saw of hosts, and what its checks make of that: alone, with its peers, beside all others."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib.metadata import version
from typing import Any

from sparkrig.bandwidth import records
from sparkrig.checks import access, condition, last_declaration, live, pair, remedy, resources, undeclared
from sparkrig.checks.consistency import judged as compared
from sparkrig.checks.pair import Pings
from sparkrig.checks.root_causes import roots
from sparkrig.cure import deployment
from sparkrig.doctor.doctor import Report, report
from sparkrig.fabric.neighbours import Neighbours
from sparkrig.fabric.survey import Survey
from sparkrig.files import DECLARED
from sparkrig.fleet import Fleet
from sparkrig.resources.check import Check, Subject
from sparkrig.resources.state import State
from sparkrig.resources.watch import WATCH
from sparkrig.runs.journal import Journal


@dataclass(frozen=True)
class Seen:
    """What was seen, by host.

    unread: why nothing was; heard: of the hosts that listened; pings: of those that pinged, by netdev or why not;
    journals: of the hosts whose journal was asked for, or why it was not read.
    """

    hosts: Mapping[str, State]
    unread: Mapping[str, str]
    heard: Mapping[str, Neighbours] = field(default_factory=dict)
    pings: Mapping[str, Pings | str] = field(default_factory=dict)
    journals: Mapping[str, Journal | str] = field(default_factory=dict)


def judged(
    inventory: str,
    fleet: Fleet,
    data: Mapping[str, Mapping[str, Any]],
    seen: Seen,
    subjects: Mapping[str, Subject],
    names: Sequence[str],
    started: datetime,
    clock: float,
) -> Report:
    """The report on what was seen. started, clock: now and time.monotonic() as the look began."""
    every = _every(data, seen, subjects, _surveys(fleet, seen))
    read = every if fleet.declared else undeclared.kept(every, subjects)
    alike = _compared(read, subjects)
    unread = {name: access.unread(name, data[name], why) for name, why in seen.unread.items()}
    found = {name: alike.get(name) or unread[name] for name in data}
    notes = {
        (name, check.id): (*remedy.notes(check.id, subjects[name].found), *_age(check.id, subjects[name], started))
        for name, made in alike.items()
        for check in made
    }
    return report(
        {name: [_blamed(check, subjects.get(name)) for check in made] for name, made in found.items()},
        list(subjects),
        fleet,
        asked=names,
        roots=roots(found, fleet),
        notes=notes,
        inventory=inventory,
        version=version("sparkrig"),
        started=started,
        seconds=time.monotonic() - clock,
        left_out=0 if names else undeclared.left_out(every, read),
    )


def _blamed(check: Check, host: Subject | None) -> Check:
    """Nobody's hand changed what no deploy has made yet."""
    if host is None or DECLARED in host.found.files or check.cause or not deployment(check.cure):
        return check
    return replace(check, cause=f"{last_declaration.NONE}: this one makes it so")


def _every(
    data: Mapping[str, Mapping[str, Any]],
    seen: Seen,
    subjects: Mapping[str, Subject],
    surveys: Mapping[str, Survey],
) -> dict[str, list[Check]]:
    """Every check of the hosts that were read."""
    return {
        name: [*access.checks(name, data[name], host.found.identity), *checks(host, surveys.get(name), seen)]
        for name, host in subjects.items()
    }


def checks(host: Subject, survey: Survey | None, seen: Seen) -> list[Check]:
    """Every check of a host that was read, but for its access. survey: of its group, where it has one."""
    made = [
        *pair.checks(host, survey, seen.pings.get(host.name), seen.hosts),
        *resources.checks(host),
        *live.checks(host, host.found.own_address),
        *(resources.explained(host, each) for each in condition.checks(host.found.condition)),
        *condition.of_board(host.found.board),
        *WATCH.reset(host.found.blackbox),
        *WATCH.guarded(host.found.blackbox),
        *pair.partial(host, seen.journals),
    ]
    return resources.of_a_spark(host, made)


def _age(id: str, host: Subject, now: datetime) -> tuple[str, ...]:
    """How old the measurement of a rail is."""
    noun, _, netdev = id.partition(".")
    if noun != "bandwidth":
        return ()
    mine = [record for (of, _), record in records.found(host.found.files).items() if of == netdev]
    oldest = min(mine, key=lambda record: record.measured_at, default=None)
    age = records.age(oldest, now) if oldest else ""
    return (age,) if age else ()


def _surveys(fleet: Fleet, seen: Seen) -> dict[str, Survey]:
    """What the hosts of each cluster show together, by host; of two that listened, or more.

    Nothing where one was left out of this look; one that could not be read is a finding beside the others.
    """
    found: dict[str, Survey] = {}
    for group in fleet.groups():
        there = {name: seen.hosts[name] for name in group if name in seen.heard}
        unread = {name: f"{name} could not be read: {why}" for name, why in seen.unread.items() if name in group}
        if len(there) > 1 and there.keys() | unread.keys() == {*group}:
            found |= dict.fromkeys(there, Survey(fleet, group, there, seen.heard, unread))
    return found


def _compared(read: Mapping[str, Sequence[Check]], hosts: Mapping[str, Subject]) -> dict[str, list[Check]]:
    """The checks, with those of hosts that differ, and what brings them together."""
    values: dict[str, dict[str, str]] = {}
    for name, made in read.items():
        for check in made:
            if check.alike and not check.wrong:
                values.setdefault(check.id, {})[name] = check.found
    return {
        name: [
            replace(each, cure=remedy.cure(each, name, hosts, values[each.id])) if each is not before else each
            for before, each in zip(read[name], made, strict=True)
        ]
        for name, made in compared(read, lambda _: remedy.PAGE).items()
    }
