"""A plan on a screen: for each host what changes, old to new, and what users would notice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from sparkrig.cure import from_here
from sparkrig.drift.plan import Planned, Step, roughly
from sparkrig.render.folded import cured, wrapped
from sparkrig.runs.change import KINDS, Change, few
from sparkrig.text import listed

_ASCII = str.maketrans({"→": "->", "·": "-", "✓": "ok", "✗": "x"})


class Sheet:
    """Lines on a console, none of them wider than it, commands aside."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.ascii_only = console.options.ascii_only

    def put(self, text: str, style: str = "", indent: int = 0, hanging: int | None = None) -> None:
        """A text with its lines below `indent` columns; those after its first one below `hanging`."""
        width, deeper = max(20, self.console.width), indent if hanging is None else hanging
        said = text.translate(_ASCII) if self.ascii_only else text
        for line in wrapped(said, width, " " * indent, " " * deeper):
            self.console.print(Text(line, style), soft_wrap=True)

    def cure(self, cure: str, label: str = "try: ", indent: int = 0) -> None:
        """A cure below `indent` columns, behind its label; a command is never broken."""
        blanks = " " * indent
        for line in cured(cure, max(20, self.console.width), f"{blanks}{label}", blanks):
            self.console.print(Text(line.translate(_ASCII) if self.ascii_only else line), soft_wrap=True)

    def blank(self) -> None:
        self.console.print()


def show(
    console: Console, made: Mapping[str, Planned], patience: Mapping[str, float], *, everything: bool
) -> None:
    """All hosts, and what it comes to. patience: of each host; everything: the whole text of new files, too."""
    sheet = Sheet(console)
    for name, planned in made.items():
        _host(sheet, name, planned, patience[name], everything=everything)
        sheet.blank()
    sheet.put(total(made, patience), "bold")


def total(made: Mapping[str, Planned], patience: Mapping[str, float]) -> str:
    """`2 hosts, 34 changes, about 3 min`; hosts that a run cannot change are counted apart."""
    due = {name: planned for name, planned in made.items() if planned.due}
    parts = [f"{len(made)} host{'' if len(made) == 1 else 's'}"]
    if all(planned.unread for planned in made.values()):
        return f"{parts[0]}, none read"
    count = sum(planned.count for planned in due.values())
    held_up = any(planned.held_up and planned.steps for planned in made.values())
    none = "nothing is done" if held_up else "nothing to change"
    if not all(planned.unread or planned.refusals for planned in made.values()):
        parts.append(f"{count} change{'' if count == 1 else 's'}" if count else none)
    parts += [roughly(max(planned.seconds(patience[name]) for name, planned in due.items()))] if due else []
    for what, number in (
        ("refused", sum(bool(planned.refusals) for planned in made.values())),
        ("not read", sum(bool(planned.unread) for planned in made.values())),
    ):
        parts += [f"{number} {what}"] if number else []
    return ", ".join(parts)


def _host(sheet: Sheet, name: str, planned: Planned, patience: float, *, everything: bool) -> None:
    if planned.unread:
        sheet.put(f"{name}: not read", "bold red")
        _cure(sheet, planned.unread.what, planned.unread.cure)
        return
    if planned.refusals:
        sheet.put(f"{name}: refused", "bold red")
        for refusal in planned.refusals:
            _cure(sheet, refusal.what, from_here(refusal.cure, name))
        return
    if not planned.steps:
        sheet.put(f"{name}: as declared", "green")
        return
    plural = "" if planned.count == 1 else "s"
    sheet.put(f"{name}: {planned.count} change{plural}, {roughly(planned.seconds(patience))}", "bold")
    if planned.held_up:
        sheet.put(f"nothing is done here until {listed(planned.held_up)} can be changed, too", "yellow", 2)
    for step in planned.steps:
        _step(sheet, step, everything=everything)
    if planned.interrupted:
        sheet.put("breaks off meanwhile", "yellow", 2)
        for said in planned.interrupted:
            sheet.put(said, "", 4, 6)


def _cure(sheet: Sheet, what: str, cure: str) -> None:
    sheet.put(what, "red", 2, 4)
    sheet.cure(cure, indent=2)


def _step(sheet: Sheet, step: Step, *, everything: bool) -> None:
    sheet.put(step.title, "cyan", 2, 4)
    if held := _held(step.changes, everything=everything):
        sheet.put(f"~ {held}", "", 4, 8)
    for change in step.changes:
        if change.kind == "hold":
            continue
        sheet.put(f"{_sign(change)} {sentence(change, brief=True)}", "", 4, 8)
        if change.keeps:
            sheet.put(change.keeps, "yellow", 6, 8)
        if change.diff and (change.before is not None or everything):
            for row in _changed(change):
                style = {"+": "green", "-": "red"}.get(row[:1], "dim")
                blanks = len(row) - len(row.lstrip(" "))  # of a line of context, or of its text
                sheet.put(row.lstrip(" "), style, 6 + blanks, 8 + blanks)


def _changed(change: Change) -> list[str]:
    """The rows of its diff, without those that name the file, as the line above them does."""
    return [row for row in change.diff if row not in (f"--- {change.item}", f"+++ {change.item}")]


def _held(changes: Sequence[Change], *, everything: bool) -> str:
    """All holds in one sentence: a set is held as a whole."""
    names = [change.item for change in changes if change.kind == "hold"]
    if not names:
        return ""
    if len(names) == 1:
        return f"hold {names[0]}"
    return f"hold {len(names)} packages: {listed(names if everything else few(names))}"


def sentence(change: Change, *, brief: bool = False) -> str:
    """`MTU of enp1s0f0np0: 1500 → 9000`. brief: a file's lines are counted, as its diff is shown."""
    if change.kind == "rails":
        return f"measure the rails {change.item}: {change.before}"
    subject = KINDS[change.kind][0] + change.item
    if change.before is None:
        return f"{subject}: {change.after}"
    if brief and change.brief:
        return f"{subject}: {change.brief}"
    return f"{subject}: {change.before} → {change.after or 'removed'}"


def of_step(step: Step, *, brief: bool = False) -> list[str]:
    """The changes of a step, a sentence each; all holds in one. brief: as of `sentence`."""
    held = _held(step.changes, everything=False)
    return [
        *([held] if held else []),
        *(sentence(change, brief=brief) for change in step.changes if change.kind != "hold"),
    ]


def _sign(change: Change) -> str:
    return "+" if change.before is None else "-" if change.after is None else "~"
