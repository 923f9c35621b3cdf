"""The drift report as one HTML page that needs nothing else: no network, no script, no font."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from sparkrig.drift import findings
from sparkrig.drift.drift import Counts, Host, Report, Row
from sparkrig.drift.findings import lost
from sparkrig.drift.render.drift import shade
from sparkrig.render.findings import Shade
from sparkrig.render.names import Names
from sparkrig.render.templates import template
from sparkrig.verdict import Level

_IN_WORDS = 4  # hosts; of more, the matrix has signs alone
_COLUMNS = 64  # hosts; of more, those that are not in spec are shown, the worst first, and all are counted
_NAMED = 12  # hosts of a finding; of more, the names are folded away


def html(report: Report) -> str:
    """The page. Times are in UTC, because the reader's time zone is unknown."""
    rows = {host.name: {row.id: row for row in host.rows} for host in _columns(report.hosts)}
    return template("drift.html.j2").render(
        report=report,
        when=f"{report.started:%Y-%m-%d %H:%M} UTC",
        chips=chips(report),
        level=chips(report)[0][1],
        headline=headline(report.counts),
        mends=findings.mends(report),
        accepted=findings.accepted(report),
        checks=list(dict.fromkeys(row.id for host in report.hosts for row in host.rows)),
        rows=rows,
        counted=_counted(report.hosts) if len(rows) < len(report.hosts) else {},
        in_spec=sum(host.exit == 0 for host in report.hosts),
        names=Names.of([host.name for host in report.hosts]),
        named=_NAMED,
        lost=lost(report.hosts),
        in_words=len(rows) <= _IN_WORDS,
        sign=_sign,
        shade=shade,
    )


def _columns(hosts: Sequence[Host]) -> list[Host]:
    """The hosts that have a column each: all of few, and of many those that could be read and are not in spec."""
    if len(hosts) <= _COLUMNS:
        return [*hosts]
    worst = sorted((host for host in hosts if host.exit and not host.unread), key=lambda host: -len(host.known))
    return worst[:_COLUMNS]


def _counted(hosts: Iterable[Host]) -> dict[str, Counter[Shade]]:
    """How many of all hosts have which sign, by check."""
    found: dict[str, Counter[Shade]] = {}
    for host in hosts:
        for row in host.rows:
            found.setdefault(row.id, Counter())[shade(row)] += 1
    return found


def chips(report: Report) -> list[tuple[str, Level]]:
    """How bad it is, in words with a colour each, the weightiest first."""
    counts = report.counts
    said: list[tuple[str, Level]] = [("drift", "fault")] if counts.drift else []
    said += [("unknown", "unknown")] if counts.unread or counts.unknown else []
    return said or [("in spec", "healthy")]


def headline(counts: Counts) -> str:
    """The first line of the page."""
    parts = []
    if counts.drift:
        parts.append(f"{counts.drift} check{'s do' if counts.drift > 1 else ' does'} not hold")
    if counts.unknown:
        parts.append(f"{counts.unknown} could not be told")
    if counts.unread:
        parts.append(f"{counts.unread} of {counts.hosts} hosts could not be read")
    spared = ", or accepted" if counts.accepted else ""
    return "; ".join(parts) or f"All that is declared holds{spared}"


def _sign(row: Row | None) -> str:
    if row is not None and row.odd and shade(row) == "fault":
        return "≠"
    return {"healthy": "✓", "fault": "✗", "unknown": "?", "degraded": "~", "quiet": "·"}[shade(row)]
