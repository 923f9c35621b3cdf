"""Files that another one changed since a run: merged where that is clean, else shown."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from sparkrig.runs import journal, lock, merge, undo
from sparkrig.runs.journal import ABSENT
from sparkrig.runs.managed_files import FORMS, PRIVATE
from sparkrig.runs.undo import Change, Plan
from sparkrig.serving import served
from sparkrig.text import plain

_SHOWN = frozenset(journal.PATHS) - {*PRIVATE, *(f"{path}.before-sparkrig" for path in PRIVATE)}


def texts_of(plan: Plan) -> list[str]:
    """The files of a host that a merge or a difference needs; none of what root alone may read."""
    return [
        path
        for change in plan.changes
        if _shown(change)
        for path in (
            change.name,
            undo.kept(plan.run, change.name),
            *(file for run in change.wrote for file in (undo.kept(run, change.name), _put(run, change))),
        )
    ]


def parse_texts(lines: Iterable[str]) -> dict[str, str]:
    """Read what TEXTS prints: the text of each file that is one. Raises ValueError where a row makes no sense."""
    found = {}
    for line in lines:
        word, path, encoded = [*line.split(" "), "", ""][:3]
        if word != "file":
            raise ValueError(f"cannot read the row {plain(word[:20])!r} of a file")
        try:
            found[path] = base64.b64decode(encoded, validate=True).decode()
        except UnicodeDecodeError:  # what is no text is neither merged nor shown
            continue
    return found


def merged(plan: Plan, texts: Mapping[str, str]) -> Plan:
    """The plan, once the files that another one changed were read: merged where that is clean, else shown."""
    return replace(plan, changes=tuple(_merged(plan.run, change, texts) for change in plan.changes))


def _shown(change: Change) -> bool:
    ours = change.name in _SHOWN or served.whose(change.name) is not None
    return change.act == "foreign" and change.kind == "file" and ours


def _put(run: str, change: Change) -> str:
    return f"{lock.RUNS}/{run}/wrote/files{change.name}"


def _merged(run_id: str, change: Change, texts: Mapping[str, str]) -> Change:
    if not _shown(change):
        return change
    now, before = texts.get(change.name), texts.get(undo.kept(run_id, change.name))
    try:
        wanted = _taken_back(change, now, texts)
    except merge.Conflict as why:
        known = before is not None or run_id not in change.stood
        diff = merge.diff(now, before, f"{change.name} as it is", f"{change.name} as it was before {run_id}")
        return replace(change, why=plain(str(why)), diff=diff if known else ())
    if wanted == now:
        return replace(change, act="already")
    diff = merge.diff(now, wanted, f"{change.name} as it is", f"{change.name} without what sparkrig wrote")
    if wanted is None:
        return replace(change, act="remove", diff=diff)
    total = hashlib.sha256((now or "").encode()).hexdigest()
    return replace(change, act="merge", diff=diff, text=wanted, sum=total)


def _no_text(now: str) -> str:
    """Why what stands there cannot be merged. now: as the journal has it."""
    if now == ABSENT:
        return "it is gone"
    kind = "a link" if now.startswith("link ") else now if not now[:1].isdigit() else "no text, or too long"
    return f"it is {plain(kind)} now"


def _taken_back(change: Change, now: str | None, texts: Mapping[str, str]) -> str | None:
    """What a file is without what the runs wrote, from the newest on. Raises Conflict."""
    if now is None:
        raise merge.Conflict(_no_text(change.now))
    if not change.wrote:
        raise merge.Conflict("the run broke off, and did not note that it wrote this")
    state: str | None = now
    for run in change.wrote:
        base = texts.get(_put(run, change))
        if base is None:
            raise merge.Conflict(f"what {run} wrote is not kept")
        if state is None:
            raise merge.Conflict(f"it was not there before what came after {run}")
        back = texts.get(undo.kept(run, change.name))
        if back is None and run in change.stood:  # else it would be taken for absent, and the file go
            raise merge.Conflict(f"what stood there before {run} is a link, no text, or too long")
        state = merge.file(base, back, state, form=FORMS.get(change.name, "text"))
    return state
