"""A pair of recorded Sparks that is looked at before an update, and what apt would do to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.plan import recordings
from tests.plan.conftest import Host, joined, sections
from tests.plan.walk import halves
from tests.unit import updates

LOOK, FORECAST = "#sparkrig:end identity", "Dir::State::Status"
NOW = 1_795_600_000
KERNEL, DRIVER = "6.17.0-1032", "580.178.04-0ubuntu0.24.04.1"
IDLE = ["simulated 0", "bytes 0"]


def look(unit: str, letter: str, *more: str, **other: Any) -> list[str]:
    """What a recorded Spark prints after a deploy. more: rows of what the repositories have."""
    parts = sections(recordings.deployed(unit, letter))
    held = [f"held {name}" for name in recordings.hold_set(unit)]
    found = {
        "identity": parts["identity"],
        "driver": parts["driver"],
        "serving": parts["serving"],
        "releases": "\n".join(updates.rows(unit)),
        "firmware": "\n".join(updates.board(unit)),
        "repositories": "\n".join([f"now {NOW}", f"lists {NOW - 3600}", *held, *more]),
        "preflight": parts["preflight"],
        **other,
    }
    return joined(found).splitlines()


def spark(host: Host, seen: Sequence[str], forecast: Sequence[str] = IDLE) -> Host:
    host.first = {**host.first, LOOK: [*seen], FORECAST: [*forecast]}
    return host


def pair(a: Sequence[str], b: Sequence[str], forecast: Sequence[str] = IDLE) -> list[Host]:
    one, other = halves()
    return [spark(one, a, forecast), spark(other, b, forecast)]


def ahead(unit: str) -> list[str]:
    """apt's forecast of the step to KERNEL and DRIVER, as apt-get -s prints it."""
    rows = []
    for name, version in recordings.packages(unit).items():
        if version.startswith("580."):
            rows.append(f"Inst {name} [{version}] ({DRIVER} Ubuntu:24.04/noble-updates [arm64])")
        elif name.startswith("linux-") and name.endswith("-nvidia-hwe-24.04"):
            rows.append(f"Inst {name} [{version}] ({KERNEL}.32 Ubuntu:24.04/noble-updates [arm64])")
    new = [f"linux-image-{KERNEL}-nvidia", f"linux-modules-nvidia-580-open-{KERNEL}-nvidia"]
    rows += [f"Inst {name} ({KERNEL}.32 Ubuntu:24.04/noble-updates [arm64])" for name in new]
    return [*rows, "simulated 0", "bytes 606000000", "from ports.ubuntu.com 606000000"]


def every(unit: str) -> list[str]:
    """The repositories have each package as it is."""
    return [f"version {name} {version}" for name, version in recordings.packages(unit).items()]
