"""A noun that is looked at again in the middle of a run, since the first look may be out of date."""

from __future__ import annotations

from typing import Any, TypeVar

from pyinfra import host
from pyinfra.api import FactBase

from sparkrig.cure import look_at
from sparkrig.refusal import Refusal

T = TypeVar("T")


def again(fact: type[FactBase[T]], **given: Any) -> T:
    """What stands on this host now. given: what the fact is asked with.

    Raises Refusal where it cannot be read; pyinfra has printed why.
    """
    found: Any = host.get_fact(fact, **given, _ignore_errors=True)
    if found is None:
        raise Refusal(
            f"{fact.__name__.lower()}: could not be read again (the lines above say why)",
            look_at(host.name, f"{fact.__module__}.{fact.__name__}"),
        )
    return found  # type: ignore[no-any-return]
