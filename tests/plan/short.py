"""A pair in order, and one of which a link has frames that are too short."""

from __future__ import annotations

import re

from tests.plan.conftest import Host, converged, pair

NETDEV = "enp1s0f0np0"


def settled(b: str = "") -> list[Host]:
    return pair(converged("a"), b or converged("b"))


def short_frames() -> list[Host]:
    """The MTU of a link of spark-b was changed by hand."""
    text = re.sub(rf'("ifname":"{NETDEV}",[^{{}}]*?"mtu":)9000', r"\g<1>1500", converged("b"))
    assert text != converged("b")
    return settled(text)
