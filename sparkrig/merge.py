"""Three-way merges of a file: what one side changed is taken back, what another changed since is kept.

base: what we wrote; back: what stood there before it; now: what stands there. Where both changed the same place,
or places that touch each other, there is no merge: a person has to choose.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import SequenceMatcher, unified_diff
from typing import Any

from sparkrig import bounds, gid, line_ends, words

MOST_BYTES = 64 * 1024  # of a file; the longest of ours has 12 KiB
_MOST_LINES = 2000  # difflib takes time by the square of them
_LINES = 60  # of a diff
_WIDTH = 200  # characters of a line of it

Edit = tuple[int, int, list[str]]  # the lines from the first to before the second become these


class Conflict(Exception):
    """Both sides changed the same place; the message says which, or why a merge cannot be."""


def lines(base: str, back: str, now: str) -> str:
    """`now` without what leads from `back` to `base`, line by line. Raises Conflict."""
    if max(text.count("\n") for text in (base, back, now)) > _MOST_LINES:
        raise Conflict(f"more than {_MOST_LINES} lines")
    old = base.splitlines(keepends=True)
    ours, theirs = _edits(old, back), _edits(old, now)
    done = [edit for edit in ours if edit in theirs]
    ours = [edit for edit in ours if edit not in done]
    for start, end, _ in ours:
        for first, last, _ in theirs:
            if first <= end and start <= last:
                raise Conflict(f"both changed line {min(start, first) + 1}")
    for start, end, new in sorted([*ours, *theirs], key=lambda edit: edit[:2], reverse=True):
        old[start:end] = new
    return "".join(old)


def _edits(old: list[str], text: str) -> list[Edit]:
    new = text.splitlines(keepends=True)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [
        (start, end, new[first:last]) for word, start, end, first, last in matcher.get_opcodes() if word != "equal"
    ]


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


def file(base: str | None, back: str | None, now: str, *, as_json: bool) -> str | None:
    """What a file becomes; None where it goes. Raises Conflict.

    as_json: it holds a JSON object. The GID block of a file follows the devices, so it is nobody's change.
    """
    if base is not None and _without_block(base) == _without_block(now):
        return back
    if as_json:
        return objects(base, back, now)
    if base is None or back is None:
        raise Conflict("there is no whole file to go back to" if back is None else "it was not there")
    block = _block(now)
    base, back = (text.replace(_block(text), block) if block and _block(text) else text for text in (base, back))
    return lines(base, back, now)


def _block(text: str) -> str:
    """The GID block of a file with its marks; empty where it has none."""
    start, end = text.find(gid.BLOCK_BEGIN), text.find(gid.BLOCK_END)
    return text[start : end + len(gid.BLOCK_END)] if 0 <= start < end else ""


def _without_block(text: str) -> str:
    block = _block(text)
    return text.replace(block, "") if block else text


def diff(old: str | None, new: str | None, was: str, becomes: str) -> tuple[str, ...]:
    """What leads from one text to another, as `diff -u` shows it, cleaned, bounded, and without secrets."""
    from sparkrig.redaction.credentials import masked  # its patterns take time, and few texts are compared

    before, after = (line_ends.lines(text or "") for text in (old, new))
    ends = [f"# {said}" for said in line_ends.differ(old or "", new or "") if new is not None]
    told = [*ends, *(words.plain(row.rstrip("\n")) for row in unified_diff(before, after, was, becomes, n=1))]
    rows = [row[:_WIDTH] for row in masked("\n".join(told)).split("\n")] if told else []
    more = [f"... and {len(rows) - _LINES} lines more"] if len(rows) > _LINES else []
    return (*rows[:_LINES], *more)
