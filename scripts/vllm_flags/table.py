"""models/vllm/flags.yaml, in which what did not change stands once: read, taken apart by version, and written."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

import yaml

from sparkrig.serving.flags import Flag, Knowledge, Release, Table, Version

_HEAD = """\
# Made by `python -m scripts.vllm_flags` from vLLM's published source packages. Do not edit.
# versions: of each minor version the release that was read. flags: of `vllm serve`, and NAME.field of the JSON
# object that NAME takes. in: the versions that have it, where not all do; where anything changed, a mapping by
# versions stands for it; values_in: values that came or went. variables: of the environment, that vLLM reads.
"""
_WIDTH = 120  # PyYAML breaks a line behind the word that reaches it
_ALWAYS = None  # in place of spans
_Spans = str | None


def tables(known: Knowledge | None) -> dict[Version, Table]:
    """What is known, version by version."""
    return {minor: known.table(minor) for minor in known.releases} if known else {}


def text(read: date, found: Mapping[Version, Table]) -> str:
    """The file: sorted, so that the same knowledge is the same text."""
    versions = _Versions(sorted(found))
    releases = {_name(minor): _release(found[minor].release) for minor in versions.all}
    names = sorted({name for table in found.values() for name in table.flags})
    flags = {name: _flag({minor: table.flags.get(name) for minor, table in found.items()}) for name in names}
    variables = sorted({name for table in found.values() for name in table.variables})
    spans = {
        name: versions.spans({minor for minor in found if name in found[minor].variables}) for name in variables
    }
    return "".join(
        [
            _HEAD,
            f"read: {read}\nversions:\n",
            *(f'  "{name}": {_one_line(row)}\n' for name, row in releases.items()),
            "flags:\n",
            *(_row(name, row) for name, row in flags.items()),
            "variables:\n",
            *(f"  {name}:{f' {each}' if each else ''}\n" for name, each in spans.items()),
        ]
    )


def _row(name: str, row: Mapping[str, Any]) -> str:
    """A flag in one line where it fits; else a line for each field, and for each value that came or went."""
    line = f"  {name}: {_one_line(row)}\n"
    if len(line) <= _WIDTH and "values_in" not in row:
        return line
    fields = (
        yaml.safe_dump(
            {key: value},
            sort_keys=False,
            width=_WIDTH - 24,
            default_flow_style=None if isinstance(value, list) else False,
        )
        for key, value in row.items()
    )
    return f"  {name}:\n" + textwrap.indent("".join(fields), "    ")


def _one_line(row: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(row), sort_keys=False, width=math.inf, default_flow_style=True).rstrip("\n")


@dataclass(frozen=True)
class _Versions:
    """The minor versions that are known, or those that have a flag, oldest first."""

    all: list[Version]

    def spans(self, of: Iterable[Version]) -> _Spans:
        """Some of the versions in words, none where it is all of them."""
        some = {*of}
        if some == {*self.all}:
            return _ALWAYS
        parts: list[str] = []
        run: list[Version] = []
        for minor in [*self.all, None]:
            if minor in some and minor is not None:
                run.append(minor)
            elif run:
                parts.append(self._span(run))
                run = []
        return ", ".join(parts)

    def _span(self, run: list[Version]) -> str:
        first, last = run[0], run[-1]
        if last == self.all[-1]:
            return f"from {_name(first)}"
        if first == self.all[0]:
            return f"to {_name(last)}"
        return f"in {_name(first)}" if first == last else f"{_name(first)} to {_name(last)}"


def _flag(found: Mapping[Version, Flag | None]) -> dict[str, Any]:
    """One flag over all versions."""
    having = {minor: flag for minor, flag in sorted(found.items()) if flag}
    everywhere, its = _Versions(sorted(found)), _Versions([*having])
    row: dict[str, Any] = {"in": everywhere.spans(having)}
    for key, of in _PARTS.items():
        row[key] = _history(its, everywhere, {minor: of(flag) for minor, flag in having.items()})
    values = sorted({value for flag in having.values() for value in flag.values})
    spans = {value: [minor for minor, flag in having.items() if value in flag.values] for value in values}
    row["values"] = [value for value in values if len(spans[value]) == len(having)]
    row["values_in"] = {
        value: everywhere.spans(spans[value]) for value in values if len(spans[value]) < len(having)
    }
    return {key: value for key, value in row.items() if _says(value)}


_PARTS: Mapping[str, Callable[[Flag], Any]] = {
    "takes": lambda flag: flag.takes,
    "also": lambda flag: [*flag.also],
    "default": lambda flag: flag.default,
    "open": lambda flag: flag.open,
    "deprecated": lambda flag: flag.deprecated,
    "deprecated_values": lambda flag: [*flag.deprecated_values],
}


def _history(its: _Versions, everywhere: _Versions, found: Mapping[Version, Any]) -> Any:
    """What held in all versions that have the flag, or a mapping of spans to what held."""
    kinds: list[Any] = []
    for minor in its.all:
        if not any(_same(found[minor], each) for each in kinds):
            kinds.append(found[minor])
    if len(kinds) == 1:
        return kinds[0]
    spans = [everywhere.spans(minor for minor in its.all if _same(found[minor], each)) for each in kinds]
    return {span: value for span, value in zip(spans, kinds, strict=True) if _says(value)}


def _says(value: Any) -> bool:
    """Whether a value has to be written: what is left out is none, empty or off."""
    return value is not None and value is not False and value not in ([], {}, "")


def _same(one: Any, other: Any) -> bool:
    """Whether two values are one: 1 is not True, and 1.0 is not 1."""
    return type(one) is type(other) and bool(one == other)


def _release(release: Release) -> dict[str, Any]:
    row = asdict(release)
    return row if row.pop("opposites") is False else {**row, "opposites": True}


def _name(minor: Version) -> str:
    return ".".join(map(str, minor))
