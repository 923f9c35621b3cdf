"""Onboarding on a screen: the identity card of a new Spark, the lines of the inventory, and the plan."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sparkrig.drift.render.plan import of_step
from sparkrig.onboarding.card import Row
from sparkrig.onboarding.plan import Plan
from sparkrig.onboarding.proposal import Move
from sparkrig.render.findings import ASCII_SIGNS, SIGNS, STYLES, Shade


class Card:
    """Who it is, and a line for each thing worth knowing of it."""

    def __init__(self, title: str, heading: str, rows: Sequence[Row]) -> None:
        self.title, self.heading, self.rows = title, heading, rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        heading = self.heading.replace("·", "-") if options.ascii_only else self.heading
        yield Text.assemble((self.title, "bold"), "\n", (heading, "dim"))
        grid = Table.grid(padding=(0, 1))
        grid.add_column(no_wrap=True)
        grid.add_column()
        for row in self.rows:
            shade: Shade = row.level or "quiet"
            signs = ASCII_SIGNS if options.ascii_only else SIGNS
            arrow = " -> " if options.ascii_only else " → "
            text = Text(row.text, "dim" if row.level is None else "")
            if row.then:
                text.append(f"{arrow}{row.then}", STYLES[shade])
            grid.add_row(Text(f" {signs[shade]}", STYLES[shade]), text)
        yield grid


def difference(before: str, after: str) -> Text:
    """The lines of a file that go and come, each with its sign; `...` between places."""
    text = Text(no_wrap=True, overflow="fold")
    for line in _changed(before.splitlines(), after.splitlines()):
        style = {"+": "green", "-": "red"}.get(line[:1], "dim")
        text.append(f"  {line}\n", style)
    text.rstrip()
    return text


def _changed(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    lines = difflib.unified_diff(before, after, lineterm="", n=1)
    for number, line in enumerate(each for each in lines if not each.startswith(("---", "+++"))):
        if not line.startswith("@@"):
            yield line
        elif number:
            yield "..."


def moved(moves: Sequence[Move]) -> RenderableType:
    """The addresses of a cluster that changes, by host and netdev."""
    grid = Table.grid(padding=(0, 2))
    before = ""
    for move in moves:
        name = Text("" if move.host == before else f"  {move.host}", "bold")
        same = move.before == move.after
        grid.add_row(name, move.netdev, Text(move.sentence, "dim" if same else "red" if move.before else "green"))
        before = move.host
    return grid


def planned(here: Sequence[str], plans: Sequence[Plan]) -> RenderableType:
    """What is done where, this machine first; refusals with their cures."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for number, line in enumerate(here):
        grid.add_row("" if number else Text("  here", "bold"), line)
    for plan in plans:
        name = Text(f"  {plan.host}", "bold")
        for line in plan.login:
            grid.add_row(name, line)
            name = Text()
        for step in plan.steps:
            grid.add_row(name, step.name)
            name = Text()
            for said in of_step(step):
                grid.add_row(name, Padding(Text(said, "dim"), (0, 0, 0, 2)))
        for refusal in plan.refusals:
            grid.add_row(
                name, Text.assemble((f"refused: {refusal.what}", "red"), ("\ntry: ", "dim"), refusal.cure)
            )
            name = Text()
        if not plan:
            grid.add_row(name, Text("as declared", "green"))
    return grid
