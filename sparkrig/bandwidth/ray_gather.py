"""What an all_gather over a standing Ray cluster showed (templates/ray_gather.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sparkrig.parsing import bounds

SIZE = 64 * 2**20  # bytes of each rank: fits the smallest object store that a setting allows
_NAMES = {"nccl": "NCCL", "gloo": "gloo", "objects": "Ray's objects"}


@dataclass(frozen=True)
class Gathered:
    """One all_gather.

    nodes: addresses; transport: what NCCL's channels go by, such as IB, Socket or P2P, else TCP; bytes: of all
    ranks; seconds: of the slowest rank; wrong: ranks that got a wrong byte.
    """

    nodes: tuple[str, ...]
    backend: Literal["nccl", "gloo", "objects"]
    transport: str
    bytes: int
    seconds: float
    wrong: int

    @property
    def busbw(self) -> float:
        """Bus bandwidth in GB/s (10^9), as nccl-tests has it."""
        return self.bytes / self.seconds / 1e9 * (len(self.nodes) - 1) / len(self.nodes)

    @property
    def fault(self) -> str:
        """What is wrong with it, in words; empty where nothing is."""
        if self.wrong:
            return f"{self.wrong} of {len(self.nodes)} ranks got wrong bytes"
        if self.backend == "nccl" and len(self.nodes) > 1 and not self.transport.startswith("IB"):
            return f"NCCL went over {self.transport or 'an unknown network'}, and IB is expected"
        return ""

    def __str__(self) -> str:
        size = f"{self.bytes / 2**20:.0f} MiB over {len(self.nodes)} nodes"
        way = f"{_NAMES[self.backend]} over {self.transport or 'no network'}"
        return f"all_gather of {size}: {self.busbw:.2f} GB/s by {way}"


def parse(printed: str) -> Gathered | None:
    """What the job printed; None where it printed no figures."""
    row = next((row for row in reversed(printed.splitlines()) if row.startswith("sparkrig-ray {")), "")
    try:
        found = bounds.loads(row.removeprefix("sparkrig-ray "))
        nodes, numbers = tuple(map(str, found["nodes"])), (int(found["bytes"]), float(found["seconds"]))
        backend, transport = found["backend"], str(found["transport"])[:20]
        made = Gathered(nodes, backend, transport, *numbers, int(found["wrong"]))
    except (ValueError, LookupError, TypeError):
        return None
    return made if made.backend in _NAMES and made.nodes and made.seconds > 0 else None
