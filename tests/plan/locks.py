"""Locks that are held."""

from __future__ import annotations

import json

from sparkrig.runs import lock

HELD = json.dumps(
    {
        "since": 1795230000,
        "boot": "b",
        "from": "10.0.2.2",
        "by": json.loads(lock.given("R", "ann@laptop", "x", "0")),
    }
)
