"""Tables of examples, looped: an item of pytest for each row would cost more than what the row tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

LONGEST_NAME = 200


def each_row(rows: Iterable[Any], body: Callable[..., None]) -> None:
    """Call `body` with each row, a tuple or one value, or each value of a mapping, and name all rows that fail."""
    named = [*rows.items()] if isinstance(rows, Mapping) else [(row, row) for row in rows]
    assert named, "a table without a row shows nothing"
    failed: list[tuple[str, BaseException]] = []
    for name, row in named:
        try:
            body(*row) if isinstance(row, tuple) else body(row)
        except (Exception, pytest.fail.Exception) as error:
            failed.append((f"{name!r:.{LONGEST_NAME}}: {type(error).__name__}: {error}", error))
    if failed:
        said = "\n".join(each for each, _ in failed)
        raise AssertionError(f"{len(failed)} of {len(named)} rows fail:\n{said}") from failed[0][1]
