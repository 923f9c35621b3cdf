"""What deploys and operations keep for the length of one run of pyinfra: with pyinfra's own state of it."""

from __future__ import annotations

from typing import Any, TypeVar

from pyinfra.context import ctx_state

T = TypeVar("T")


def of_run(kind: type[T], run: Any = None) -> T:
    """The one value of a kind that a run has, made where it is first asked for. run: None for the one at work."""
    kept: T = vars(run or ctx_state.get()).setdefault(f"{kind.__module__}.{kind.__qualname__}", kind())
    return kept
