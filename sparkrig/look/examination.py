"""Everything that one exec tells of a host: what it is, how it is, and what its own name leads to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sparkrig.fabric.survey import Fabric
from sparkrig.host.condition import Condition
from sparkrig.host.health import Health
from sparkrig.host.hostname import Hostname
from sparkrig.host.nic import Nic
from sparkrig.host.nvidia_smi import Gpu
from sparkrig.look.state import State
from sparkrig.value import Value


@dataclass(frozen=True)
class Examination(Value):
    """One host as it was found."""

    state: State
    condition: Condition
    hostname: Hostname

    @property
    def fabric(self) -> Fabric:
        return Fabric(self.state.network, self.state.rdma, self.state.files, self.condition)


def whole(nics: dict[str, Nic], gpu: Gpu, health: Health, hostname: Hostname, **parts: Any) -> Examination:
    """An Examination of its nouns; parts: those of a State."""
    return Examination(State(**parts), Condition(nics, gpu, health), hostname)
