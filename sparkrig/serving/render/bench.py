"""A benchmark on a screen: a line for each workload; below, what others measured."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from sparkrig.render.findings import ASCII_SIGNS, SIGNS, STYLES, Shade
from sparkrig.render.progress import spent
from sparkrig.serving import engines
from sparkrig.serving.bench.beside import Told
from sparkrig.serving.bench.report import Measured, Report
from sparkrig.serving.bench.tool import Spread
from sparkrig.serving.model import Metric, Source

_NAME = 18
_COLUMNS: Mapping[str, int] = {"at": 3, "p50": 10, "p99": 8, "rate": 11, "low": 8, "together": 11, "done": 8}
_HEADS = (
    ("", "", "first token s", "", "tok/s of one", "", "", ""),
    ("workload", "at", "p50", "p99", "p50", "p99", "together", "done"),
)
_METRICS: Mapping[Metric, str] = {
    "time to first token s": "p50",
    "decode tok/s": "rate",
    "aggregate tok/s": "together",
}
"""Which figure of the catalogue belongs into which column; of drafts, there is a line below."""


class Page:
    """All of a report."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        report = self.report
        signs = ASCII_SIGNS if options.ascii_only else SIGNS
        width = options.max_width if console.is_terminal else None
        if report.model:
            known = f", {report.known} of the catalogue" if report.known else ", not in the catalogue"
            on = f" on {report.host}, {engines.name(report.engine)}"
            yield from _wrapped(Text.assemble((report.model, "bold"), on, (known, "dim")), width)
            yield ""
        if report.workloads:
            yield _head()
        for each in report.workloads:
            yield _line(each)
            yield from _others(each)
            for note in _notes(each):
                yield from _wrapped(Text(note, "dim"), width, 2)
        yield from self._beneath(signs, width)

    def _beneath(self, signs: Mapping[Shade, str], width: int | None) -> Iterator[Text]:
        report = self.report
        if report.workloads:
            yield Text()
            yield from _wrapped(Text(_MEANING, "dim"), width)
        for left in report.left if report.workloads else ():
            yield from _wrapped(Text(f"{left.name}: not measured, {left.why}", "yellow"), width)
        if report.elsewhere and any(each.figures.done for each in report.workloads):
            yield from _wrapped(Text(f"Elsewhere, tok/s of one: {_elsewhere(report.elsewhere)}", "dim"), width)
        for key, source in self._cited():
            told = "; ".join(filter(None, (source.title, source.dated, source.versions, source.where)))
            yield from _wrapped(Text(f"{key}: {told}", "dim"), width, 0, 2)
        shade: Shade = "healthy" if report.exit == 0 else "unknown" if report.exit == 3 else "fault"
        verdict = Text.assemble((signs[shade], STYLES[shade]), " ", (report.verdict, "bold"))
        if report.workloads:
            yield Text()
            verdict.append(f" ({spent(report.seconds)})", "dim")
        yield from _wrapped(verdict, width, 0, 2)

    def _cited(self) -> Iterator[tuple[str, Source]]:
        """The sources of what is shown."""
        answered = any(each.figures.done for each in self.report.workloads)
        shown = [told for each in self.report.workloads for told in each.others]
        shown += self.report.elsewhere if answered else []
        return (each for each in self.report.sources.items() if each[0] in {told.source for told in shown})


_MEANING = (
    "at: requests at a time. p99: what 99 of 100 requests are at least as good as. together: tok/s of all. "
    "done: answered of asked. The prompts are random tokens, which no cache has."
)


def _head() -> Text:
    lines = [_columns(cells[0], cells[1:]) for cells in _HEADS]
    return Text("\n".join(lines), "dim")


def _columns(name: str, cells: Iterable[str]) -> str:
    """A line of the table. A cell that is too wide takes of the room before it."""
    line = f"{name:{_NAME}}"
    end = _NAME
    for cell, wide in zip(cells, _COLUMNS.values(), strict=True):
        end += wide
        line = f"{line}{cell.rjust(max(end - len(line), len(cell) + (1 if cell else 0)))}" if cell else line
    return line


def _line(measured: Measured) -> Text:
    found = measured.figures
    cells = (
        str(measured.concurrency),
        *_both(found.first_token_s, 2),
        *_both(found.decode_rate, 1),
        f"{found.aggregate:.1f}" if found.aggregate is not None else "-",
        f"{found.done}/{found.asked}",
    )
    return Text(_columns(measured.name, cells), "bold" if found.done == found.asked else "bold red")


def _both(spread: Spread | None, digits: int) -> tuple[str, str]:
    return (f"{spread.p50:.{digits}f}", f"{spread.p99:.{digits}f}") if spread else ("-", "-")


def _others(measured: Measured) -> Iterator[Text]:
    """A line for each source."""
    rows: dict[str, dict[str, str]] = {}
    for each in measured.others:
        column = _METRICS.get(each.metric)
        if column:
            rows.setdefault(_source(each), {})[column] = _span(each)
    for source, cells in rows.items():
        yield Text(_columns(f"  {source}", (cells.get(column, "") for column in _COLUMNS)), "dim")


def _notes(measured: Measured) -> Iterator[str]:
    """What has no column: drafted tokens."""
    found = measured.figures
    accepted = f"{found.acceptance_percent:.0f} % accepted" if found.acceptance_percent is not None else ""
    step = f"{found.tokens_per_step:.2f} tokens a step" if found.tokens_per_step else ""
    if accepted or step:
        drafts = [each for each in measured.others if each.metric == "draft acceptance %"]
        yield f"draft: {', '.join(filter(None, (accepted, step)))}{_beside(drafts, ' %')}"


def _beside(told: Sequence[Told], unit: str) -> str:
    said = ", ".join(f"{_source(each)}: {_span(each)}{unit}" for each in told)
    return f" ({said})" if said else ""


def _source(told: Told) -> str:
    """The source of a figure, with its nodes where two and its kind where it was not measured."""
    return ", ".join([told.source, *(["a pair"] * (told.nodes == 2)), *([told.kind] * (told.kind != "measured"))])


def _span(told: Told) -> str:
    return f"{told.low:g}" if told.low == told.high else f"{told.low:g}-{told.high:g}"


def _elsewhere(told: Sequence[Told]) -> str:
    def one(each: Told) -> str:
        return f"{_span(each)} ({'; '.join([*each.of, _source(each)])})"

    return "; ".join(map(one, told))


def _wrapped(text: Text, width: int | None, indent: int = 0, hanging: int | None = None) -> Iterator[Text]:
    """A text on as many lines as it takes, none of them longer than the screen."""
    before, after = " " * indent, " " * (indent if hanging is None else hanging)
    if width is None:
        yield Text(before) + text
        return
    lines = textwrap.wrap(text.plain, max(width, 40), initial_indent=before, subsequent_indent=after)
    start = 0
    for number, line in enumerate(lines):
        said = line[indent if number == 0 else len(after) :]
        start = text.plain.index(said, start)
        yield Text(before if number == 0 else after) + text[start : start + len(said)]
        start += len(said)
