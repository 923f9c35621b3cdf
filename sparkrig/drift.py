"""The drift report: what does not hold on which host, since when, who moved, and what mends it.

The models are the JSON that `sparkrig drift --json` prints (docs/schema/drift.json); fields are only ever added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from sparkrig.alike import judged
from sparkrig.check import WRONG, Check, Status
from sparkrig.declared import Declared
from sparkrig.refusal import Refusal

SCHEMA: Literal["sparkrig.drift/1"] = "sparkrig.drift/1"
# host: somebody changed it there; declaration: the inventory or sparkrig; environment: nothing declares it
Mover = Literal["host", "declaration", "environment"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Acceptance(_Model):
    """Drift that somebody decided to live with for a while. host: None for every host."""

    id: str = Field(min_length=1)
    until: date
    why: str = Field(min_length=1)
    host: str | None = None
    by: str = ""

    def covers(self, host: str, id: str, today: date) -> bool:
        return self.id == id and self.host in (None, host) and today <= self.until


class Row(_Model):
    """One check on one host.

    moved, since, news: of a check that does not hold; news: None where there is no earlier report; odd: whether
    most other hosts have something else.
    """

    id: str
    status: Status
    want: str
    found: str
    cure: str = ""
    moved: Mover | None = None
    since: datetime | None = None
    news: Literal["new", "still"] | None = None
    odd: bool = False
    accepted: Acceptance | None = None

    @property
    def wrong(self) -> bool:
        return self.status in WRONG

    @property
    def counts(self) -> bool:
        """Whether it decides the exit code."""
        return (self.wrong or self.status == "unknown") and self.accepted is None


class Host(_Model):
    """One host. unread: why it could not be read; before: what was wrong when it last could be."""

    name: str
    exit: int
    unread: str | None = None
    rows: list[Row] = []
    before: list[Row] = []

    @property
    def known(self) -> list[Row]:
        """What is wrong, or was when it was last read."""
        return self.before if self.unread else [row for row in self.rows if row.wrong]


class Fixed(_Model):
    """What did not hold in the earlier report, and holds now."""

    host: str
    id: str
    since: datetime | None


class Report(_Model):
    """All hosts at one time. exit: of the most severe host; earlier: when the compared report began."""

    schema_: Literal["sparkrig.drift/1"] = Field(SCHEMA, alias="schema", serialization_alias="schema")
    version: str
    inventory: str
    started: datetime
    seconds: float
    exit: int
    hosts: list[Host]
    fixed: list[Fixed] = []
    expired: list[Acceptance] = []
    earlier: datetime | None = None

    def dumps(self) -> str:
        return self.model_dump_json(by_alias=True, indent=1)

    def host(self, name: str) -> Host | None:
        return next((each for each in self.hosts if each.name == name), None)


def report(
    found: Mapping[str, Sequence[Check] | str],
    declared: Mapping[str, Declared | None],
    earlier: Report | None,
    accepted: Sequence[Acceptance],
    *,
    inventory: str,
    version: str,
    started: datetime,
    seconds: float,
) -> Report:
    """What the checks of all hosts come to.

    found: by host its checks, or why it could not be read; declared: what its last deploy kept there.
    """
    today = started.date()
    read = {name: checks for name, checks in found.items() if not isinstance(checks, str)}
    alike = judged(read, lambda check: f"sparkrig doctor {inventory} {check.id}")
    usual = _usual(alike)
    hosts = []
    for name, checks in found.items():
        before = earlier.host(name) if earlier else None
        if isinstance(checks, str):
            hosts.append(Host(name=name, exit=3, unread=checks, before=before.known if before else []))
            continue
        wants = _wants(declared.get(name), before, earlier)
        rows = [
            _row(
                check, wants, before, started, odd=check.wrong and usual.get(check.id, check.found) != check.found
            )
            for check in alike[name]
        ]
        rows = [_accepted(row, name, accepted, today) for row in rows]
        hosts.append(Host(name=name, exit=_exit(rows), rows=rows))
    return Report(
        version=version,
        inventory=inventory,
        started=started,
        seconds=round(seconds, 2),
        exit=max((host.exit for host in hosts), default=1),
        hosts=hosts,
        fixed=[fixed for host in hosts for fixed in _fixed(host, earlier)],
        expired=[each for each in accepted if each.until < today],
        earlier=earlier.started if earlier else None,
    )


def unexplained(
    checks: Sequence[Check], peer: Sequence[Check], planned: Sequence[str] | Sequence[Refusal], apply: str
) -> list[Check]:
    """What pyinfra's own plan would do to a host whose checks all hold: no change of the deploy goes unsaid.

    peer: the checks of the other half, whose changes bring some on this one.
    """
    if any(check.wrong or check.status == "unknown" for check in (*checks, *peer)):
        return []
    refusals = [each for each in planned if isinstance(each, Refusal)]
    if refusals:
        return [Check("deploy.refused", "the deploy can run", each.what, "drift", each.cure) for each in refusals]
    return [
        Check("deploy.plan", "the deploy has nothing to do", f"it would change: {step}", "drift", apply)
        for step in planned
    ]


def _usual(found: Mapping[str, Sequence[Check]]) -> dict[str, str]:
    """What more than half of the hosts have, by check; nothing where there is no such value."""
    values: dict[str, Counter[str]] = {}
    for checks in found.values():
        for check in checks:
            values.setdefault(check.id, Counter())[check.found] += 1
    return {
        id: text
        for id, counted in values.items()
        for text, count in counted.most_common(1)
        if count > 1 and 2 * count > counted.total()
    }


def _wants(kept: Declared | None, before: Host | None, earlier: Report | None) -> Mapping[str, str]:
    """What was wanted last, by the host's own record or by the earlier report, whichever is newer."""
    seen = {row.id: row.want for row in before.rows if not row.wrong} if before else {}
    if kept is None or (earlier and seen and earlier.started.timestamp() > kept.at):
        return {**(kept.wants if kept else {}), **seen}
    return {**seen, **kept.wants}


def _row(check: Check, wants: Mapping[str, str], before: Host | None, now: datetime, *, odd: bool) -> Row:
    row = Row(id=check.id, status=check.status, want=check.want, found=check.found, cure=check.cure, odd=odd)
    if not check.wrong:
        return row
    known = next((each for each in before.known if each.id == check.id), None) if before else None
    moved: Mover = "host" if wants.get(check.id) == check.want else "declaration"
    return row.model_copy(
        update={
            "moved": "environment" if check.environment else moved,
            "since": known.since if known else now,
            "news": ("still" if known else "new") if before else None,
        }
    )


def _accepted(row: Row, host: str, accepted: Iterable[Acceptance], today: date) -> Row:
    if not row.counts:
        return row
    return row.model_copy(
        update={"accepted": next((each for each in accepted if each.covers(host, row.id, today)), None)}
    )


def _exit(rows: Iterable[Row]) -> int:
    counting = {row.status for row in rows if row.counts}
    if "unknown" in counting:
        return 3
    return 2 if counting else 0


def _fixed(host: Host, earlier: Report | None) -> list[Fixed]:
    before = earlier.host(host.name) if earlier else None
    if host.unread or before is None:
        return []
    wrong = {row.id for row in host.rows if row.wrong}
    return [Fixed(host=host.name, id=row.id, since=row.since) for row in before.known if row.id not in wrong]
