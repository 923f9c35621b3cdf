"""The doctor's report: what was read of each host, what was expected, what breaks it, and one command to try.

The models are the JSON that `sparkrig doctor --json` prints (docs/schema/doctor.json); fields are only ever added.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from sparkrig.checks.reference import kind, means
from sparkrig.cure import cure_of, enlist, from_here, verb
from sparkrig.drift.fields import CureText
from sparkrig.fleet import Fleet
from sparkrig.resources.check import Check, Judged, Status
from sparkrig.resources.kind import CATEGORIES, Category
from sparkrig.text import listed, plain

SCHEMA: Literal["sparkrig.doctor/1"] = "sparkrig.doctor/1"
_BRIEF = 80  # columns of a screen


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Root(_Model):
    """A failed check that another one follows from."""

    host: str
    id: str


class Row(Judged, _Model):
    """One check on one host.

    found: what was read, or the reason where the status is skipped or unknown; cause: what breaks it as a rule, or
    the fixed name of a verdict's cause; notes: what else was read; follows: the failed check that this one
    follows from, if any; docs: page and section; until: the last day on which an update that goes from host to
    host explains it, so that it fails nothing; else empty.
    """

    id: str
    category: Category
    status: Status
    meaning: str
    want: str
    found: str
    cause: str = ""
    cure: CureText = ""
    docs: str
    notes: list[str] = []
    follows: Root | None = None
    until: str = ""

    @property
    def fails(self) -> bool:
        """Whether it does not hold, and is not expected to."""
        return self.wrong and not self.until


class Host(_Model):
    """One host. read: whether it let us in and answered."""

    name: str
    exit: int
    read: bool
    rows: list[Row]


class Report(_Model):
    """All hosts at one time.

    exit: of the most severe host; asked: the checks that were asked for by name, none for all of them; verdict:
    one sentence without a full stop; next: the one command to type now, and where;
    where words alone help, the first step, or the command that shows whether they did; left_out: checks that
    need an inventory, where addresses stood in its place.
    """

    schema_: Literal["sparkrig.doctor/1"] = Field(SCHEMA, alias="schema", serialization_alias="schema")
    version: str
    inventory: str
    started: datetime
    seconds: float
    exit: int
    asked: list[str] = []
    verdict: str
    next: str
    hosts: list[Host]
    left_out: int = 0

    def dumps(self) -> str:
        return self.model_dump_json(by_alias=True, indent=1)

    def of(self, category: Category) -> list[tuple[str, Row]]:
        """The rows of a category, each with its host."""
        return [(host.name, row) for host in self.hosts for row in host.rows if row.category == category]


def report(
    found: Mapping[str, Sequence[Check]],
    read: Sequence[str],
    fleet: Fleet,
    *,
    asked: Sequence[str],
    roots: Mapping[tuple[str, str], tuple[str, str]],
    notes: Mapping[tuple[str, str], Sequence[str]],
    inventory: str,
    version: str,
    started: datetime,
    seconds: float,
    left_out: int = 0,
) -> Report:
    """What the checks of all hosts come to.

    found: by host; read: those that answered; roots: sparkrig.checks.root_causes; notes: by host and id, what
    else was read.
    """
    hosts = []
    for name, checks in found.items():
        shown = [check for check in checks if _asked(check, asked, read=name in read)]
        about = [(check, (name, check.id)) for check in shown]
        rows = [_row(name, check, roots.get(at), notes.get(at, ()), started) for check, at in about]
        hosts.append(Host(name=name, exit=_exit(rows, read=name in read), read=name in read, rows=rows))
    names = [host.name for host in hosts]
    told = sorted(_told(hosts), key=lambda each: (each[1].category != "access", not each[1].wrong))
    return Report(
        version=version,
        inventory=inventory,
        started=started,
        seconds=round(seconds, 2),
        exit=max((host.exit for host in hosts), default=1),
        asked=list(asked),
        verdict=_verdict(hosts, told, fleet, asked),
        next=_next(*told[0], names) if told else _onward(hosts, fleet, asked),
        hosts=hosts,
        left_out=left_out,
    )


def _asked(check: Check, asked: Sequence[str], *, read: bool) -> bool:
    """A host that was not read has nothing else to show than why."""
    return not asked or not read or any(means(name, check.id) for name in asked)


def _row(host: str, check: Check, root: tuple[str, str] | None, notes: Sequence[str], now: datetime) -> Row:
    known = kind(check.id)
    told = check.wrong or check.status == "unknown"
    return Row(
        id=check.id,
        category=known.category,
        status=check.status,
        meaning=known.meaning,
        want=plain(check.want),
        found=plain(check.found),
        cause=(check.cause or known.cause) if told else "",
        cure=from_here(check.cure, host),
        docs=known.docs,
        notes=[plain(note) for note in notes],
        follows=Root(host=root[0], id=root[1]) if root else None,
        until=check.until if check.wrong and check.until >= now.astimezone().date().isoformat() else "",
    )


def _exit(rows: Sequence[Row], *, read: bool) -> int:
    if not read or any(row.status == "unknown" for row in rows):
        return 3
    return 2 if any(row.fails for row in rows) else 0


def _told(hosts: Sequence[Host]) -> Iterator[tuple[str, Row]]:
    """The findings, category by category, without those that follow from another finding."""
    shown = {(host.name, row.id) for host in hosts for row in host.rows}
    for category in CATEGORIES:
        for host in hosts:
            for row in host.rows:
                root = (row.follows.host, row.follows.id) if row.follows else None
                if row.category == category and row.told and root not in shown:
                    yield host.name, row


def _next(name: str, row: Row, hosts: Sequence[str]) -> str:
    """The one thing to do first, and where; for what takes more words, how to see that it was done."""
    cure = cure_of(row.cure)
    here = row.category == "access"
    if cure.command:
        return f"Next: {cure.command}"
    if cure and len(cure) <= _BRIEF:
        # a cable or a switch, which words of the cabling are about, is on no host
        named = here or row.id == "pair.cabling" or any(_names(host, cure) for host in hosts)
        return f"Next: {cure}" if named else f"Next, on {name}: {cure}"
    # what joins the hosts is of none of them
    of = "" if row.id == "pair.cabling" else f" of {name}"
    return f"Next, when {row.id}{of} is mended: {verb('doctor', row.id)}"


def _names(host: str, text: str) -> bool:
    """Whether a text names a host, which `spark-a` does not in `spark-a2`."""
    return re.search(rf"(?<![\w.-]){re.escape(host)}(?![\w-])", text) is not None


def _verdict(hosts: Sequence[Host], told: Sequence[tuple[str, Row]], fleet: Fleet, asked: Sequence[str]) -> str:
    unread = [host.name for host in hosts if not host.read]
    wrong = {row.id for name, row in told if row.fails and name not in unread}
    moving = max((row.until for _, row in told), default="")
    unknown = {row.id for name, row in told if not row.wrong and name not in unread}
    parts = [f"{_things(len(wrong))} wrong"] if wrong else []
    parts += [f"an update goes from host to host until {moving}"] if moving else []
    parts += [f"{_things(len(unknown))} not known"] if unknown else []
    parts += [f"{listed(unread)} could not be read"] if unread else []
    if parts:
        return ", and ".join(parts)
    if not asked:
        return f"{_who(fleet, len(hosts))} ready"
    judged = [name for name in asked if any(means(name, id) for id in _judged(hosts))]
    skipped = [name for name in asked if name not in judged]
    said = {"as it should be": judged, "skipped": skipped}
    return "; ".join(f"{listed(names)}: {what}" for what, names in said.items() if names)


def _judged(hosts: Sequence[Host]) -> set[str]:
    """The checks that were not skipped on every host."""
    return {row.id for host in hosts for row in host.rows if row.status != "skipped"}


def _things(count: int) -> str:
    return "1 thing is" if count == 1 else f"{count} things are"


def _who(fleet: Fleet, count: int) -> str:
    if count == 1:
        return "Your Spark is"
    named = {fleet[name].group_name for name in fleet if fleet[name].group_name}
    return "Your pair is" if count == 2 and len(named) == 1 else f"All {count} Sparks are"


def _onward(hosts: Sequence[Host], fleet: Fleet, asked: Sequence[str]) -> str:
    """What to type where nothing is wrong: the rest of the checks, or what the doctor does not measure."""
    if asked:
        return f"Next: {verb('doctor')}"
    joined = any(len(fleet.group(host.name)) > 1 for host in hosts)
    alone = verb("drift") if fleet.declared else enlist()
    return f"Next: {verb('bandwidth') if joined else alone}"
