"""Hosts that are asked one after the other, in the place of sparkrig.ssh.remote.each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sparkrig.ssh.remote import Failed, Lost


def in_turn(hosts: Mapping[str, Any], ask: Callable[[Any], Any]) -> dict[str, Any]:
    """What each answered, or the trouble that it had."""
    found: dict[str, Any] = {}
    for name, at in hosts.items():
        try:
            found[name] = ask(at)
        except (Failed, Lost) as error:
            found[name] = error
    return found
