"""The drift report: what does not hold on which host, since when, who moved, and what mends it.

The models are the JSON that `sparkrig drift --json` prints (docs/schema/drift.json); fields are only ever added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import cached_property
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from sparkrig.checks.consistency import judged
from sparkrig.checks.last_declaration import Declared
from sparkrig.cure import Setting, cure_of, deploy, deployment, verb
from sparkrig.drift.fields import CureText
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Judged, Status
from sparkrig.text import plain

SCHEMA: Literal["sparkrig.drift/1"] = "sparkrig.drift/1"
# host: it changed there; declaration: the inventory or sparkrig; environment: nothing declares it
Mover = Literal["host", "declaration", "environment"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")  # a later sparkrig may have written more


class Acceptance(_Model):
    """Drift that is accepted for a while. host: None for every host."""

    id: str = Field(min_length=1)
    until: date
    why: str = Field(min_length=1)
    host: str | None = None
    by: str = ""

    def covers(self, host: str, id: str, today: date) -> bool:
        return self.id == id and self.host in (None, host) and today <= self.until


class Row(Judged, _Model):
    """One check on one host.

    moved, since, news: of a check that does not hold; news: None where there is no earlier report; odd: whether
    most other hosts have something else.
    """

    id: str
    status: Status
    want: str
    found: str
    cure: CureText = ""
    moved: Mover | None = None
    since: datetime | None = None
    news: Literal["new", "still"] | None = None
    odd: bool = False
    accepted: Acceptance | None = None

    @property
    def counts(self) -> bool:
        """Whether it decides the exit code."""
        return self.told and self.accepted is None


class Host(_Model):
    """One host.

    unread: why it could not be read, and cure: what to try then; before: what was wrong when it last could be;
    deployed: whether a whole deploy ever left its record there.
    """

    name: str
    exit: int
    unread: str | None = None
    cure: CureText = ""
    rows: list[Row] = []
    before: list[Row] = []
    deployed: bool = True

    @property
    def known(self) -> list[Row]:
        """What is wrong, or was when it was last read."""
        return self.before if self.unread else [row for row in self.rows if row.wrong]


class Fixed(_Model):
    """What did not hold in the earlier report, and holds now."""

    host: str
    id: str
    since: datetime | None


class Counts(_Model):
    """How many checks of all hosts are what, and how many hosts could not be read.

    drift, unknown: without those that are accepted; new, still, fixed: against the earlier report.
    """

    hosts: int = 0
    unread: int = 0
    ok: int = 0
    drift: int = 0
    unknown: int = 0
    accepted: int = 0
    skipped: int = 0
    new: int = 0
    still: int = 0
    fixed: int = 0


class Report(_Model):
    """All hosts at one time.

    exit: of the most severe host; earlier: when the compared report began; expired: acceptances that are over, of
    what does not hold.
    """

    schema_: Literal["sparkrig.drift/1"] = Field(SCHEMA, alias="schema", serialization_alias="schema")
    version: str
    inventory: str
    started: datetime
    seconds: float
    exit: int
    hosts: list[Host]
    counts: Counts = Counts()
    fixed: list[Fixed] = []
    expired: list[Acceptance] = []
    earlier: datetime | None = None

    def dumps(self) -> str:
        return self.model_dump_json(by_alias=True, indent=1)

    def compact(self) -> str:
        """The same document without what is as its field has it by default, such as no cure: less than half."""
        values = self.model_dump_json(by_alias=True, exclude_defaults=True)
        return f'{{"schema":"{self.schema_}",{values[1:]}'

    def host(self, name: str) -> Host | None:
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, Host]:
        return {host.name: host for host in self.hosts}


def report(
    found: Mapping[str, Sequence[Check] | Refusal],
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

    found: by host its checks, or why it could not be read; declared: what its last deploy kept there, None where
    that cannot be understood, and no entry where it kept nothing.
    """
    today = started.astimezone().date()  # a day in the calendar of the user who accepted
    hosts = _hosts(found, declared, earlier, started, lambda row, name: _accepted(row, name, accepted, today))
    fixed = [each for host in hosts for each in _fixed(host, earlier)]
    return Report(
        version=version,
        inventory=inventory,
        started=started,
        seconds=round(seconds, 2),
        exit=max((host.exit for host in hosts), default=1),
        hosts=hosts,
        counts=_counts(hosts, fixed),
        fixed=fixed,
        expired=_expired(hosts, accepted, today),
        earlier=earlier.started if earlier else None,
    )


def _hosts(
    found: Mapping[str, Sequence[Check] | Refusal],
    declared: Mapping[str, Declared | None],
    earlier: Report | None,
    started: datetime,
    accept: Callable[[Row, str], Row],
) -> list[Host]:
    """accept: gives a row of the host of that name its acceptance, if it has one."""
    alike = _alike(found)
    usual = _usual(alike)
    shared: dict[Check, Row] = {}  # most hosts of a fleet have most checks in common

    def host(name: str) -> Host:
        before, why = earlier.host(name) if earlier else None, found[name]
        if isinstance(why, Refusal):
            return _lost(name, why, before)
        wants = _wants(declared.get(name), before, earlier)
        rows = []
        for check in alike[name]:
            row = shared.get(check)
            if row is None:
                row = accept(_row(check, wants, before, started, odd=_odd(check, usual)), name)
            if not check.told:
                shared[check] = row
            rows.append(row)
        return Host(name=name, exit=_exit(rows), rows=rows, deployed=name in declared)

    return [host(name) for name in found]


def without(report: Report, name: str) -> Report:
    """A report as it would be if that host had not been looked at."""
    hosts = [host for host in report.hosts if host.name != name]
    fixed = [each for each in report.fixed if each.host != name]
    changes = {"hosts": hosts, "fixed": fixed, "counts": _counts(hosts, fixed)}
    copy = report.model_copy(update={**changes, "exit": max((host.exit for host in hosts), default=0)})
    copy.__dict__.pop("_by_name", None)  # pydantic copies what was cached, too
    return copy


def _alike(found: Mapping[str, Sequence[Check] | Refusal]) -> dict[str, list[Check]]:
    """The checks of the hosts that were read, with those of hosts that differ; one run mends all that it can."""
    read = {name: checks for name, checks in found.items() if not isinstance(checks, Refusal)}
    alike = judged(read, lambda check: verb("doctor", check.id))
    return _one_run(alike)


def unexplained(
    checks: Sequence[Check],
    peers: Sequence[Check] | None,
    planned: Sequence[str] | Sequence[Refusal],
    apply: str,
    serve: str,
) -> list[Check]:
    """What pyinfra's own plan would do to a host whose checks all hold: no change of the deploy goes unsaid.

    peers: the checks of the others of its group, whose changes bring some on this one; empty where there is none,
    None where one could not be read, so that the deploy would refuse the group; apply, serve: the commands of the
    two deploys.
    """
    id, want = "deploy.plan", "the deploy has nothing to do"
    if any(check.wrong or check.status == "unknown" for check in (*checks, *(peers or ()))):
        return []
    if peers is None:
        return [Check(id, want, "its peer could not be read", "skipped")]
    refusals = [each for each in planned if isinstance(each, Refusal)]
    if refusals:
        what = "; ".join(refusal.what for refusal in refusals)
        return [Check("deploy.refused", "the deploy can run", what, "drift", refusals[0].cure)]
    steps = "; ".join(each for each in planned if isinstance(each, str))
    cure = serve if all(str(each).startswith("Serve |") for each in planned) else apply
    return [Check(id, want, f"it would change: {steps}", "drift", cure)] if steps else []


def _one_run(found: Mapping[str, Sequence[Check]]) -> dict[str, list[Check]]:
    """The checks, where one run of the deploy mends all that it can, with the data that each of them asks for."""
    data: dict[str, Setting] = {}
    for checks in found.values():
        for check in checks:
            if run := deployment(check.cure):
                _add(data, run.data)
    whole = deploy(data=data)
    return {
        name: [replace(each, cure=whole) if deployment(each.cure) else each for each in checks]
        for name, checks in found.items()
    }


def _add(data: dict[str, Setting], more: Mapping[str, Setting]) -> None:
    """Give more settings; the entries of an object join those that are there."""
    for name, value in more.items():
        old = data.get(name, {})
        data[name] = {**old, **value} if isinstance(old, Mapping) and isinstance(value, Mapping) else value


def _odd(check: Check, usual: Mapping[str, str]) -> bool:
    """Whether a value is wrong, and most hosts have another one."""
    return check.wrong and usual.get(check.id, check.found) != check.found


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


def _lost(name: str, why: Refusal, before: Host | None) -> Host:
    return Host(
        name=name,
        exit=3,
        unread=plain(why.what),
        cure=cure_of(why.cure),
        before=before.known if before else [],
    )


def _wants(kept: Declared | None, before: Host | None, earlier: Report | None) -> Mapping[str, str]:
    """What was wanted last, by the host's own record or by the earlier report, whichever is newer."""
    seen = {row.id: row.want for row in before.rows if not row.wrong} if before else {}
    if kept is None or (earlier and seen and earlier.started.timestamp() > kept.at):
        return {**(kept.wants if kept else {}), **seen}
    return {**seen, **kept.wants}


def _row(check: Check, wants: Mapping[str, str], before: Host | None, now: datetime, *, odd: bool) -> Row:
    want, found = plain(check.want), plain(check.found)
    row = Row(id=check.id, status=check.status, want=want, found=found, cure=cure_of(check.cure), odd=odd)
    if not check.wrong:
        return row
    known = next((each for each in before.known if each.id == check.id), None) if before else None
    return row.model_copy(
        update={
            "accepted": _expected(check, now.astimezone().date()),
            "moved": _mover(check, wants, known),
            "since": known.since if known else now,
            "news": ("still" if known else "new") if before else None,
        }
    )


def _expected(check: Check, today: date) -> Acceptance | None:
    """What stands in the place of a person's acceptance while an update goes from host to host."""
    if not check.until or today > date.fromisoformat(check.until):
        return None
    return Acceptance(id=check.id, until=date.fromisoformat(check.until), why="an update goes from Spark to Spark")


def _mover(check: Check, wants: Mapping[str, str], known: Row | None) -> Mover:
    """Who moved. known: the same of the report before, where it did not hold then either."""
    if check.environment:
        return "environment"
    if check.id in wants:
        return "host" if wants[check.id] == check.want else "declaration"
    if known and known.moved and known.want == check.want:
        return known.moved
    # where a deploy ran, what is not wanted was not there
    return "host" if check.status == "extra" and wants else "declaration"


def _accepted(row: Row, host: str, accepted: Iterable[Acceptance], today: date) -> Row:
    if not row.counts:
        return row
    return row.model_copy(
        update={
            "accepted": next(
                (acceptance for acceptance in accepted if acceptance.covers(host, row.id, today)), None
            )
        }
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


def _expired(hosts: Iterable[Host], accepted: Iterable[Acceptance], today: date) -> list[Acceptance]:
    """Those whose drift counts again."""
    counting = [(host.name, row.id) for host in hosts for row in host.rows if row.counts]
    return [
        each
        for each in accepted
        if each.until < today and any(each.id == id and each.host in (None, host) for host, id in counting)
    ]


def _counts(hosts: Sequence[Host], fixed: Sequence[Fixed]) -> Counts:
    rows = [row for host in hosts for row in host.rows]
    return Counts(
        hosts=len(hosts),
        unread=sum(host.unread is not None for host in hosts),
        ok=sum(row.status == "ok" for row in rows),
        drift=sum(row.wrong and row.counts for row in rows),
        unknown=sum(row.status == "unknown" and row.counts for row in rows),
        accepted=sum(row.accepted is not None for row in rows),
        skipped=sum(row.status == "skipped" for row in rows),
        new=sum(row.news == "new" for row in rows),
        still=sum(row.news == "still" for row in rows),
        fixed=len(fixed),
    )
