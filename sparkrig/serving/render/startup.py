"""A served model on its way up: each node's phases beside measured figures, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column, Table
from rich.text import Text

from sparkrig.render.findings import ASCII_SIGNS, SIGNS, STYLES, Shade
from sparkrig.render.folded import hanging
from sparkrig.render.progress import spent
from sparkrig.serving.startup import MEANINGS, TOTALS, Phase, Startup

_SHADES: dict[str, Shade] = {"done": "healthy", "now": "unknown", "to come": "quiet"}
_NAME = max(map(len, MEANINGS.values()))
_TIME = len("10 min 10 s")
_ROOMY = 70  # columns, from where the phases are a table
_STATES = {"absent": "no unit", "starting": "starting for", "serving": "up after", "failed": "ended"}


class Phases:
    """One node: a line on what it is, its phases, and whose figures stand beside them."""

    def __init__(self, name: str, found: Startup) -> None:
        self.name, self.found = name, found

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, signs = options.max_width, ASCII_SIGNS if options.ascii_only else SIGNS
        about = Text(", ".join(_about(self.found)))
        yield from hanging(about, console, width, Text.assemble((self.name, "bold cyan"), "  "))
        if self.found.seconds is None:
            return
        if wide := width >= _ROOMY:
            yield self._phases(signs)
        else:
            for phase in self.found.phases:
                shade = _SHADES[phase.state]
                yield from hanging(_in_words(phase), console, width, Text(f"  {signs[shade]} ", STYLES[shade]))
        for line in _sources(self.found, "second column" if wide else "elsewhere"):
            yield from hanging(line, console, width)

    def _phases(self, signs: dict[Shade, str]) -> RenderableType:
        grid = Table.grid(
            *(Column(no_wrap=True), Column(no_wrap=True, min_width=_NAME)),
            Column(no_wrap=True, justify="right", min_width=_TIME),
            Column(no_wrap=True, justify="right", min_width=_TIME, style="dim"),
            Column(style="dim"),
            padding=(0, 1),
        )
        for phase in self.found.phases:
            shade = _SHADES[phase.state]
            grid.add_row(
                Text(f"  {signs[shade]}", STYLES[shade]),
                Text(MEANINGS[phase.name], "" if phase.state != "to come" else "dim"),
                spent(phase.seconds) if phase.seconds is not None else "",
                spent(phase.reference.seconds) if phase.reference else "",
                ", ".join(phase.told),
            )
        return grid


def _about(startup: Startup) -> Iterator[str]:
    if startup.form:
        yield startup.role if startup.role == "alone" else f"{startup.role} ({startup.form})"
    if startup.address:
        yield startup.address
    after = (
        f" {spent(startup.seconds)}"
        if startup.seconds is not None and startup.state in ("starting", "serving")
        else ""
    )
    yield f"{_STATES.get(startup.state, startup.state)}{after}"


def _in_words(phase: Phase) -> Text:
    """A phase where there is no room for columns."""
    took = f": {spent(phase.seconds)}" if phase.seconds is not None else ""
    usual = f" ({spent(phase.reference.seconds)} elsewhere)" if phase.reference else ""
    told = "".join(f", {each}" for each in phase.told)
    return Text.assemble(f"{MEANINGS[phase.name]}{took}", (f"{usual}{told}", "dim"))


def _sources(found: Startup, label: str) -> Iterator[Text]:
    """Whose figures stand beside ours; a worker's are the head's."""
    whose = {(phase.reference.model, phase.reference.source) for phase in found.phases if phase.reference}
    for model, source in whose if found.role != "worker" else ():
        total = spent(TOTALS[found.role == "head"].seconds)
        yield Text(f"  {label}: {model}, {total} in all ({source})", "dim")
