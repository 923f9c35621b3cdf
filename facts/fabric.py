"""The fabric of a host and all that bears upon it, in one look: what a bandwidth verdict stands on."""

from __future__ import annotations

from sparkrig.facts.bundle import Bundle
from sparkrig.facts.files import Files
from sparkrig.facts.gpu import Gpu
from sparkrig.facts.health import Health
from sparkrig.facts.nic import Nics
from sparkrig.facts.resources import FACTS
from sparkrig.resources.state import State


class Fabric(Bundle[State]):
    """Network, RDMA, our files, NICs, GPU and health, read by one command."""

    nouns = {
        "network": FACTS["network"],
        "rdma": FACTS["rdma"],
        "files": Files,
        "nics": Nics,
        "gpu": Gpu,
        "health": Health,
    }
    whole = State
