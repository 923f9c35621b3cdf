"""What facts return: plain frozen data that pyinfra can print as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")
D = TypeVar("D")


class Value:
    """A base for the dataclasses of facts; `pyinfra --json INVENTORY fact sparkrig.facts.X` asks for `to_json`."""

    def to_json(self) -> Any:
        from pydantic_core import to_jsonable_python

        return to_jsonable_python(self)


@dataclass(frozen=True)
class Unread:
    """A host, or the schedule of an inventory, that could not be read, and why."""

    unread: str


def each_host(found: Mapping[str, T | Exception], document: Callable[[T], D]) -> dict[str, D | Unread]:
    """The document of each host that could be read, and why each other one could not be."""
    return {
        name: Unread(str(each)) if isinstance(each, Exception) else document(each) for name, each in found.items()
    }
