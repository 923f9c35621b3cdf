"""A benchmark on a screen: a row for each workload; below, what others measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column, Table
from rich.text import Text

from sparkrig.render.findings import ASCII_SIGNS, SIGNS, STYLES, Shade
from sparkrig.render.folded import hanging
from sparkrig.render.progress import spent
from sparkrig.serving import engines
from sparkrig.serving.bench.beside import Told
from sparkrig.serving.bench.report import Measured, Report
from sparkrig.serving.bench.tool import Spread
from sparkrig.serving.model import Metric, Source

_HEADS = ("\nat", "first\np50", "token s\np99", "tok/s\np50", "of one\np99", "\ntogether", "\ndone")
# Which figure of the catalogue belongs into which column; of drafts, there is a line below.
_METRICS: Mapping[Metric, str] = {
    "time to first token s": _HEADS[1],
    "decode tok/s": _HEADS[3],
    "aggregate tok/s": _HEADS[5],
}
_MEANING = (
    "at: requests at a time. p99: what 99 of 100 requests are at least as good as. together: tok/s of all. "
    "done: answered of asked. The prompts are random tokens, which no cache has."
)


class Measurements:
    """All of a report."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        report = self.report
        if report.model:
            known = f", {report.known} of the catalogue" if report.known else ", not in the catalogue"
            on = f" on {report.host}, {engines.name(report.engine)}"
            yield Text.assemble((report.model, "bold"), on, (known, "dim"))
            yield ""
        if report.workloads:
            yield _table(report.workloads)
            yield ""
        for line in self._beneath():
            yield from hanging(line, console, options.max_width) if console.is_terminal else [line]
        shade: Shade = "healthy" if report.exit == 0 else "unknown" if report.exit == 3 else "fault"
        sign = (ASCII_SIGNS if options.ascii_only else SIGNS)[shade]
        took = f" ({spent(report.seconds)})" if report.workloads else ""
        yield Text.assemble((sign, STYLES[shade]), " ", (report.verdict, "bold"), (took, "dim"))

    def _beneath(self) -> Iterator[Text]:
        report = self.report
        if not report.workloads:
            return
        for workload in report.workloads:
            yield from (Text(f"{workload.name}: {note}", "dim") for note in _notes(workload))
        yield Text(_MEANING, "dim")
        yield from (Text(f"{left.name}: not measured, {left.why}", "yellow") for left in report.left)
        if report.elsewhere and any(measured.figures.done for measured in report.workloads):
            yield Text(f"Elsewhere, tok/s of one: {_elsewhere(report.elsewhere)}", "dim")
        for key, source in self._cited():
            told = "; ".join(filter(None, (source.title, source.dated, source.versions, source.where)))
            yield Text(f"{key}: {told}", "dim")
        yield Text()

    def _cited(self) -> Iterator[tuple[str, Source]]:
        """The sources of what is shown."""
        answered = any(workload.figures.done for workload in self.report.workloads)
        shown = [told for workload in self.report.workloads for told in workload.others]
        shown += self.report.elsewhere if answered else []
        return (each for each in self.report.sources.items() if each[0] in {told.source for told in shown})


def _table(workloads: Sequence[Measured]) -> RenderableType:
    """A row for each workload, and one for each source of others' figures of it."""
    heads = (Column(head, justify="right", no_wrap=True) for head in _HEADS)
    name = Column("\nworkload", overflow="fold")
    table = Table(name, *heads, box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for measured in workloads:
        found = measured.figures
        table.add_row(
            measured.name,
            str(measured.concurrency),
            *_both(found.first_token_s, 2),
            *_both(found.decode_rate, 1),
            f"{found.aggregate:.1f}" if found.aggregate is not None else "-",
            f"{found.done}/{found.asked}",
            style="bold" if found.done == found.asked else "bold red",
        )
        for source, cells in _others(measured).items():
            table.add_row(f"  {source}", *(cells.get(head, "") for head in _HEADS), style="dim")
    return table


def _both(spread: Spread | None, digits: int) -> tuple[str, str]:
    return (f"{spread.p50:.{digits}f}", f"{spread.p99:.{digits}f}") if spread else ("-", "-")


def _others(measured: Measured) -> Mapping[str, Mapping[str, str]]:
    """What each source has of a workload, by column."""
    rows: dict[str, dict[str, str]] = {}
    for each in measured.others:
        if column := _METRICS.get(each.metric):
            rows.setdefault(_source(each), {})[column] = _span(each)
    return rows


def _notes(measured: Measured) -> Iterator[str]:
    """What has no column: drafted tokens."""
    figures = measured.figures
    accepted = f"{figures.acceptance_percent:.0f} % accepted" if figures.acceptance_percent is not None else ""
    step = f"{figures.tokens_per_step:.2f} tokens a step" if figures.tokens_per_step else ""
    if accepted or step:
        drafts = [each for each in measured.others if each.metric == "draft acceptance %"]
        told = ", ".join(f"{_source(draft)}: {_span(draft)} %" for draft in drafts)
        yield f"draft: {', '.join(filter(None, (accepted, step)))}{f' ({told})' if told else ''}"


def _source(told: Told) -> str:
    """The source of a figure, with its nodes where two and its kind where it was not measured."""
    return ", ".join([told.source, *(["a pair"] * (told.nodes == 2)), *([told.kind] * (told.kind != "measured"))])


def _span(told: Told) -> str:
    return f"{told.low:g}" if told.low == told.high else f"{told.low:g}-{told.high:g}"


def _elsewhere(rows: Sequence[Told]) -> str:
    return "; ".join(f"{_span(row)} ({'; '.join([*row.of, _source(row)])})" for row in rows)
