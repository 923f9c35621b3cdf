"""A plan on a screen: for each host what changes, old to new, and what users would notice; and lines that wrap.

No word is broken on a narrow screen: a path or another long word is parted behind a slash, a comma or a hyphen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from sparkrig.cure import cure_of
from sparkrig.drift.plan import Planned, Step, roughly
from sparkrig.runs.change import KINDS, Change, few
from sparkrig.text import listed

_ASCII = str.maketrans({"→": "->", "·": "-", "✓": "ok", "✗": "x"})
_JOINTS = ("/,:=", "-", "._|)")


def wrapped(text: str, width: int, indent: str = "", hanging: str | None = None) -> list[str]:
    """The lines of a text on `width` columns; the first begins with `indent`, the others with `hanging`.

    What stands between blanks stays whole where a line has room for it; else it begins on the line before, and is
    parted behind a slash or comma, a hyphen, a dot, and elsewhere only where it has none of these.
    """
    after = indent if hanging is None else hanging
    lines, line = [], indent
    for word in text.split(" "):
        joint = "" if line in (indent, after) else " "
        if len(line) + len(joint) + len(word) <= width:
            line += joint + word
            continue
        if line.strip() and len(after) + len(word) <= width:
            lines.append(line.rstrip())
            line, joint = after, ""
        *whole, line = _parted(word, line + joint, after, width)
        lines += whole
    return [*lines, line.rstrip()]


def _parted(word: str, line: str, after: str, width: int) -> list[str]:
    """A word that no line has room for: its pieces in lines, the last of which goes on."""
    lines = []
    for piece in _pieces(word, width - len(after)):
        if len(line) + len(piece) > width and line.strip():
            lines.append(line.rstrip())
            line = after
        line += piece
    return [*lines, line]


def _pieces(word: str, room: int, joints: Sequence[str] = _JOINTS) -> Iterator[str]:
    """Pieces of at most `room` characters. joints: the signs behind which a word is parted, the best first."""
    if len(word) <= room or not joints:
        yield from (word[at : at + room] for at in range(0, len(word), max(1, room)))
        return
    kind = re.escape(joints[0])
    for piece in re.findall(f"[^{kind}]+[{kind}]*|[{kind}]+", word):
        yield from _pieces(piece, room, joints[1:])


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

    def whole(self, text: str) -> None:
        """A command is one line, so that it can be copied; a terminal breaks it where it ends."""
        self.console.print(Text(text.translate(_ASCII) if self.ascii_only else text), soft_wrap=True)

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
    count = sum(planned.count for planned in due.values())
    held_up = any(planned.held_up and planned.steps for planned in made.values())
    none = "nothing is done" if held_up else "nothing to change"
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
            _cure(sheet, refusal.what, refusal.cure)
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
    if cure_of(cure).command:
        sheet.whole(f"  try: {cure}")
    else:
        sheet.put(f"try: {cure}", "", 2, 7)


def _step(sheet: Sheet, step: Step, *, everything: bool) -> None:
    sheet.put(step.name.replace(" | ", ": ", 1), "cyan", 2, 4)
    if held := _held(step.changes, everything=everything):
        sheet.put(f"~ {held}", "", 4, 8)
    for change in step.changes:
        if change.kind == "hold":
            continue
        sheet.put(f"{_sign(change)} {sentence(change)}", "", 4, 8)
        if change.keeps:
            sheet.put(change.keeps, "yellow", 6, 8)
        if change.diff and (change.before is not None or everything):
            for row in change.diff:
                style = {"+": "green", "-": "red"}.get(row[:1], "dim")
                blanks = len(row) - len(row.lstrip(" "))  # of a line of context, or of its text
                sheet.put(row.lstrip(" "), style, 6 + blanks, 8 + blanks)


def _held(changes: Sequence[Change], *, everything: bool) -> str:
    """All holds in one sentence: a set is held as a whole."""
    names = [change.item for change in changes if change.kind == "hold"]
    if not names:
        return ""
    if len(names) == 1:
        return f"hold {names[0]}"
    return f"hold {len(names)} packages: {listed(names if everything else few(names))}"


def sentence(change: Change) -> str:
    """`MTU of enp1s0f0np0: 1500 → 9000`."""
    if change.kind == "rails":
        return f"measure the rails {change.item}: {change.before}"
    subject = KINDS[change.kind][0] + change.item
    if change.before is None:
        return f"{subject}: {change.after}"
    return f"{subject}: {change.before} → {change.after or 'removed'}"


def of_step(step: Step) -> list[str]:
    """The changes of a step, a sentence each; all holds in one."""
    held = _held(step.changes, everything=False)
    return [*([held] if held else []), *(sentence(change) for change in step.changes if change.kind != "hold")]


def _sign(change: Change) -> str:
    return "+" if change.before is None else "-" if change.after is None else "~"
