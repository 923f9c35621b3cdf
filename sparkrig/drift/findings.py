"""A drift report for a reader: each check once, on all its hosts, by what mends it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sparkrig.cure import Deployed, OnHosts, cure_of, deployment
from sparkrig.drift.drift import Host, Report, Row

_LAST: tuple[Deployed, ...] = ("serve", "cluster")  # what is run after all else, in this order
_FIGURES = re.compile(r"[\d.:]+")  # addresses and ports
_MANY = 12  # checks that fail; a host from the box fails some 30


@dataclass(frozen=True)
class Way:
    """One way in which a check was found, and the hosts where it is so. row: of any of them, since when of all."""

    hosts: tuple[str, ...]
    row: Row


@dataclass(frozen=True)
class Finding:
    """One check, in every way that it was found in."""

    id: str
    ways: tuple[Way, ...]

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(host for way in self.ways for host in way.hosts)


@dataclass(frozen=True)
class Mend:
    """What mends some findings. cure: empty where nothing is to be done."""

    cure: str
    findings: tuple[Finding, ...]

    @property
    def typed(self) -> bool:
        """Whether the cure is a command for this machine, and not words, or something for the host."""
        return cure_of(self.cure).here

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(host for finding in self.findings for host in finding.hosts))


@dataclass(frozen=True)
class Fresh:
    """Hosts that were never deployed. checks: how many of their rows the first deploy mends, by that one cure."""

    hosts: tuple[str, ...]
    checks: int
    cure: str


def fresh(report: Report) -> Fresh | None:
    """The findings of all hosts together; None where there is no such host.

    Where few checks fail the record of a deploy was lost rather than never made, and each of them is worth a line.
    """
    rows = {
        host.name: [row for row in host.rows if row.counts and deployment(row.cure)]
        for host in report.hosts
        if not host.deployed and not host.unread
    }
    rows = {name: found for name, found in rows.items() if len(found) >= _MANY}
    cures = [row.cure for found in rows.values() for row in found]
    return Fresh(tuple(rows), len(cures), cures[0]) if cures else None


def mends(report: Report, without: Fresh | None = None) -> list[Mend]:
    """What is to be done, in an order in which it can be done: the deploys come last.

    without: the findings that are shown already.
    """
    told = without.hosts if without else ()
    found = _grouped(
        report,
        lambda host, row: row.counts and not (host in told and deployment(row.cure)),
        lambda host, row: _for_any(row.cure, host),
    )
    made = [Mend(_for_these(cure, rows), _findings(rows)) for cure, rows in found.items()]
    return sorted(made, key=lambda mend: [bool(deployment(mend.cure, what)) for what in _LAST])


def accepted(report: Report) -> Sequence[Finding]:
    """The drift that is accepted."""
    return _all(report, lambda row: row.accepted is not None)


def holding(report: Report) -> Sequence[Finding]:
    """What holds, or was skipped."""
    return _all(report, lambda row: not row.told)


def lost(hosts: Iterable[Host]) -> list[list[Host]]:
    """The hosts that could not be read, by how they were lost, whatever their names and addresses."""
    ways: dict[str, list[Host]] = {}
    for host in hosts:
        if host.unread:
            how = _FIGURES.sub("", host.unread.replace(host.name, ""))
            ways.setdefault(how, []).append(host)
    return [*ways.values()]


_Rows = list[tuple[str, Row]]


def _all(report: Report, wanted: Callable[[Row], bool]) -> tuple[Finding, ...]:
    return _findings(_grouped(report, lambda _, row: wanted(row), lambda _host, _row: "").get("", []))


def _grouped(
    report: Report, wanted: Callable[[str, Row], bool], by: Callable[[str, Row], str]
) -> dict[str, _Rows]:
    """Rows with the host of each, by what `by` returns for them."""
    groups: dict[str, _Rows] = {}
    for host in report.hosts:
        for row in (row for row in host.rows if wanted(host.name, row)):
            groups.setdefault(by(host.name, row), []).append((host.name, row))
    return groups


def _for_any(cure: str, host: str) -> str:
    """The same command for whichever host it is limited to (Subject.run)."""
    run = cure_of(cure).run
    return cure_of(cure).on() if isinstance(run, OnHosts) and run.hosts == (host,) else cure


def _for_these(cure: str, rows: _Rows) -> str:
    hosts = dict.fromkeys(host for host, _ in rows)
    run = cure_of(cure).run
    return cure_of(cure).on(*hosts) if isinstance(run, OnHosts) and not run.hosts else cure


def _findings(rows: Iterable[tuple[str, Row]]) -> tuple[Finding, ...]:
    ways: dict[str, dict[Row, _Rows]] = {}
    for host, row in rows:
        alike = row.model_copy(update={"cure": "", "odd": False, "since": None})
        ways.setdefault(row.id, {}).setdefault(alike, []).append((host, row))
    return tuple(Finding(id, tuple(map(_way, found.values()))) for id, found in ways.items())


def _way(same: _Rows) -> Way:
    """since: of the host that was the first."""
    earliest = min((row.since for _, row in same if row.since), default=None)
    return Way(tuple(host for host, _ in same), same[0][1].model_copy(update={"since": earliest}))
