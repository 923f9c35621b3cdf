"""The doctor's report on a terminal: a line for each category, and more only where something is wrong.

A command stands on one line, however long, so that it can be copied; the terminal wraps it by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from sparkrig.cure import enlist
from sparkrig.doctor.doctor import Report, Row
from sparkrig.render.findings import ASCII_SIGNS, SIGNS, STYLES, Shade
from sparkrig.render.folded import cured, wrapped
from sparkrig.resources.check import Status
from sparkrig.resources.kind import CATEGORIES, Category, to_read
from sparkrig.text import listed, some

_WIDE = max(map(len, CATEGORIES))
_LABEL = 10
_NAMED = 4  # hosts, and what was read of them; of more the rest are counted
_ROOMY = 60  # columns
_CLEAR = 12  # characters; a shorter text (`it does`) means little by itself

Told = tuple[str, Row]


def lines(report: Report, *, everything: bool, ascii_only: bool, width: int | None) -> Iterator[Text]:
    """The report, line by line. everything: what is well, too; width: in columns, None for no wrapping."""
    unread = [host.name for host in report.hosts if not host.read]
    drawn = _Drawn(ASCII_SIGNS if ascii_only else SIGNS, width, len(report.hosts), unread)
    for category in CATEGORIES:
        rows = report.of(category)
        if rows:
            yield drawn.headline(category, rows, everything=everything)
            yield from drawn.details(rows, everything=everything)
    yield Text()
    yield drawn.verdict(report)
    if report.left_out:
        count = f"{report.left_out} more check{'s need' if report.left_out > 1 else ' needs'} an inventory:"
        yield Text(f"{count}{_gap(count, enlist(), width)}{enlist()}", style="dim")


def _shade(status: Status) -> Shade:
    shades: dict[Status, Shade] = {"ok": "healthy", "skipped": "quiet", "unknown": "unknown"}
    return shades.get(status, "fault")


@dataclass(frozen=True)
class _Drawn:
    """How it is drawn. hosts: how many there are (a lone one is not named); unread: those that were not read."""

    signs: dict[Shade, str]
    width: int | None
    hosts: int
    unread: Sequence[str]

    @property
    def mark(self) -> int:
        """The columns of a sign."""
        return max(map(len, self.signs.values()))

    def headline(self, category: Category, rows: Sequence[Told], *, everything: bool) -> Text:
        statuses = {row.status for _, row in rows}
        wrong, unknown = [row for _, row in rows if row.wrong], [row for _, row in rows if row.status == "unknown"]
        worst: Status = "drift" if wrong else "unknown" if unknown else "ok" if "ok" in statuses else "skipped"
        judged = sum(row.status != "skipped" for _, row in rows)
        said = [f"{judged} check{'s' if judged != 1 else ''}"] if judged else []
        if judged < len(rows) and judged:  # `16 checks, 16 skipped` reads as if none of the 16 had been made
            said = [f"{judged} ok"]
        if wrong or unknown:
            said = [f"{len(wrong)} of {judged} wrong"] if wrong else []
            said += [f"{len(unknown)} of {judged} not known"] if unknown else []
        if judged < len(rows):
            said.append(f"{len(rows) - judged} skipped{'' if everything else ' (-v: why)'}")
        if not judged and not everything:
            said = [f"skipped: {rows[0][1].found}"]
        if roots := dict.fromkeys(row.follows.id for _, row in rows if row.follows):
            said.append(f"see {listed(roots)}")
        if self.unread and category != "access":
            said.append(f"{some(self.unread, _NAMED)} not read")
        style = "" if wrong or unknown else "dim"
        return Text.assemble(
            self.sign(worst), f" {category:{_WIDE}}  ", (self.hung(", ".join(said), self.mark + _WIDE + 3), style)
        )

    def sign(self, status: Status) -> tuple[str, str]:
        shade = _shade(status)
        return f"{self.signs[shade]:{self.mark}}", STYLES[shade]

    def details(self, rows: Sequence[Told], *, everything: bool) -> Iterator[Text]:
        for group in _alike(rows):
            first = group[0][1]
            if first.told and not first.follows:
                yield from self.whole(group, everything=everything)
            elif everything:
                yield from self.short(group)

    def short(self, group: Sequence[Told]) -> Iterator[Text]:
        """One line for each thing that was read."""
        for told in _telling(group):
            row = told[0][1]
            where = "" if len(told) == self.hosts else self.on(told)
            yield from self.wrapped(self.sign(row.status), f"{row.id}{where}: {_in_short(row)}", row.notes)

    def whole(self, group: Sequence[Told], *, everything: bool) -> Iterator[Text]:
        """What was read and expected, why, and what to do. everything: what else was read, too."""
        first = group[0][1]
        yield Text.assemble(
            "  ", self.sign(first.status), " ", (self.hung(f"{first.id}{self.on(group)}", self.mark + 3), "bold")
        )
        told = _telling(group)
        common = len({tuple(row.notes) for _, row in group}) == 1
        for number, alike in enumerate(told[:_NAMED]):
            where = self.on(alike) if len(told) > 1 else ""
            yield from self.labelled("" if number else "read", f"{alike[0][1].found}{where}")
            for note in alike[0][1].notes if everything and not common else ():
                yield from self.labelled("", note)
        yield from self.more(told)
        for number, note in enumerate(first.notes if everything and common else ()):
            yield from self.labelled("" if number else "besides", note)
        yield from self.each("expected", group, "want")
        yield from self.each("cause", group, "cause")
        yield from self.each("try", group, "cure")
        yield from self.labelled("more", to_read(first.docs), style="dim")

    def each(self, label: str, group: Sequence[Told], field: str) -> Iterator[Text]:
        """A field of all hosts once, or where it differs with its hosts."""
        values = _by(group, field)
        for number, (value, told) in enumerate(values[:_NAMED]):
            where = self.on(told) if len(values) > 1 and field == "want" else ""
            if value:
                yield from self.labelled("" if number else label, f"{value}{where}" if where else value)
        yield from self.more(values)

    def more(self, values: Sequence[object]) -> Iterator[Text]:
        """How many are not shown."""
        if len(values) > _NAMED:
            yield from self.labelled("", f"and {len(values) - _NAMED} more (--json has them)")

    def on(self, told: Sequence[Told]) -> str:
        """On which hosts; nothing where there is only one."""
        return f" on {some([name for name, _ in told], _NAMED)}" if self.hosts > 1 else ""

    def labelled(self, label: str, text: str, *, style: str = "") -> Iterator[Text]:
        indent = 4 + _LABEL
        for row in cured(text, self.width, f"    {label:{_LABEL}}", " " * indent):
            yield Text.assemble((row[:indent], "dim"), (row[indent:], style))

    def hung(self, text: str, indent: int) -> str:
        """A text on as many lines as it takes; indent: where the first begins, and the others on a wide screen."""
        if self.width is None:
            return text
        after = indent if self.width >= _ROOMY else min(indent, 4)
        return "\n".join(wrapped(text, self.width, " " * indent, " " * after))[indent:]

    def wrapped(self, sign: tuple[str, str], text: str, notes: Sequence[str]) -> Iterator[Text]:
        yield Text.assemble("  ", sign, " ", self.hung(text, self.mark + 3))
        yield from (Text(f"    {self.hung(note, 4)}") for note in notes)

    def verdict(self, report: Report) -> Text:
        rows = [row for host in report.hosts for row in host.rows if row.status != "skipped"]
        worst: Status = "unknown" if report.exit == 3 else "drift" if report.exit else "ok" if rows else "skipped"
        took = f"({len(rows)} check{'s' if len(rows) != 1 else ''}, {report.seconds:.0f} s)."
        said = Text.assemble(self.sign(worst), " ", (self.hung(report.verdict, self.mark + 1), "bold"))
        said.append(f"{_gap(said.plain, took, self.width)}{took}", "dim")
        gap, label = _gap(said.plain, report.next, self.width), report.next.partition(": ")[0]
        fits = self.width is None or len(report.next) <= self.width
        return said.append(gap + (report.next if fits else f"{label}:\n{report.next[len(label) + 2 :]}"))


def _alike(rows: Sequence[Told]) -> list[list[Told]]:
    """The rows of one check grouped by status and by what they follow from, in order."""
    groups: dict[str, dict[tuple[object, ...], list[Told]]] = {}
    for name, row in rows:
        kind = (row.status, row.follows.id if row.follows else None)
        groups.setdefault(row.id, {}).setdefault(kind, []).append((name, row))
    return [group for of_one in groups.values() for group in of_one.values()]


def _in_short(row: Row) -> str:
    """What was read, with what was expected where it makes no sense without."""
    if row.status == "skipped":
        return f"skipped, {row.found}"
    if row.follows:
        return f"{row.found} (see {row.follows.id} of {row.follows.host})"
    return row.found if row.found == row.want or len(row.found) > _CLEAR else f"{row.found} ({row.want})"


def _telling(group: Sequence[Told]) -> list[list[Told]]:
    """The rows of a check grouped by the same result and notes."""
    found: dict[tuple[str, ...], list[Told]] = {}
    for name, row in group:
        found.setdefault((row.found, *row.notes), []).append((name, row))
    return list(found.values())


def _by(group: Sequence[Told], field: str) -> list[tuple[str, list[Told]]]:
    """The values of a field, each with the rows that have it."""
    found: dict[str, list[Told]] = {}
    for name, row in group:
        found.setdefault(getattr(row, field), []).append((name, row))
    return list(found.items())


def _gap(shown: str, more: str, width: int | None) -> str:
    """What parts more from what is shown: a blank, or a new line, so that no terminal breaks a command."""
    return " " if width is None or len(shown.rpartition("\n")[2]) + 1 + len(more) <= width else "\n"
