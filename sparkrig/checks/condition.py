"""The verdicts on NICs, GPU and health of a host, as checks."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.host import board, condition, gpu, health, nic
from sparkrig.host.board import Board
from sparkrig.host.condition import Condition
from sparkrig.resources.check import Check, Status
from sparkrig.resources.kind import CAUSES, Kind
from sparkrig.verdict import Verdict

KINDS = (
    Kind("nic.NETDEV.pcie", "health", "the NIC's PCIe link is x4 at 32 GT/s", "", CAUSES),
    Kind("gpu.answers", "health", "nvidia-smi shows the GPU", "", CAUSES),
    Kind("gpu.clock", "health", "under load the GPU's clock is not clamped", "", CAUSES),
    Kind("gpu.gsp", "health", "the GSP firmware is the driver's", "", CAUSES),
    Kind("gpu.temperature", "health", "the GPU is no warmer than it should be", "", CAUSES),
    Kind("health.memory", "health", "the host has memory enough to stay alive", "", CAUSES),
    Kind("health.temperature", "health", "the SoC is no warmer than it should be", "", CAUSES),
    Kind("health.kho", "health", "no kernel keeps the memory that RDMA needs", "", CAUSES),
    Kind("health.next-kernel", "health", "the kernel of the next boot has a driver", "", CAUSES),
    Kind("health.cdi", "health", "the CDI files name what is there", "", CAUSES),
    Kind("health.rj45", "health", "the RJ45 keeps its link, at its speed and with its own driver", "", CAUSES),
    Kind("health.wifi", "health", "Wi-Fi that is in use hears its access point", "", CAUSES),
    Kind("health.nvme", "health", "the NVMe answers, is writable and not worn", "", CAUSES),
    Kind("health.log", "health", "the kernel logged no known sign of trouble since it booted", "", CAUSES),
    Kind("health.crash", "health", "the kernel left no crash record of late", "", CAUSES),
    Kind("health.hotplug", "health", "the ConnectX-7 is there, or away for want of a cable", "", CAUSES),
    Kind("health.swap", "health", "little memory is swapped out", "", CAUSES),
    Kind("health.units", "health", "systemd calls no unit failed", "", CAUSES),
    Kind("health.modules", "health", "DKMS built its modules for the running kernel", "", CAUSES),
    Kind("health.firmware", "health", "no release closes what is open in the firmware", "", CAUSES),
)

_WANTS = {
    "gpu.answers": "nvidia-smi tells of a GPU",
    "gpu.clock": f"{gpu.HEALTHY_FROM_MHZ} MHz and more under load, or a cap that was set",
    "gpu.gsp": "GSP firmware of the driver's version",
    "gpu.temperature": "below its limit (T.Limit), and not slowed by heat",
    "health.memory": f"{health.MEMORY_FLOOR_PERCENT} % of the memory available",
    "health.temperature": f"up to {health.SOC_HOT_ABOVE_C} C",
    "health.kho": "no memory kept for a kexec handover (CmaFree beyond CmaTotal)",
    "health.next-kernel": "the kernel of the next boot has the nvidia.ko of this one",
    "health.cdi": "CDI files name what is there",
    "health.rj45": f"a link of {board.SLOW_BELOW_MBPS} Mb/s and more that stays, by the driver r8127",
    "health.wifi": f"a signal of {board.WEAK_BELOW_DBM} dBm and more",
    "health.nvme": f"live and writable, without media errors, worn by less than {board.WORN_FROM_PERCENT} %",
    "health.log": "no known sign of trouble in the kernel's log",
    "health.crash": f"no crash record of the last {board.CRASH_DAYS} days",
    "health.hotplug": "the ConnectX-7, or no cable",
    "health.swap": f"up to {board.SWAPPED_ABOVE_GIB} GiB swapped out",
    "health.units": "no failed unit",
    "health.modules": "each module of DKMS installed",
    "health.firmware": "versions that close what NVIDIA's bulletins name",
}
_PCIE = f"PCIe x{nic.PCIE_WIDTH} at {nic.PCIE_SPEED_GTS:g} GT/s"
_NO_CHECK = "health.load"  # a host that works is no sick one; it explains a measurement


def checks(found: Condition) -> Iterator[Check]:
    for id, verdict in condition.verdicts(found).items():
        if id != _NO_CHECK:
            yield judged(id, _WANTS.get(id, _PCIE), verdict)


def of_board(found: Board) -> Iterator[Check]:
    """What is checked of a host apart from GPU and fabric."""
    for id, verdict in board.verdicts(found).items():
        yield judged(id, _WANTS[id], verdict)


def judged(id: str, want: str, verdict: Verdict) -> Check:
    """A verdict as a check."""
    found = verdict.evidence or "there is nothing to judge by"
    return Check(id, want, found, _status(verdict), verdict.cure, environment=True, cause=verdict.cause)


def _status(verdict: Verdict) -> Status:
    """One that is unknown, and about which there is nothing to do, does not apply here."""
    if not condition.applies(verdict) or (verdict.level == "unknown" and not verdict.cure):
        return "skipped"
    statuses: dict[str, Status] = {"healthy": "ok", "unknown": "unknown"}
    return statuses.get(verdict.level, "drift")
