"""What a host that serves answers."""

from __future__ import annotations

from tests.unit.startups import recorded, rows


def text(name: str, now: float = 1000) -> str:
    return "\n".join(rows(recorded(name), now=now)) + "\n"
