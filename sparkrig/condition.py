"""How a host is, and everything that is to be said about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sparkrig import gpu as graphics
from sparkrig import health as hosts
from sparkrig import nic
from sparkrig.gpu import Gpu
from sparkrig.health import Health
from sparkrig.measurement import Finding
from sparkrig.nic import Nic
from sparkrig.value import Value

# Nothing was there to be judged: a guest has no PCIe link and no sensor, an idle GPU shows no power clamp.
_DOES_NOT_APPLY = frozenset({"virtual-link", "inconclusive", "not-gb10", "no-temperature", "no-nvidia-module"})


@dataclass(frozen=True)
class Condition(Value):
    """NICs by netdev, GPU and health of a host."""

    nics: Mapping[str, Nic]
    gpu: Gpu
    health: Health

    def to_json(self) -> Any:
        return {**super().to_json(), "nics": {netdev: found.to_json() for netdev, found in self.nics.items()}}


def findings(condition: Condition, name: str) -> list[Finding]:
    """Every verdict on a host of that name, healthy ones included, but for what there was nothing to judge by."""
    verdicts = [(f"{name} {netdev}", nic.pcie(found)) for netdev, found in condition.nics.items()]
    judges = [graphics.answers]
    if not condition.gpu.trouble:
        judges += [graphics.power_clamp, graphics.gsp, graphics.temperature]
    verdicts += [(name, judge(condition.gpu)) for judge in judges]
    verdicts += [
        (name, judge(condition.health))
        for judge in (hosts.memory, hosts.busy, hosts.thermal, hosts.kho, hosts.next_kernel, hosts.cdi)
    ]
    return [
        Finding(subject, verdict)
        for subject, verdict in verdicts
        if verdict.cause not in _DOES_NOT_APPLY and verdict.evidence
    ]
