"""Tables of examples, looped: an item of pytest for each row would cost more than what the row tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from sparkrig.parsing import safe_yaml

LONGEST_NAME = 200


class Row(dict[str, Any]):
    """A row of a table in a file: a value for each argument of what tests it."""


def data(file: Path | str) -> Any:
    """What a YAML file has, or the one beside a test module (`__file__`); by libyaml, in a tenth of the time."""
    return yaml.load(Path(file).with_suffix(".yaml").read_text(encoding="utf-8"), Loader=safe_yaml.FAST)


def table(module: str, name: str) -> dict[str, Row]:
    """The rows of a table, by their names, from the YAML file of a test module (`__file__`) beside it."""
    return {row: Row(fields) for row, fields in data(module)[name].items()}


def rows(module: str, name: str) -> Any:
    """The rows of a table as plain values, a tuple of arguments each: for `each_row` or a parametrize list."""
    found = data(module)[name]
    if isinstance(found, dict):
        return {key: tuple(row) if isinstance(row, list) else row for key, row in found.items()}
    return [tuple(row) if isinstance(row, list) else row for row in found]


def tabled(module: str, name: str) -> pytest.MarkDecorator:
    """A test for each row of such a table, an item of pytest each, for rows that need fixtures of their own."""
    rows = table(module, name)
    fields = [*next(iter(rows.values()))]
    return pytest.mark.parametrize(
        fields, [[row[field] for field in fields] for row in rows.values()], ids=[*rows]
    )


def each_row(rows: Iterable[Any], body: Callable[..., None]) -> None:
    """Call `body` with each row (a tuple, a Row, one value) or each of a mapping, and name all that fail."""
    named = [*rows.items()] if isinstance(rows, Mapping) else [(row, row) for row in rows]
    assert named, "a table without a row shows nothing"
    failed: list[tuple[str, BaseException]] = []
    for name, row in named:
        try:
            if isinstance(row, Row):
                body(**row)
            else:
                body(*row) if isinstance(row, tuple) else body(row)
        except (Exception, pytest.fail.Exception) as error:
            failed.append((f"{name!r:.{LONGEST_NAME}}: {type(error).__name__}: {error}", error))
    if failed:
        reasons = "\n".join(reason for reason, _ in failed)
        raise AssertionError(f"{len(failed)} of {len(named)} rows fail:\n{reasons}") from failed[0][1]
