"""What one Spark is, every noun of it, as one look saw it."""

from __future__ import annotations

from dataclasses import dataclass

from sparkrig.files import Found
from sparkrig.host.containers import Containers
from sparkrig.host.driver import Packages
from sparkrig.host.identity import Identity
from sparkrig.host.preflight import Preflight
from sparkrig.host.secrets import Secrets
from sparkrig.host.trust import Trust
from sparkrig.network.seen import Network
from sparkrig.rdma.rdma import Rdma
from sparkrig.serving.served import Serving
from sparkrig.value import Value


@dataclass(frozen=True)
class State(Value):
    """What a Spark is, by noun."""

    identity: Identity
    packages: Packages
    network: Network
    rdma: Rdma
    containers: Containers
    files: dict[str, Found]
    secrets: Secrets
    trust: Trust
    serving: Serving
    preflight: Preflight
