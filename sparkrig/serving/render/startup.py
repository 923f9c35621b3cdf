"""A served model on its way up: each node's phases beside measured figures, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column, Table
from rich.text import Text

from sparkrig.render.findings import ASCII_SIGNS, SIGNS, STYLES, Shade
from sparkrig.render.progress import spent
from sparkrig.serving.startup import MEANINGS, TOTALS, Startup

_SHADES: dict[str, Shade] = {"done": "healthy", "now": "unknown", "to come": "quiet"}
_NAME = max(map(len, MEANINGS.values()))
_TIME = len("10 min 10 s")
_STATES = {"absent": "no unit", "starting": "starting for", "serving": "up after", "failed": "ended"}


class Node:
    """One node: a line on what it is, its phases, and whose figures stand beside them."""

    def __init__(self, name: str, found: Startup) -> None:
        self.name, self.found = name, found

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text.assemble((self.name, "bold cyan"), f"  {', '.join(_about(self.found))}")
        if self.found.seconds is not None:
            yield self._phases(ASCII_SIGNS if options.ascii_only else SIGNS)
            yield from _sources(self.found)

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


def _sources(found: Startup) -> Iterator[Text]:
    """Whose figures the second column has; a worker's are the head's."""
    whose = {(phase.reference.model, phase.reference.source) for phase in found.phases if phase.reference}
    for model, source in whose if found.role != "worker" else ():
        total = spent(TOTALS[found.role == "head"].seconds)
        yield Text(f"  second column: {model}, {total} in all ({source})", "dim")
