"""Waiting for a condition, with a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from lab.errors import LabError

# Emulation runs a guest this many times slower than KVM does; every deadline on a guest is stretched by it.
STRETCH = {"kvm": 1, "tcg": 8}
INTERVAL_S = 0.1

# Set once a person has pressed Ctrl-C, so that no thread goes on waiting.
cancelled = threading.Event()


def wait_until(condition: Callable[[], bool], seconds: float, *, happened: str, attempt: str) -> None:
    """Returns as soon as `condition()` holds; LabError (`happened`) when it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise LabError(happened, expected=f"within {seconds:.0f} s", attempt=attempt)
        if cancelled.wait(INTERVAL_S):
            raise LabError("interrupted", expected="to be let finish", attempt=attempt)
