"""The fabric of a host and all that bears upon it, in one look: what a bandwidth verdict stands on."""

from __future__ import annotations

from facts.bundle import Bundle
from facts.files import Files
from facts.gpu import Gpu
from facts.health import Health
from facts.network import Network
from facts.nic import Nics
from facts.rdma import Rdma
from sparkrig.fabric import survey


class Fabric(Bundle[survey.Fabric]):
    """Network, RDMA, our files, NICs, GPU and health, read by one command."""

    nouns = {"network": Network, "rdma": Rdma, "files": Files, "nics": Nics, "gpu": Gpu, "health": Health}
    whole = survey.fabric
