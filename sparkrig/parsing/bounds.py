"""How much of what a host prints is read, how deep, and what of it is text: judged before anything is made of it.

The figures are our own. A recorded look has 50 kB and 300 rows, a full journal has 4,000 rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

NOUN_CHARS = 2_097_152  # the log of a served model is the longest, with up to 900,000
LOOK_CHARS = 8_388_608
STREAM_BYTES = 33_554_432  # of one command, whatever it is; the parts of an archive have 14 MB at most
STREAM_ROWS = 300_000
ROWS = 20_000  # of a noun; the time of some parsers grows with its square
JSON_DEPTH = 32  # `ip -j` and `docker info` nest four levels
_DIGITS = 20  # of a number in JSON; 2**64 has as many
_LONG = re.compile(r"\d{101}")  # no number or digest; Python neither divides one of 310 nor reads one of 4301

# No row of data can raise these in a parser: they are faults of our own code, and are never called garbage.
OWN_FAULTS = (NameError, ImportError, AssertionError, NotImplementedError, OSError)

_NESTING = re.compile(r'"(?:[^"\\]|\\.?)*+"?|[\[{]|[\]}]', re.DOTALL)


def judge(lines: Sequence[str], most: int = NOUN_CHARS) -> None:
    """Raises ValueError where a noun printed more than `most` characters, too many rows, or a huge number."""
    size = sum(map(len, lines))
    if size > most or len(lines) > ROWS:
        raise ValueError(
            f"{len(lines)} rows of {size} characters are more than the {ROWS} rows and {most} characters expected"
        )
    if any(len(line) > 100 and _LONG.search(line) for line in lines):
        raise ValueError("a number has more than 100 digits")


# JSON and YAML can write one half of a surrogate pair ("\ud800"), which is no character: Python keeps it, and
# every report, file and digest that is to hold such a text fails (RFC 8259, section 8.2).
_HALF = re.compile("[\ud800-\udfff]")
_MAYBE_HALF = re.compile("\\\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def loads(text: str, *, finite_only: bool = True) -> Any:
    """JSON of at most JSON_DEPTH levels, with finite numbers of at most 20 digits, whose texts are text.

    finite_only: refuse Infinity, NaN and what is as good as infinite; else each of them is None. Raises ValueError
    alone.
    """
    if text.count("[") + text.count("{") > JSON_DEPTH:
        _judge_depth(text)
    return _of_text(text, (_decoder() if finite_only else _LENIENT).decode(text))


def _judge_depth(text: str) -> None:
    depth = 0
    for found in _NESTING.finditer(text):
        depth += (found[0] in "[{") - (found[0] in "]}")
        if depth > JSON_DEPTH:
            raise ValueError(f"JSON nests deeper than {JSON_DEPTH} levels")


def first(text: str, start: int) -> tuple[Any, int]:
    """The JSON document that begins at a place of a text, and where it ends. Raises ValueError alone."""
    try:
        found, end = _decoder().raw_decode(text, start)
    except RecursionError:
        raise ValueError("JSON nests too deep") from None
    return _of_text(text[start:end], found), end


def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(parse_int=_integer, parse_float=finite, parse_constant=_no_number)


def _of_text(text: str, found: Any) -> Any:
    if _MAYBE_HALF.search(text):
        judge_text(found)
    return found


def judge_text(found: Any) -> None:
    """Raises ValueError where a text in lists and mappings has half of a surrogate pair."""
    if any(map(_HALF.search, texts(found))):
        raise ValueError("half of a surrogate pair in it is no text")


def texts(found: Any) -> Iterator[str]:
    """Each text in lists and mappings. What YAML's aliases repeat comes once: nine of nine of nine are no time."""
    seen: set[int] = set()
    left = [found]
    while left:
        each = left.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, (Mapping, list, tuple, set)) and id(each) not in seen:
            seen.add(id(each))
            left.extend([*each, *each.values()] if isinstance(each, Mapping) else each)


def _integer(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError(f"JSON has a number of {len(text)} digits")
    return int(text)


def finite(text: str) -> float:
    """A number of at most 20 digits before its point. Raises ValueError, for infinity and NaN too."""
    number = float(text)
    if not abs(number) < 10**_DIGITS:
        raise ValueError(f"{text[:20]} is no finite number")
    return number


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"JSON has {text}, which is no number")


def _finite_or_none(text: str) -> float | None:
    try:
        return finite(text)
    except ValueError:
        return None


_LENIENT = json.JSONDecoder(parse_int=_integer, parse_float=_finite_or_none, parse_constant=lambda _: None)
