"""What an undo came to: what it left alone, what is not as it should be, and the words for both."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from sparkrig.cure import over_ssh, quoted
from sparkrig.network import guard
from sparkrig.runs.journal import ABSENT, HELD, Journal, Left, Run
from sparkrig.runs.managed_files import RESTARTING
from sparkrig.runs.undo import MEASURED_ITEM, Act, Change, Plan
from sparkrig.text import plain

_SAID = 400  # characters of docker's message


@dataclass(frozen=True)
class Undone:
    """A pair, or a Spark on its own.

    plans: by host; outcome: in words; exit_code: of this group alone; left: by host, what is not put back.
    """

    hosts: tuple[str, ...]
    plans: Mapping[str, Plan]
    outcome: str
    exit_code: int
    left: Mapping[str, tuple[Left, ...]]


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was put back, or would be."""

    schema: Literal["sparkrig.undo/1"] = "sparkrig.undo/1"
    groups: list[Undone]


def left(plan: Plan, told: str) -> Plan:
    """The plan after what FIT, RESTORE or DOCKER printed.

    A file that docker does not start with is left alone, and so is what was changed since the plan.
    """
    found: dict[str, tuple[Act, str]] = {}
    for line in told.splitlines():
        word, _, rest = line.partition(" ")
        if word == "changed":
            found[rest] = ("foreign", "it was changed while this run was taken back")
        elif word in ("unfit", "failed"):
            found[RESTARTING] = ("unfit" if word == "unfit" else "failed", plain(rest[:_SAID]))
    changes = [
        replace(change, act=found[change.name][0], why=found[change.name][1])
        if change.kind == "file" and change.name in found
        else change
        for change in plan.changes
    ]
    return replace(plan, changes=tuple(changes))


def left_behind(plan: Plan) -> tuple[Left, ...]:
    """What is not put back, and why; packages, which stay by design, are none of it."""
    whys = {
        "foreign": "changed since by another one",
        "unfit": "docker cannot start with what stood there before",
        "failed": "docker did not start with what stood there before",
        "differs": "it is not as it stood there before",
    }
    found = [
        Left(change.item, f"{whys[change.act]}: {change.why}" if change.why else whys[change.act])
        for change in plan.changes
        if change.act in whys
    ]
    return (*found, *([Left("network", plan.amiss)] if plan.amiss else []))


def network_done(plan: Plan, detail: str) -> Plan:
    """The plan once the guard put the network back. detail: the guard's words about what is not as it was."""
    said = [part for part in detail.split("; ") if part]
    stays = [part.removesuffix(guard.STAYS) for part in said if part.endswith(guard.STAYS)]
    changes = [
        replace(change, act="foreign") if change.kind == "profile" and change.name in stays else change
        for change in plan.changes
    ]
    known = {change.name for change in changes}
    more = [Change(f"profile {path}", "foreign") for path in stays if path not in known]
    amiss = "; ".join(part for part in said if not part.endswith(guard.STAYS))
    return replace(plan, changes=(*changes, *more), amiss=amiss)


def verified(plan: Plan, journal: Journal, run_id: str) -> Plan:
    """The plan once that run carried it out and the host was read again: what is not as it should be differs."""
    run = journal.find(run_id)
    return replace(plan, changes=tuple(_verified(change, journal, run) for change in plan.changes))


def _verified(change: Change, journal: Journal, run: Run | None) -> Change:
    now = journal.current.get(change.item, ABSENT)
    merged = ((run.wrote or {}) if run else {}).get(change.item, ())[-1:]
    wanted = {
        "put back": change.before,
        "remove": ABSENT,
        "merge": "".join(merged),
        "hold": HELD,
        "release": ABSENT,
    }.get(change.act)
    if wanted is None or now == wanted or change.item == MEASURED_ITEM or change.kind == "profile":
        return change
    return replace(change, act="differs", why=f"{_short(now)} is there, {_short(wanted)} is expected")


def _short(value: str) -> str:
    """What stands somewhere, in words: `644 root:root 1f2e3d4c...`."""
    return re.sub(r"\b([0-9a-f]{8})[0-9a-f]{56}\b", r"\1...", plain(value)) or "what was merged"


def left_alone(name: str, plan: Plan) -> list[str]:
    """A sentence for each thing that is not put back on the host of that name."""
    docker = {change.item for change in plan.changes if change.act in ("unfit", "failed")}
    rest = [each for each in left_behind(plan) if each.item not in docker]
    said = [f"{_named(each.item)} of {name} is not put back ({each.why})" for each in rest]
    return [*_refused_by_docker(name, plan), *said]


def _named(item: str) -> str:
    kind, _, name = item.partition(" ")
    return {"hold": f"the hold of {name}", "network": "the network"}.get(kind, name)


def _refused_by_docker(name: str, plan: Plan) -> list[str]:
    look = over_ssh(name, f"sudo dockerd --validate --config-file {quoted(plan.kept_docker)}")
    log = over_ssh(name, "sudo journalctl -u docker -n 30")
    words = {
        "unfit": ("is left alone, for docker cannot start", look),
        "failed": ("is back as it was, for docker did not start", log),
    }
    return [
        f"{change.name} of {name} {words[change.act][0]} with what stood there before ({change.why}). "
        f"Try: {words[change.act][1]}"
        for change in plan.changes
        if change.act in words
    ]
