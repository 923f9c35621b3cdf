"""The condition of a host, and every verdict on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sparkrig.host import gpu as graphics
from sparkrig.host import health as hosts
from sparkrig.host import nic
from sparkrig.host.health import Health
from sparkrig.host.nic import Nic
from sparkrig.host.nvidia_smi import Gpu
from sparkrig.value import Value
from sparkrig.verdict import Finding, Verdict

# Nothing was there to be judged: a guest has no PCIe link and no sensor, an idle GPU shows no power clamp.
_DOES_NOT_APPLY = frozenset(
    {"virtual-link", "virtual-load", "inconclusive", "not-gb10", "no-temperature", "no-nvidia-module"}
)


@dataclass(frozen=True)
class Condition(Value):
    """NICs by netdev, GPU and health of a host."""

    nics: Mapping[str, Nic]
    gpu: Gpu
    health: Health

    @property
    def virtual(self) -> bool:
        """Whether the host is a virtual machine, by its fabric's NICs."""
        return any(each.virtual for each in self.nics.values())

    def to_json(self) -> Any:
        return {**super().to_json(), "nics": {netdev: found.to_json() for netdev, found in self.nics.items()}}


def verdicts(condition: Condition) -> dict[str, Verdict]:
    """Every verdict on a host by a stable id, those with nothing to judge by included."""
    found = {f"nic.{netdev}.pcie": nic.pcie(each) for netdev, each in condition.nics.items()}
    found["gpu.answers"] = graphics.answers(condition.gpu)
    if not condition.gpu.trouble:
        found["gpu.clock"] = graphics.power_clamp(condition.gpu)
        found["gpu.gsp"] = graphics.gsp(condition.gpu)
        found["gpu.temperature"] = graphics.temperature(condition.gpu)
    found["health.memory"] = hosts.memory(condition.health)
    found["health.load"] = load(condition)
    found["health.temperature"] = hosts.thermal(condition.health)
    found["health.kho"] = hosts.kho(condition.health)
    found["health.next-kernel"] = hosts.next_kernel(condition.health)
    found["health.cdi"] = hosts.cdi(condition.health)
    return found


def load(condition: Condition) -> Verdict:
    """Whether something else wants the processor; unknown ("virtual-load") for a guest: a login keeps it busy."""
    if condition.virtual:
        return Verdict("unknown", "virtual-load", "a virtual machine's load is mostly that of being emulated")
    return hosts.busy(condition.health)


def applies(verdict: Verdict) -> bool:
    """Whether there was something to judge by."""
    return verdict.cause not in _DOES_NOT_APPLY and bool(verdict.evidence)


def findings(condition: Condition, name: str) -> list[Finding]:
    """Every verdict on a host of that name, healthy ones included, without those with nothing to judge by."""
    return [
        Finding(_subject(name, id), verdict) for id, verdict in verdicts(condition).items() if applies(verdict)
    ]


def _subject(name: str, id: str) -> str:
    return f"{name} {id.removeprefix('nic.').removesuffix('.pcie')}" if id.startswith("nic.") else name
