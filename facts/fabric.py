"""The fabric of a host and all that bears upon it, in one look: what a bandwidth verdict stands on."""

from __future__ import annotations

from sparkrig.fabric import survey
from sparkrig.facts.bundle import Bundle
from sparkrig.facts.files import Files
from sparkrig.facts.gpu import Gpu
from sparkrig.facts.health import Health
from sparkrig.facts.network import Network
from sparkrig.facts.nic import Nics
from sparkrig.facts.rdma import Rdma


class Fabric(Bundle[survey.Fabric]):
    """Network, RDMA, our files, NICs, GPU and health, read by one command."""

    nouns = {"network": Network, "rdma": Rdma, "files": Files, "nics": Nics, "gpu": Gpu, "health": Health}
    whole = survey.fabric
