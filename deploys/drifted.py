"""What hosts are not, of all that the deploys declare of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sparkrig import login
from sparkrig.checks import last_declaration, resources
from sparkrig.checks.last_declaration import Declared
from sparkrig.deploys import dry, own
from sparkrig.drift.drift import Report, report, unexplained
from sparkrig.drift.io import drift_files
from sparkrig.files import DECLARED
from sparkrig.fleet import Fleet
from sparkrig.operations.subject import subjects
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check
from sparkrig.resources.state import State


def judged(
    typed: str,
    fleet: Fleet,
    data: Mapping[str, Any],
    seen: Mapping[str, State],
    unread: Mapping[str, str],
    started: datetime,
    clock: float,
) -> Report:
    """The report on hosts that were looked at already, compared with no earlier one; nothing is kept.

    typed: the inventory as a command names it; unread: why a host was not read; started, clock: now and
    time.monotonic() as the look began.
    """
    return report(
        checked(fleet, data, seen, unread),
        declared(seen),
        None,
        drift_files.accepted(Path(typed)),
        inventory=typed,
        version=version("sparkrig"),
        started=started,
        seconds=time.monotonic() - clock,
    )


def declared(seen: Mapping[str, State]) -> dict[str, Declared | None]:
    """What the last deploy of each host kept there, where it kept any; None for what cannot be read."""
    kept = {name: state.files.get(DECLARED) for name, state in seen.items()}
    return {name: last_declaration.load(file) for name, file in kept.items() if file}


def checked(
    fleet: Fleet,
    data: Mapping[str, Any],
    seen: Mapping[str, State],
    unread: Mapping[str, str],
    inventory: Path | None = None,
) -> dict[str, list[Check] | Refusal]:
    """By host, its checks, or why it could not be read. inventory: whose owner's own steps are asked, too."""
    hosts = subjects(fleet, seen)
    found = {name: resources.checks(subject) for name, subject in hosts.items()}
    planned = dry.plan(data, fleet, seen)
    for name, mine in (
        own.planned(inventory, fleet, {name: data[name] for name in seen}).items() if inventory else ()
    ):
        planned[name] = _more(planned[name], mine)
    whole = {
        name: made
        + unexplained(made, _peers(fleet.peers(name), found), planned[name], subject.apply, subject.serve)
        for (name, made), subject in zip(found.items(), hosts.values(), strict=True)
    }
    lost = {name: login.hindrance(name, data[name], unread[name])[1] for name in data if name not in seen}
    return {name: lost[name] if name in lost else whole[name] for name in data}


def _more(planned: list[str] | list[Refusal], own: list[str] | Refusal) -> list[str] | list[Refusal]:
    """What a deploy would do, with an owner's own steps; a refusal comes first."""
    refusals = [each for each in (*planned, own) if isinstance(each, Refusal)]
    return refusals or [each for each in (*planned, *own) if isinstance(each, str)]  # type: ignore[misc]


def _peers(names: Sequence[str], found: Mapping[str, list[Check]]) -> list[Check] | None:
    return [check for name in names for check in found[name]] if found.keys() >= set(names) else None
