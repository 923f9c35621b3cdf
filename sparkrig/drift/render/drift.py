"""The drift report on a terminal: what does not hold, on which hosts, since when, who moved, and what mends it.

Few hosts are columns of a matrix; those of a fleet are counted and named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from sparkrig.checks.last_declaration import NONE
from sparkrig.cure import OnHosts, cure_of, from_here
from sparkrig.drift import findings
from sparkrig.drift.drift import Acceptance, Host, Report, Row
from sparkrig.drift.findings import Finding, Mend, Way
from sparkrig.render.findings import ASCII_SIGNS, SIGNS, STYLES, Shade
from sparkrig.render.folded import cured, hanging
from sparkrig.render.names import PIECES, Names
from sparkrig.text import listed

_FINDINGS = 40  # as many are shown, of each kind; a pair from the box has 30
_LOST = 12
_ALIKE = 3  # unread hosts; of more that were lost in the same way one is shown, and the others are named
_LIMITS = 12  # hosts that one command names
_FLEET = 6  # hosts; of more it is counted how many have nothing to be done
_WAYS = 4
_FOUND = 200  # characters of what was found
_LEAST = 20  # columns for an id beside the matrix
_INDENT = "    "
_WIDE = 80  # columns, from where what holds has one line each; on a narrow screen that would cut too much off


@dataclass(frozen=True)
class _Glyphs:
    """What a screen is made of; signs: by shade."""

    signs: Mapping[Shade, str]
    odd: str
    dot: str
    to: str


_DRAWN = _Glyphs(SIGNS, "≠", " · ", " … ")
_TYPED = _Glyphs(ASCII_SIGNS, "!=", " - ", " ... ")


def show(console: Console, report: Report, *, everything: bool = False) -> None:
    """Print it, line by line as it stands.

    everything: what holds, too.
    """
    console.print(Screen(report, everything=everything), crop=False)


class Screen:
    """A report for rich's console."""

    def __init__(self, report: Report, *, everything: bool = False) -> None:
        self.report, self.everything = report, everything

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        glyphs = _TYPED if options.ascii_only or options.legacy_windows else _DRAWN
        for line in _Drawn(self, glyphs, options.max_width).lines():
            yield from [line] if line.no_wrap else hanging(line, console, options.max_width)


class _Drawn:
    """A screen for one console."""

    def __init__(self, screen: Screen, glyphs: _Glyphs, width: int) -> None:
        self.report, self.everything = screen.report, screen.everything
        self.glyphs, self.width = glyphs, width
        most = None if self.everything else PIECES
        self.names = Names.of([host.name for host in self.report.hosts], glyphs.to, most)
        self.fresh = None if screen.everything else findings.fresh(self.report)
        self.mends = findings.mends(self.report, self.fresh)
        self.accepted = findings.accepted(self.report)
        self.holding = findings.holding(self.report) if screen.everything else ()
        self.rows = {host.name: {row.id: row for row in host.rows} for host in self.report.hosts}
        shown = [finding for mend in self.mends for finding in mend.findings]
        self.id_width = max((len(finding.id) for finding in (*shown, *self.accepted, *self.holding)), default=0)
        cells = sum(len(name) + 2 for name in self.rows)
        self.matrix = len(self.rows) > 1 and max(self.id_width, _LEAST) + cells <= width

    def lines(self) -> Iterator[Text]:
        if self.matrix and self.id_width:
            yield Text("".join([" " * self.id_width, *(f"  {name}" for name in self.rows)]), "bold", no_wrap=True)
        yield from self._fresh()
        left = len([finding for mend in self.mends for finding in mend.findings]) if self.everything else _FINDINGS
        for mend in self.mends:
            if left > 0:
                yield from self._mend(mend, left)
                yield Text()
            left -= len(mend.findings)
        if left < 0:
            yield Text(f"and {-left} more: the same with --all, or --html FILE\n", "bold")
        for block in (self._held(), self._unread(), self._accepted(), self._expired(), self._fixed()):
            lines = list(block)
            yield from lines
            if lines:
                yield Text()
        yield from self._footer()

    # findings

    def _fresh(self) -> Iterator[Text]:
        """All that the first deploy mends, taken together: sixty lines would add nothing."""
        if self.fresh:
            hosts, checks = self.fresh.hosts, self.fresh.checks
            were = f"{'was' if len(hosts) == 1 else 'were'} never deployed"
            sign = (self.glyphs.signs["fault"], STYLES["fault"])
            said = f" {were}: {checks} checks do not hold (--all)"
            yield Text.assemble(sign, " ", (listed(self.names.few(hosts)), "bold"), said)
            yield from self._command("deploys it: " if len(hosts) == 1 else "deploys them: ", self.fresh.cure)
            yield Text()

    def _mend(self, mend: Mend, room: int) -> Iterator[Text]:
        for finding in mend.findings[:room]:
            yield self._head(finding)
            yield from self._ways(finding)
        if len(mend.findings) > room:
            yield Text(f"and {len(mend.findings) - room} more", "bold")
        if mend.cure:
            yield from self._cure(mend)

    def _cure(self, mend: Mend) -> Iterator[Text]:
        """What mends it. A command that names hundreds of hosts would fill the screen: the first has one."""
        cure = cure_of(mend.cure)
        if isinstance(cure.run, OnHosts) and len(cure.run.hosts) > _LIMITS and not self.everything:
            first, *others = cure.run.hosts
            return self._command(f"mends {first}, and so on for {len(others)} more: ", cure.on(first))
        if not mend.typed and cure.command:
            first, *others = mend.hosts
            label = f"try, and so for {listed(self.names.few(others))}: " if others else "try: "
            return self._command(label, from_here(cure, first))
        return self._command(self._verb(mend), mend.cure)

    def _command(self, label: str, cure: str, indent: str = "") -> Iterator[Text]:
        """A cure behind its label; a command is one line, whatever the width."""
        first, *rest = cured(cure, self.width, f"{indent}{label}", indent)
        end = len(f"{indent}{label}".rstrip())
        yield Text.assemble((first[:end], "dim"), first[end:], no_wrap=True, overflow="ignore")
        yield from (Text(line, no_wrap=True, overflow="ignore") for line in rest)

    def _verb(self, mend: Mend) -> str:
        """What a cure is called: a run of pyinfra mends, and anything else is tried."""
        if cure_of(mend.cure).run:
            return "mends it: " if len(mend.findings) == 1 else f"mends {len(mend.findings)}: "
        return "try: " if mend.typed else f"try on {listed(self.names.few(mend.hosts))}: "

    def _head(self, finding: Finding, *, counted: bool = False) -> Text:
        name = (finding.id, "bold")
        if self.matrix:
            cells = [self._cell(host, finding.id) for host in self.rows]
            line = Text.assemble(name, " " * (self.id_width - len(finding.id)), *cells, no_wrap=True)
            line.rstrip()
            return line
        sign = self._sign(finding.ways[0].row)
        if len(self.rows) == 1:
            return Text.assemble(sign, " ", name)
        on = _count(len(finding.hosts), "host") if counted else self.names.on(finding.hosts)
        return Text.assemble(sign, " ", name, f"  {on}")

    def _cell(self, host: str, id: str) -> tuple[str, str]:
        row = self.rows[host].get(id)
        unread = any(each.name == host and each.unread for each in self.report.hosts)
        sign, style = (self.glyphs.signs["unknown"], STYLES["unknown"]) if unread else self._sign(row)
        return f"  {sign:^{len(host)}}", style

    def _sign(self, row: Row | None) -> tuple[str, str]:
        is_odd = row is not None and row.odd and shade(row) == "fault"
        return (self.glyphs.odd if is_odd else self.glyphs.signs[shade(row)]), STYLES[shade(row)]

    def _ways(self, finding: Finding) -> Iterator[Text]:
        wants = {way.row.want for way in finding.ways}
        one = len(finding.ways) == 1
        if not one and len(wants) == 1:
            yield Text.assemble(_INDENT, ("want: ", "dim"), *wants)
        shown = finding.ways if self.everything else finding.ways[:_WAYS]
        for way in shown:
            who = "" if one else f"{listed(self.names.few(way.hosts))}: "
            want = Text.assemble(("; want: ", "dim"), way.row.want) if one or len(wants) > 1 else ""
            unknown = "unknown: " if way.row.status == "unknown" else ""
            meta = "".join(f"{self.glyphs.dot}{each}" for each in self._meta(way))
            yield Text.assemble(_INDENT, (who, "bold"), unknown, self._found(way.row), want, (meta, "dim"))
        if len(finding.ways) > len(shown):
            more = [host for way in finding.ways[len(shown) :] for host in way.hosts]
            yield Text(f"{_INDENT}and otherwise on {self.names.on(more)}", "dim")

    def _found(self, row: Row) -> str:
        if self.everything or len(row.found) <= _FOUND:
            return row.found
        return f"{row.found[:_FOUND].rsplit(' ', 1)[0]} ... (more with --all)"

    def _meta(self, way: Way) -> Iterator[str]:
        row, deployed = way.row, any(host.deployed for host in self.report.hosts if host.name in way.hosts)
        if row.moved:
            yield f"{row.moved} moved" if deployed or row.moved != "declaration" else NONE
        if row.odd:
            yield "differs from most"
        if row.since and row.since < self.report.started:
            yield f"since {moment(row.since, self.report.started)}"
        if row.news == "new":
            yield "new"
        if row.accepted:
            yield _told(row.accepted)

    def _held(self) -> Iterator[Text]:
        """What holds, a line each, where it was asked for."""
        one_line = self.width >= _WIDE
        for finding in self.holding:
            found = " | ".join(dict.fromkeys(way.row.found for way in finding.ways))
            yield Text.assemble(
                self._head(finding, counted=True), (f"  {found}", "dim"), no_wrap=one_line, overflow="ellipsis"
            )

    # the rest

    def _unread(self) -> Iterator[Text]:
        shown = 0
        ways = findings.lost(self.report.hosts)
        for number, hosts in enumerate(ways):
            some = hosts if self.everything or len(hosts) <= _ALIKE else hosts[:1]
            if not self.everything and shown + len(some) > _LOST:
                left = [host.name for way in ways[number:] for host in way]
                yield Text(f"and {self.names.on(left)} could not be read either", "bold")
                return
            for host in some:
                yield from self._lost(host)
            if others := [host.name for host in hosts[len(some) :]]:
                yield Text(f"{_INDENT}and also {self.names.on(others)}", "bold")
            shown += len(some)

    def _lost(self, host: Host) -> Iterator[Text]:
        sign = (self.glyphs.signs["unknown"], STYLES["unknown"])
        yield Text.assemble(sign, " ", (host.name, "bold"), f" could not be read: {host.unread}")
        if host.before:
            known = listed(_few([row.id for row in host.before]))
            yield Text(f"{_INDENT}{known} did not hold when it last could", "dim")
        if host.cure:
            yield from self._command("try: ", host.cure, _INDENT)

    def _accepted(self) -> Iterator[Text]:
        for finding in self.accepted if self.everything else self.accepted[:_FINDINGS]:
            yield self._head(finding)
            yield from self._ways(finding)

    def _expired(self) -> Iterator[Text]:
        for each in self.report.expired:
            yield Text.assemble(
                ("! ", "yellow"),
                (each.id, "bold"),
                f" on {each.host or 'every host'} is drift again: {_told(each)}, which is over",
            )

    def _fixed(self) -> Iterator[Text]:
        hosts: dict[str, list[str]] = {}
        for fixed in self.report.fixed:
            hosts.setdefault(fixed.id, []).append(fixed.host)
        said = [f"{id} on {self.names.on(names)}" for id, names in hosts.items()]
        if said:
            told = self.glyphs.signs["healthy"], STYLES["healthy"]
            yield Text.assemble(told, " fixed: ", "; ".join(said if self.everything else _few(said)))

    def _footer(self) -> Iterator[Text]:
        counts, started = self.report.counts, self.report.started
        in_spec = sum(host.exit == 0 for host in self.report.hosts)
        parts: list[tuple[str, str]] = [
            (_count(counts.hosts, "host"), "bold"),
            *([(f"{in_spec} in spec", "green")] if counts.hosts > _FLEET else []),
            (f"{counts.ok} ok", "green" if counts.ok else ""),
            (f"{counts.drift} drift", "red" if counts.drift else ""),
            (f"{counts.accepted} accepted", "yellow" if counts.accepted else ""),
            (f"{counts.unknown} unknown", "yellow" if counts.unknown else ""),
        ]
        parts += [(f"{counts.unread} unreachable", "red")] if counts.unread else []
        parts += [(f"{counts.skipped} skipped", "")] if counts.skipped else []
        parts += [(f"checked {started.astimezone():%H:%M} ({self.report.seconds:.0f} s)", "")]
        if self.report.earlier:
            news = f"{counts.new} new, {counts.still} still, {counts.fixed} fixed"
            parts += [(f"{news} since {moment(self.report.earlier, started)}", "dim")]
        line = Text()
        for said, style in parts:
            dot = self.glyphs.dot if line else ""
            if line and len(line) + len(dot) + len(said) > self.width:
                yield line
                line, dot = Text(), ""
            line.append(dot).append(said, style)
        yield line


def _few(names: Sequence[str]) -> list[str]:
    more = len(names) - PIECES
    return [*names[:PIECES], f"{more} more"] if more > 1 else [*names]


def moment(when: datetime, now: datetime) -> str:
    """`14:02`, `18 Nov 03:11`, `18 Nov 2025`, in local time."""
    here, today = when.astimezone(), now.astimezone()
    if here.date() == today.date():
        return f"{here:%H:%M}"
    return f"{here.day} {here:%b %H:%M}" if here.year == today.year else f"{here.day} {here:%b %Y}"


def shade(row: Row | None) -> Shade:
    """How a check on a host is marked; None where the host has no such check."""
    if row is None or row.status == "skipped":
        return "quiet"
    if row.accepted:
        return "degraded"
    if row.status == "unknown":
        return "unknown"
    return "fault" if row.wrong else "healthy"


def _told(accepted: Acceptance) -> str:
    by = f" by {accepted.by}" if accepted.by else ""
    return f"accepted until {accepted.until.day} {accepted.until:%b %Y}{by} ({accepted.why})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
