"""What facts return: plain frozen data that pyinfra can print as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class Value:
    """A base for the dataclasses of facts; `pyinfra --json INVENTORY fact sparkrig.facts.X` asks for `to_json`."""

    def to_json(self) -> Any:
        from pydantic_core import to_jsonable_python

        return to_jsonable_python(self)


@dataclass(frozen=True)
class Unread:
    """A host, or the schedule of an inventory, that could not be read, and why."""

    unread: str
