"""vLLM's own command line: the model, and each flag by its one name, however it was written.

As in vLLM's parser (vllm/utils/argparse_utils.py, read 2026-11-21): `_` is `-`, `--name=value` is `--name value`,
a beginning that only one flag has is that flag, `--no-NAME` switches off, and `--NAME.key value` is a field of the
JSON object that NAME takes.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparkrig.parsing import bounds, safe_yaml

Value = str | bool | Mapping[str, Any] | Sequence[Any]

_FILE = Path(__file__).parents[1] / "models" / "vllm" / "arguments.yaml"
_TABLE = safe_yaml.load(_FILE.read_text(encoding="utf-8"), safe_yaml.FAST)
_SHORT: Mapping[str, str] = _TABLE["short"]
_OTHER_NAMES: Mapping[str, str] = _TABLE["renamed"]
_SWITCHES, _MANY, _VALUED = (frozenset(_TABLE[kind].split()) for kind in ("switches", "many", "valued"))
_KNOWN = _SWITCHES | _MANY | _VALUED | {*_OTHER_NAMES}
_DEEPEST = 20  # fields in fields
_NEGATIVE = re.compile(r"-\d+(?:\.\d+)?")
_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True)
class Arguments:
    """What `vllm serve` was given.

    model: empty where none stands there; flags: by their whole names, without dashes; extra: words that belong to
    no flag, beyond the model; broken: flags whose value begins like JSON and is none.
    """

    model: str
    flags: Mapping[str, Value]
    extra: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()


def read(words: Iterable[str]) -> Arguments:
    """The words after `vllm serve`, or those of its module."""
    rest, flags, loose = deque(words), dict[str, Value](), list[str]()
    broken: list[str] = []
    while rest:
        word = rest.popleft()
        if word == "--" or not word.startswith("-") or _NEGATIVE.fullmatch(word):
            loose += [] if word == "--" else [word]
            continue
        name, joined = _split(word)
        name, field = name.partition(".")[::2]
        field = ".".join(field.split(".")[:_DEEPEST])
        name, on = _known(name)
        if name in _SWITCHES and not field:
            flags[name] = on
            continue
        value = _values(rest, many=name in _MANY) if joined is None else joined
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") and _json(value) is None:
            broken += [] if "$" in value else [name]
        flags[name] = _with_field(flags.get(name), field, value) if field else _typed(value)
    model = flags.pop("model", None) or (loose.pop(0) if loose else "")
    return Arguments(str(model), flags, tuple(loose), tuple(broken))


def whole_number(text: str) -> int | None:
    """A number as vLLM reads it: 131072, 128K (times 1024), 128k (times 1000). None where it is none."""
    found = re.fullmatch(r"(-?\d+(?:\.\d+)?)([kKmMgG]?)", text.strip())
    if found is None or ("." in found[1] and not found[2].islower()):
        return None
    return int(float(found[1]) * _UNITS.get(found[2], 1))


def _split(word: str) -> tuple[str, str | None]:
    """A flag's name without dashes, and the value that is joined to it."""
    name, equals, value = word.partition("=")
    if not name.startswith("--"):
        if name.partition(".")[0] not in _SHORT and name[:2] in _SHORT:  # -O3, -qfp8
            name, equals, value = name[:2], "=", name[2:] + equals + value
        head, dot, field = name.partition(".")
        return _SHORT.get(head, head.lstrip("-")) + dot + field, value if equals else None
    head, dot, field = name[2:].partition(".")
    return head.replace("_", "-") + dot + field, value if equals else None


def _known(name: str) -> tuple[str, bool]:
    """The whole name of a flag, and False where it was switched off."""
    if name not in _KNOWN and name.startswith("no-"):
        return _known(name.removeprefix("no-"))[0], False
    like = [each for each in _KNOWN if each.startswith(name)] if name not in _KNOWN and len(name) > 2 else []
    found = like[0] if len(like) == 1 else name
    return _OTHER_NAMES.get(found, found), True


def _values(rest: deque[str], *, many: bool) -> str | bool | list[str]:
    """Takes the value of a flag from the words that follow it; True where a flag that is not known has none."""
    taken: list[str] = []
    while rest and (many or not taken) and (not rest[0].startswith("-") or _NEGATIVE.fullmatch(rest[0])):
        taken.append(rest.popleft())
    return taken if many else taken[0] if taken else True


def _json(text: str) -> Any:
    try:
        return bounds.loads(text)
    except ValueError:
        return None


def _typed(value: Value) -> Value:
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        found: Value | None = _json(value)
        return value if found is None else found
    return value


def _with_field(before: Value | None, field: str, value: Value) -> Value:
    """An object with one more field, which may be deeper inside."""
    made: dict[str, Any] = dict(before) if isinstance(before, Mapping) else {}
    head, _, tail = field.rstrip("+").partition(".")
    if tail:
        made[head] = _with_field(made.get(head), tail, value)
    else:
        parsed = _json(value) if isinstance(value, str) else value
        made[head] = value if parsed is None else parsed
    return made
