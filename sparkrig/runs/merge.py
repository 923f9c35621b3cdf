"""Three-way merges of a file: what one side changed is taken back, what another changed since is kept.

base: what we wrote; back: what stood there before it; now: what stands there. Where both changed the same place,
or places that touch each other, there is no merge: a person has to choose.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher, unified_diff
from typing import Any, Literal

from sparkrig.network import gid
from sparkrig.parsing import bounds, line_ends
from sparkrig.resources import file_diff
from sparkrig.text import plain

MOST_BYTES = 64 * 1024  # of a file; the longest of ours has 12 KiB
_MOST_LINES = 2000  # difflib takes time by the square of them
_LINES = 60  # of a diff
_WIDTH = 200  # characters of a line of it

Edit = tuple[int, int, list[str]]  # the lines from the first to before the second become these
# text: a line means what it does among its neighbours; variables: each line stands for itself
Form = Literal["json", "text", "variables"]


class Conflict(Exception):
    """Both sides changed the same place; the message has the place, or why there can be no merge."""


def lines(base: str, back: str, now: str, *, apart: bool = False) -> str:
    """`now` without what leads from `back` to `base`, line by line. Raises Conflict.

    apart: each line stands for itself, so that a line which another one added is kept wherever it stands. The end
    of a line is no part of it: a file that another one turned into CRLF stays so.
    """
    if max(text.count("\n") for text in (base, back, now)) > _MOST_LINES:
        raise Conflict(f"more than {_MOST_LINES} lines")
    old = base.splitlines(keepends=True)
    ours, theirs = _edits(old, back), _edits(old, now)
    same = [_bare(new) for _, _, new in theirs]
    done = [
        edit
        for edit in ours
        if any(edit[:2] == other[:2] and _bare(edit[2]) == new for other, new in zip(theirs, same, strict=True))
    ]
    ours = [edit for edit in ours if edit not in done]
    if apart:
        theirs = [moved for edit in theirs if (moved := _apart(edit, ours))]
    for start, end, _ in ours:
        for first, last, _ in theirs:
            if first <= end and start <= last and not (apart and first == last):
                raise Conflict(f"both changed line {min(start, first) + 1}")
    end_of_line = "\r\n" if _crlf(now) else "\n"
    if _crlf(now) and not _crlf(base):
        ours = [(start, end, [_ended(row, end_of_line) for row in new]) for start, end, new in ours]
    merged = _as_in(old, now)
    # from the last on; at the same place what stood there before comes first
    sides = [(edit, 0) for edit in ours] + [(edit, 1) for edit in theirs]
    rows = [(*edit[:2], side, number, edit[2]) for number, (edit, side) in enumerate(sides)]
    for start, end, _, _, new in sorted(rows, key=lambda row: row[:4], reverse=True):
        merged[start:end] = new
    whole = [_ended(row, end_of_line) for row in merged[:-1]]
    return "".join([*whole, *merged[-1:]])


def _apart(edit: Edit, ours: list[Edit]) -> Edit | None:
    """Another one's edit where each line stands for itself: what it adds comes after what we take back around it.

    None where it takes away what we take away, too.
    """
    first, last, new = edit
    around = [end for start, end, _ in ours if start <= first and last <= end]
    if not around or (new and first < last):
        return edit
    return (max(around), max(around), new) if new else None


def _edits(old: list[str], text: str) -> list[Edit]:
    new = text.splitlines(keepends=True)
    return [(start, end, new[first:last]) for word, start, end, first, last in _turns(old, new) if word != "equal"]


def _turns(old: list[str], new: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, _bare(old), _bare(new), autojunk=False).get_opcodes()


def _as_in(old: list[str], text: str) -> list[str]:
    """The lines, those that another text has too as they end there."""
    new, found = text.splitlines(keepends=True), list(old)
    for word, start, end, first, last in _turns(old, new):
        if word == "equal":
            found[start:end] = new[first:last]
    return found


def _bare(rows: Iterable[str]) -> list[str]:
    return [row.rstrip("\r\n") for row in rows]


def _ended(row: str, end: str) -> str:
    """A line with its end where it has none, or with that very one where it is CRLF."""
    return row.rstrip("\r\n") + end if end == "\r\n" or not row.endswith("\n") else row


def _crlf(text: str) -> bool:
    """Whether most lines of a text end so."""
    return 2 * text.count("\r\n") > text.count("\n")


def objects(base: str | None, back: str | None, now: str) -> str | None:
    """The same for a JSON object, key by key; None where nothing is left and nothing stood there before.

    An absent text counts as an empty object. Raises Conflict, for what is no JSON object too.
    """
    merged = _keys(_object(base), _object(back), _object(now), ())
    if merged == _object(back):
        return back
    return json.dumps(merged, indent=4, ensure_ascii=False) + "\n"


def _object(text: str | None) -> Mapping[str, Any]:
    try:
        found = bounds.loads(text) if text and text.strip() else {}
    except ValueError as error:
        raise Conflict(f"no JSON ({error})") from None
    if not isinstance(found, dict):
        raise Conflict("no JSON object")
    return found


_NONE = object()


def _keys(
    base: Mapping[str, Any], back: Mapping[str, Any], now: Mapping[str, Any], path: tuple[str, ...]
) -> dict[str, Any]:
    merged = {}
    for key in dict.fromkeys([*now, *back]):
        value = _value(base.get(key, _NONE), back.get(key, _NONE), now.get(key, _NONE), (*path, key))
        if value is not _NONE:
            merged[key] = value
    return merged


def _value(base: Any, back: Any, now: Any, path: tuple[str, ...]) -> Any:
    if _same(now, base) or _same(now, back):
        return back
    if _same(base, back):
        return now
    sides = [{} if side is _NONE else side for side in (base, back, now)]
    if now is not _NONE and all(isinstance(side, dict) for side in sides):
        inner = _keys(sides[0], sides[1], sides[2], path)
        return inner if inner or back is not _NONE else _NONE
    raise Conflict(f"both changed {'.'.join(path)}")


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal in JSON, where 1 is not true."""
    if one is _NONE or other is _NONE:
        return one is other
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def file(base: str | None, back: str | None, now: str, *, form: Form) -> str | None:
    """What a file becomes; None where it goes. Raises Conflict.

    What the GID block has of ours follows the devices, so a difference there is no edit; other lines in it are.
    """
    if base is not None and _without_gids(base) == _without_gids(now):
        return back
    if form == "json":
        return objects(base, back, now)
    if base is None or (back is None and form == "text"):
        raise Conflict("there is no whole file to go back to" if back is None else "it was not there")
    base, stood = _with_gids_of(now, base), _with_gids_of(now, back or "")
    merged = lines(base, stood, now, apart=form == "variables")
    return merged if back is not None or merged.strip() else None


def _gids(text: str) -> Iterator[tuple[str, bool]]:
    """Each line of a file, and whether it is one of ours within the GID block, as the journal's digest has it."""
    within = False
    for row in text.splitlines(keepends=True):
        within = within or row.startswith(gid.BEGINS)
        yield row, within and row.startswith(gid.OURS)
        within = within and not row.startswith(gid.BLOCK_END)


def _without_gids(text: str) -> str:
    return "".join(row for row, ours in _gids(text) if not ours)


def _with_gids_of(other: str, text: str) -> str:
    """The text with the GID block of another one, where both have one."""
    block = [row for row, ours in _gids(other) if ours]
    found = list(_gids(text))
    place = next((number for number, (_, ours) in enumerate(found) if ours), None)
    if not block or place is None:
        return text
    before, after = ([row for row, ours in part if not ours] for part in (found[:place], found[place:]))
    return "".join([*before, *block, *after])


def diff(old: str | None, new: str | None, was: str, becomes: str) -> tuple[str, ...]:
    """What leads from one text to another, as `diff -u` shows it, cleaned, bounded, and without secrets."""
    from sparkrig.redaction.credentials import masked  # its patterns take time, and few texts are compared

    before, after = (line_ends.lines(text or "") for text in (old, new))
    ends = () if new is None else file_diff.ends(old or "", new)
    told = [*ends, *(plain(row.rstrip("\n")) for row in unified_diff(before, after, was, becomes, n=1))]
    rows = [row[:_WIDTH] for row in masked("\n".join(told)).split("\n")] if told else []
    more = [f"... and {len(rows) - _LINES} lines more"] if len(rows) > _LINES else []
    return (*rows[:_LINES], *more)
