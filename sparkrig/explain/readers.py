"""The readers of models/readers.yaml, in its order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from sparkrig import signatures
from sparkrig.explain import by_line
from sparkrig.explain.explanation import Around, Explained, Piece, Reader, Sign
from sparkrig.parsing import safe_yaml

_FILE = Path(signatures.__file__).parent / "models" / "readers.yaml"
ROWS: Mapping[str, Mapping[str, Any]] = safe_yaml.load(_FILE.read_text(encoding="utf-8"), safe_yaml.FAST)


def _read(name: str, piece: Piece, around: Around) -> Explained:
    """By a function of this room, whose module is loaded for the first output of its tool."""
    module, _, function = name.partition(".")
    explained: Explained = getattr(import_module(f"sparkrig.explain.{module}"), function)(piece, around)
    return explained


def _sign(name: str, words: str | list[str], **more: Any) -> Sign:
    either = words if isinstance(words, str) else "|".join(words)
    after = tuple(map(frozenset, more.pop("after", ())))
    return Sign(name, re.compile(rf"^(?:{either})", re.MULTILINE), after=after, **more)


def _signs(of: Mapping[str, Any]) -> Iterator[Sign]:
    yield from (_sign("run", each, again=True) for each in of.get("runs", ()))
    if nameless := [each for each in of["signs"] if isinstance(each, str)]:
        yield _sign("line", nameless)
    for row in of["signs"]:
        if isinstance(row, dict):
            (name, words), *more = row.items()
            yield _sign(name, words, **dict(more))


def _reader(tool: str, of: Mapping[str, Any]) -> Reader:
    read = of.get("read", "")
    given: dict[str, Any] = {"body": re.compile(of["body"])} if "body" in of else {}
    return Reader(
        tool,
        partial(_read, read) if read else partial(by_line.explained, of),
        readable=of.get("paste", ""),
        programs=of.get("programs", ""),
        command=re.compile(of["command"]) if "command" in of else None,
        signs=tuple(_signs(of)),
        judges=tuple(of.get("judges", ())) if read else by_line.tables(of),
        flows=of.get("flows", False),
        rows_name_tools=of.get("rows_name_tools", False),
        install=of.get("install", ""),
        **given,
    )


READERS = tuple(_reader(tool, of) for tool, of in ROWS.items())
