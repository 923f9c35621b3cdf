"""What one Spark is, resource by resource, as one look saw it; what was not asked for is never taken for read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sparkrig.files import Found
from sparkrig.host.blackbox import BlackBox
from sparkrig.host.board import Board
from sparkrig.host.condition import Condition
from sparkrig.host.driver import Packages
from sparkrig.host.health import Health
from sparkrig.host.identity import Identity
from sparkrig.host.nic import Nic
from sparkrig.host.nvidia_smi import Gpu
from sparkrig.host.own_address import OwnAddress
from sparkrig.host.preflight import Preflight
from sparkrig.host.releases import Releases
from sparkrig.network.rdma import Rdma
from sparkrig.network.seen import Network
from sparkrig.resources.bandwidth import BANDWIDTH
from sparkrig.resources.clock import CLOCK
from sparkrig.resources.containers import CONTAINERS, Containers
from sparkrig.resources.docker import DOCKER
from sparkrig.resources.driver import DRIVER
from sparkrig.resources.environment import ENVIRONMENT
from sparkrig.resources.firewall import FIREWALL
from sparkrig.resources.headless import HEADLESS
from sparkrig.resources.hostname import HOSTNAME
from sparkrig.resources.identity import IDENTITY
from sparkrig.resources.login import LOGIN
from sparkrig.resources.network import NETWORK
from sparkrig.resources.oom import OOM
from sparkrig.resources.preflight import HOST_PREFLIGHT
from sparkrig.resources.ray import RAY
from sparkrig.resources.rdma import RDMA
from sparkrig.resources.releases import RELEASES
from sparkrig.resources.resource import Resource
from sparkrig.resources.secrets import SECRETS, Secrets
from sparkrig.resources.serving import SERVING
from sparkrig.resources.swap import SWAP_FILE
from sparkrig.resources.time import TIME, Time
from sparkrig.resources.trust import TRUST, Trust
from sparkrig.resources.watch import WATCH
from sparkrig.serving.served import Serving
from sparkrig.value import Value

# Every resource, in the order of a deploy. One that a look reads has a field of State by its name.
RESOURCES: tuple[Resource[Any], ...] = (
    IDENTITY,
    HOST_PREFLIGHT,
    DRIVER,
    RELEASES,
    TIME,
    HOSTNAME,
    HEADLESS,
    SWAP_FILE,
    OOM,
    CLOCK,
    NETWORK,
    FIREWALL,
    LOGIN,
    RDMA,
    CONTAINERS,
    DOCKER,
    ENVIRONMENT,
    SECRETS,
    TRUST,
    WATCH,
    BANDWIDTH,
    RAY,
    SERVING,
)


class _Unread:
    """In the place of what a look did not ask for: whatever uses it fails, and never sees an empty host."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what copy and its like ask of any object
            raise AttributeError(name)
        raise LookupError(f"this look did not ask for what has {name!r}")


UNREAD: Any = _Unread()


@dataclass(frozen=True)
class State(Value):
    """What a Spark is, by resource.

    A deploy's look has all but the last six; that of the fabric's verbs network, rdma, files, nics, gpu, health;
    a doctor's everything (facts/spark.py, facts/fabric.py, facts/examination.py). others: by name, what nothing
    but its resource asks for (`Resource.seen`).
    """

    identity: Identity = UNREAD
    driver: Packages = UNREAD
    releases: Releases = UNREAD
    time: Time = UNREAD
    network: Network = UNREAD
    rdma: Rdma = UNREAD
    containers: Containers = UNREAD
    files: Mapping[str, Found] = UNREAD
    secrets: Secrets = UNREAD
    trust: Trust = UNREAD
    serving: Serving = UNREAD
    preflight: Preflight = UNREAD
    nics: Mapping[str, Nic] = UNREAD
    gpu: Gpu = UNREAD
    health: Health = UNREAD
    board: Board = UNREAD
    own_address: OwnAddress = UNREAD
    blackbox: BlackBox = UNREAD
    others: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, **read: Any) -> State:
        """Of what a look read, by the names of resources and of the nouns beside them."""
        others = {name: read.pop(name) for name in read.keys() - {each.name for each in fields(cls)}}
        return cls(**read, others=others)

    def read(self, name: str) -> Any:
        """What was read of a resource, by its name."""
        return self.others[name] if name in self.others else getattr(self, name, UNREAD)

    @property
    def condition(self) -> Condition:
        """How the host is, for its verdicts."""
        return Condition(self.nics, self.gpu, self.health)

    def over(self, before: State) -> State:
        """The same with what another look saw, of what this one did not ask for."""
        unread = {each.name for each in fields(self) if getattr(self, each.name) is UNREAD}
        others = {**before.others, **self.others}
        return replace(self, others=others, **{name: getattr(before, name) for name in unread})

    def to_json(self) -> Any:
        """What was read."""
        from pydantic_core import to_jsonable_python

        found = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "others"}
        read = {name: value for name, value in {**found, **self.others}.items() if value is not UNREAD}
        if "nics" in read:
            read["nics"] = {netdev: each.to_json() for netdev, each in self.nics.items()}  # without serial numbers
        return to_jsonable_python(read)
