"""What one Spark is, every noun of it, as one look saw it."""

from __future__ import annotations

from dataclasses import dataclass

from sparkrig.containers import Containers
from sparkrig.driver import Packages
from sparkrig.files import Found
from sparkrig.identity import Identity
from sparkrig.network import Network
from sparkrig.preflight import Preflight
from sparkrig.rdma import Rdma
from sparkrig.secrets import Secrets
from sparkrig.serving.served import Serving
from sparkrig.trust import Trust
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
