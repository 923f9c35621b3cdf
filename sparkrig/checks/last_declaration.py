"""What the last whole deploy declared of a host, kept there: it shows which moved, the host or the declaration.

Source: Puppet's corrective against intentional change [@puppet-run-statuses].
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sparkrig.files import Found
from sparkrig.parsing import bounds
from sparkrig.resources.check import Check
from sparkrig.text import bare_name

NONE = "no deploy is recorded"


@dataclass(frozen=True)
class Declared:
    """What each check wanted, by its id. at: when, in seconds since 1970 by the controller's clock."""

    at: float = 0.0
    wants: Mapping[str, str] = field(default_factory=dict)


def of(checks: Iterable[Check], at: float) -> Declared:
    """What these checks want."""
    return Declared(at, {check.id: check.want for check in checks})


def dump(declared: Declared) -> str:
    """The text of the file."""
    return json.dumps({"at": round(declared.at), "wants": dict(declared.wants)}, indent=1) + "\n"


def unkept(kept: Mapping[str, Found | None], name: str) -> str:
    """Why what a whole deploy declared is not kept, or empty. Absent: only parts of it were deployed, for one.

    kept: the file of each host of a group; name: of the host that this is said of.
    """
    for each, file in kept.items():
        whose = "" if each == name else f"that of {bare_name(each)} is "
        if file is None:
            return f"{whose}absent"
        if load(file) is None:
            return f"{whose}damaged"
    return ""


def load(file: Found | None) -> Declared | None:
    """What was kept; None where nothing was, or where it is not ours to understand."""
    try:
        document = bounds.loads(file.content) if file else {}
        return Declared(
            bounds.finite(str(document["at"])), {str(id): str(want) for id, want in document["wants"].items()}
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
