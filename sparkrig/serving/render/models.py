"""The catalogue of models on a screen: a list by what fits, and a page of one model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import get_args

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from sparkrig.cure import quoted
from sparkrig.render.findings import ASCII_SIGNS, SIGNS, STYLES, Shade
from sparkrig.serving import layout, purposes
from sparkrig.serving.budget import BESIDE_GIB, GIB, MOST_UTILIZATION, Budget, Use, budget, fewest_nodes, where
from sparkrig.serving.model import IMAGE, Checkpoint, Figure, Model, Nodes, Source, Standing
from sparkrig.serving.render import launches

_SHADES: dict[Standing, Shade] = {
    "recommended": "healthy",
    "works": "quiet",
    "avoid": "fault",
    "unknown": "unknown",
}
_PAIR: tuple[Nodes, ...] = (1, 2)
_COLUMNS = ("", "model", "*", "active", "format", "weights", "KV cache", "at a time", "tok/s")
_WIDTHS = ((76, _COLUMNS), (44, ("", "model", "*", "weights", "tok/s")), (0, ("", "model", "*", "weights")))
_MEANT = 32  # columns beside the figures of a memory, for its names and for what each means
_PREFERENCE: tuple[Standing, ...] = get_args(Standing)


class _Drawn:
    """Signs and dots for a console that may have ASCII alone."""

    def __init__(self, ascii_only: bool) -> None:
        self.dot = " - " if ascii_only else " · "
        self._signs = ASCII_SIGNS if ascii_only else SIGNS

    def sign(self, shade: Shade) -> Text:
        return Text(self._signs[shade], STYLES[shade])


class Listing:
    """Each model in one line, by how many Sparks it takes; the recommended ones first."""

    def __init__(self, models: Sequence[Model], use: Use, sizes: Sequence[Nodes] = _PAIR) -> None:
        self.models, self.use, self.sizes = sorted(models, key=_rank), use, sizes

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        drawn = _Drawn(options.ascii_only)
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
        shown = next(columns for least, columns in _WIDTHS if options.max_width >= least)
        for heading in shown:
            left = heading in ("", "model", "*", "format")
            table.add_column("" if heading == "*" else heading, justify="left" if left else "right", no_wrap=True)
        kinds: tuple[Nodes | None, ...] = (*self.sizes, None)
        takes = {each.name: fewest_nodes(each, each.best(), self.use, self.sizes) for each in self.models}
        groups = {nodes: [each for each in self.models if takes[each.name] == nodes] for nodes in kinds}
        for nodes, fitting in groups.items():
            if fitting:
                table.add_row("", Text(_group(nodes, self.sizes), "bold"))
            for model in fitting:
                row = _row(model, self.use.shared(nodes or self.sizes[-1]), drawn)
                table.add_row(*(row[heading] for heading in shown))
        yield table
        yield ""
        yield Text(_footer(self.use), "dim")
        yield from _too_much(self.use, drawn)
        standings = [f"{drawn.sign(_SHADES[each]).plain} {each}" for each in _PREFERENCE]
        yield Text(f"{'  '.join(standings)}  (50) expected or told, not measured", "dim")
        if any(model.obstacle for model in self.models):
            yield Text("* deploys/serve.py does not start it by its name alone: its page says why", "dim")
        if groups[None] and self.sizes == _PAIR:
            yield Text("What fits neither may fit more Sparks: sparkrig models --sparks 4", "dim")
        first = min(
            (model for fitting in groups.values() for model in fitting), key=lambda each: bool(each.obstacle)
        )
        yield Text.assemble("Next: ", (f"sparkrig models show {quoted(first.name)}", "bold"))


def _group(nodes: Nodes | None, sizes: Sequence[Nodes]) -> str:
    """The heading of the models that take so many Sparks."""
    if nodes is None:
        return "Fits neither" if len(sizes) == len(_PAIR) else "Fits none of these"
    return {1: "Fits one Spark", 2: "Needs the pair"}.get(nodes, f"Needs {nodes} Sparks")


def _row(model: Model, use: Use, drawn: _Drawn) -> Mapping[str, RenderableType]:
    made = budget(model, model.best(), use)
    return {
        "": drawn.sign(_SHADES[model.standing]),
        "model": model.name,
        "*": "*" if model.obstacle else "",
        "active": f"{model.active_b:g} B" if model.active_b else "?",
        "format": model.best().format.partition("-")[0],
        "weights": _weights(made),
        "KV cache": "none" if made.kv is not None and made.kv <= 0 else _gib(made.kv),
        "at a time": "?" if made.sequences is None else f"{int(made.sequences)}",
        "tok/s": _speed(model),
    }


def _footer(use: Use) -> str:
    return (
        f"weights, KV cache: of each Spark, {_use(use)}; ~ is the least that the weights can take. at a time: how "
        f"many sequences of {use.context:,} tokens the KV cache holds. tok/s: of one request."
    )


def _rank(model: Model) -> tuple[int, float]:
    return _PREFERENCE.index(model.standing), -(model.parameters_b or 0)


def _use(use: Use) -> str:
    cache = f"a cache in {use.kv}" + (f" and a draft of {use.drafted}" if use.drafted else "")
    return f"at utilization {use.utilization:g} with {cache}"


def _too_much(use: Use, drawn: _Drawn) -> Iterator[Text]:
    if use.utilization > MOST_UTILIZATION:
        said = f" above {MOST_UTILIZATION:g} of utilization a Spark runs out of memory"
        yield drawn.sign("fault") + Text(f"{said} [@conselara-models, @conselara-hardware]")


def _gib(size: float | None) -> str:
    return "?" if size is None else f"{size:.1f} GiB" if abs(size) < 10 else f"{size:.0f} GiB"


def _weights(made: Budget) -> str:
    return f"~{_gib(made.weights)}" if made.estimated and made.weights is not None else _gib(made.weights)


def _speed(model: Model) -> str:
    """The best rate of one request that was measured; else what is expected, in parentheses."""
    found = purposes.rate(model)
    if found is None:
        return "?"
    told = f"({_span([found.value, found.high or found.value])})"
    return f"{found.value:.0f}" if found.kind == "measured" else told


class _Indented:
    """A part of a page, two columns in, without blanks behind it: after a backslash they break a command."""

    def __init__(self, part: RenderableType) -> None:
        self.part = part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rendered = console.render(self.part, options.update(width=options.max_width - 2))
        for line in map(list, Segment.split_lines(rendered)):
            while line and not line[-1].text.strip():
                line.pop()
            yield Segment("  " if line else "")
            yield from line[:-1]
            yield from (Segment(last.text.rstrip(), last.style) for last in line[-1:])
            yield Segment.line()


class Page:
    """All that is known of one model. checkpoint: of it, whose memory is asked for."""

    def __init__(
        self,
        model: Model,
        checkpoint: Checkpoint,
        sources: Mapping[str, Source],
        use: Use,
        sizes: Sequence[Nodes] = _PAIR,
    ) -> None:
        self.model, self.checkpoint, self.sources, self.use, self.sizes = model, checkpoint, sources, use, sizes

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        drawn, model = _Drawn(options.ascii_only), self.model
        yield self._head(drawn)
        parts = {
            "Memory": self._memory(drawn, options.max_width),
            "Checkpoints": self._checkpoints(drawn),
            "Launches": _apart(map(launches.drawn, model.launches)) if model.launches else None,
            "Figures": _figures(model.figures, drawn, options.max_width) if model.figures else None,
            "Claims": self._claims(drawn) if model.claims else None,
            "Sources": self._sources(),
        }
        for heading, part in parts.items():
            if part:
                yield ""
                yield Text(heading, "bold")
                yield _Indented(part)

    def _head(self, drawn: _Drawn) -> Text:
        model = self.model
        facts = [
            model.architecture,
            *([f"{model.parameters_b:g} B"] if model.parameters_b else []),
            *([f"{model.active_b:g} B active"] if model.active_b else []),
            *([f"context {model.context:,}"] if model.context else []),
        ]
        said = Text.assemble((model.title, "bold"), "  ", (drawn.dot.join(facts), "dim"), "\n")
        said += drawn.sign(_SHADES[model.standing]) + Text(f" {model.standing}: {model.why}")
        if model.obstacle:
            return said + Text(f"\n* does not start by its name alone: {model.obstacle}", STYLES["degraded"])
        if model.assumed and not model.launches:
            return said + Text(
                f"\nserved with {IMAGE} and vLLM's own defaults, where nothing else is asked for", "dim"
            )
        return said

    def _memory(self, drawn: _Drawn, width: int) -> RenderableType:
        made = [budget(self.model, self.checkpoint, self.use.shared(nodes)) for nodes in self.sizes]
        room = width - sum(len(where(each.use.nodes)) + 2 for each in made) >= _MEANT
        figures = (Column(justify="right", overflow="fold") for _ in made)
        meant = [Column()] if room else []
        grid = Table.grid(Column(no_wrap=True), *figures, *meant, padding=(0, 2 if room else 1))
        grid.add_row("", *(Text(where(each.use.nodes), "dim") for each in made))
        for name, told, meaning in _SHARES:
            said = [Text(meaning.format(use=self.use), "dim")] if room else []
            grid.add_row(name, *(told(each) for each in made), *said)
        assumed = "; ".join(dict.fromkeys((*self.model.assumed, *(each for one in made for each in one.assumed))))
        return Group(
            f"Of {self.checkpoint.id}, {_use(self.use)}:",
            grid,
            *(_verdict(self.model, each, drawn) for each in made),
            *_too_much(self.use, drawn),
            Text(f"Assumed: {assumed}.", "dim"),
        )

    def _checkpoints(self, drawn: _Drawn) -> RenderableType:
        grid = _grid()
        for checkpoint in self.model.checkpoints:
            shade, takes = self._takes(checkpoint)
            weights = _weights(budget(self.model, checkpoint, self.use.shared(1)))
            facts = [checkpoint.format, weights, takes]
            if checkpoint.draft is not None:
                facts.append("with a draft head" if checkpoint.draft else "no draft head")
            shown = drawn.sign("fault" if checkpoint.bad else shade)
            grid.add_row(shown, Text.assemble((checkpoint.id, "bold"), " ", drawn.dot.join(facts)))
            if checkpoint.bad:
                grid.add_row("", Text(f"do not use: {checkpoint.bad} ({checkpoint.source})", "red"))
            if checkpoint.note:
                grid.add_row("", Text(f"{checkpoint.note} ({checkpoint.source})", "dim"))
        return grid

    def _takes(self, checkpoint: Checkpoint) -> tuple[Shade, str]:
        """How many Sparks a checkpoint takes, of those that are shown."""
        nodes = fewest_nodes(self.model, checkpoint, self.use, self.sizes)
        if nodes:
            return "healthy", {1: "one Spark", 2: "the pair"}.get(nodes, f"{nodes} Sparks")
        if budget(self.model, checkpoint, self.use).fit == "unknown":
            return "unknown", "fits or not: its size is not known"
        return "degraded", _group(None, self.sizes).lower()

    def _claims(self, drawn: _Drawn) -> RenderableType:
        grid = _grid()
        for claim in self.model.claims:
            grid.add_row(drawn.sign("unknown" if claim.against else "quiet"), f"{claim.says} ({claim.source})")
            if claim.against:
                grid.add_row("", Text(f"against it: {claim.against} ({claim.against_source})", "dim"))
        return grid

    def _sources(self) -> RenderableType:
        """Each address stands on a line of its own, whole."""
        parts: list[RenderableType] = []
        for key in sorted(self.model.sources()):
            source = self.sources[key]
            address, _, more = source.where.partition(" ") if "://" in source.where else ("", "", source.where)
            told = "; ".join(filter(None, (source.title, source.dated, source.versions, more.strip("()"))))
            parts.append(Text.assemble(f"{key}: ", (told, "dim")))
            if address:
                parts.append(Text(f"  {address}", "dim", no_wrap=True, overflow="ignore"))
        return Group(*parts)


def _grid() -> Table:
    """A name, and what is said of it."""
    return Table.grid(Column(no_wrap=True), Column(), padding=(0, 1))


def _held(made: Budget) -> str:
    return "?" if made.sequences is None else f"{made.sequences:,.1f}"


def _tokens(made: Budget) -> str:
    return "?" if made.tokens is None else f"{made.tokens:,}"


_SHARES: tuple[tuple[str, Callable[[Budget], str], str], ...] = (
    ("weights", _weights, ""),
    ("CUDA graphs", lambda made: _gib(made.graphs), ""),
    ("non-torch", lambda made: _gib(made.non_torch), "CUDA, NCCL, the host"),
    ("activations", lambda made: _gib(made.activations), "the peak of a step"),
    ("KV cache", lambda made: _gib(made.kv), "what they leave of {use.utilization:g} x {use.memory:g} GiB"),
    ("  it holds", _held, "sequences of {use.context:,} tokens"),
    ("  that is", _tokens, "tokens, as vLLM 0.19 counts"),
    ("the system", lambda made: _gib(made.free), f"after {BESIDE_GIB:g} GiB for container, Python, ..."),
)


def _verdict(model: Model, made: Budget, drawn: _Drawn) -> Text:
    shades: dict[str, Shade] = {"fits": "healthy", "tight": "degraded", "no": "fault", "unknown": "unknown"}
    use = made.use
    on = {1: "one Spark", 2: "a pair"}.get(use.nodes, f"{use.nodes} Sparks ({layout.usual(use.nodes)})")
    if not layout.divides(layout.usual(use.nodes).tensor, model.shape):
        return Text.assemble(drawn.sign("fault"), f" cannot be shared by {on}: it does not divide its heads")
    each = "" if use.nodes == 1 else " on each"
    wanted = f"{use.sequences} sequences of {use.context:,} tokens take {_gib(made.needed)}{each}"
    said = {
        "fits": f"fits {on}: {wanted}",
        "tight": f"tight on {on}: {'its shape is not known' if made.needed is None else wanted}",
        "no": f"does not fit {on}: {_lacking(made, each)}",
        "unknown": f"fits {on} or not: no source says how large the weights are",
    }[made.fit]
    return Text.assemble(drawn.sign(shades[made.fit]), f" {said}")


def _lacking(made: Budget, each: str) -> str:
    if made.kv is not None and made.kv > 0 and made.paging:
        one = made.paging.sequence_blocks * made.paging.block_bytes / GIB
        return f"a sequence of {made.use.context:,} tokens takes {_gib(one)}{each}"
    more = (made.kv or 0) + (MOST_UTILIZATION - made.use.utilization) * made.use.memory
    larger = f"; --utilization {MOST_UTILIZATION:g} leaves {_gib(more)}" if more > 0 else ""
    return f"the weights leave no KV cache{each}{larger}"


def _apart(parts: Iterable[RenderableType]) -> RenderableType:
    """One below the other, with a line between two."""
    first, *others = parts
    return Group(first, *(line for part in others for line in ("", part)))


def _figures(figures: Sequence[Figure], drawn: _Drawn, width: int) -> RenderableType:
    """One row a metric, kind, source; settings of one workload, which stands before a comma, are one range."""
    rows: dict[tuple[str, str, int, str], list[Figure]] = {}
    for figure in figures:
        rows.setdefault((figure.metric, figure.kind, figure.nodes, figure.source), []).append(figure)
    lines: list[tuple[str, Text]] = []
    for (metric, kind, nodes, source), row in rows.items():
        told = drawn.dot.join(
            f"{label}: {_span(values)}" if label else _span(values) for label, values in _labelled(row).items()
        )
        where = f"{kind}, {source}" if kind != "measured" else source
        on = {1: "", 2: ", pair"}.get(nodes, f", {nodes} Sparks")
        lines.append((metric, Text.assemble(told, (f" ({where}{on})", "dim"))))
    if width < _MEANT + max(len(metric) for metric, _ in lines):
        return Group(*(Text.assemble(f"{metric}: ", line) for metric, line in lines))
    grid = _grid()
    for metric, line in lines:
        grid.add_row(metric, line)
    return grid


def _labelled(row: Sequence[Figure]) -> Mapping[str, Sequence[float]]:
    found: dict[tuple[str, int], list[Figure]] = {}
    for figure in row:
        found.setdefault((figure.of.partition(",")[0], figure.concurrency), []).append(figure)
    return {
        (workload if len(told) > 1 else told[0].of) + (f" x{concurrency}" if concurrency > 1 else ""): [
            value for each in told for value in (each.value, each.high or each.value)
        ]
        for (workload, concurrency), told in found.items()
    }


def _span(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:,.10g}" if low == high else f"{low:,.10g}-{high:,.10g}"
