"""NIC, GPU and health of a host in one look: how a Spark is."""

from __future__ import annotations

from facts.bundle import Bundle
from facts.gpu import Gpu
from facts.health import Health
from facts.nic import Nics
from sparkrig import condition


class Condition(Bundle[condition.Condition]):
    """What a bandwidth verdict needs to know about the two ends, read by one command."""

    nouns = {"nics": Nics, "gpu": Gpu, "health": Health}
    whole = condition.Condition
