"""What every reader of a tool's output takes and returns; the names of a Spark's ports."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sparkrig.fabric.cabling import CAGE_SPEED_MBPS
from sparkrig.verdict import Finding, Verdict

PATH_MTU = 4096
CAGE_GBPS = CAGE_SPEED_MBPS / 1000
# The bands are of messages of 64 KiB. Half of that still fills a link; a message of a few bytes does not.
LEAST_MESSAGE = 32768

# The netdevs and RDMA devices of a Spark's cages [@nvidia-two-sparks]: the half, and the cage.
CAGE = re.compile(r"(?:en|roce)(p1|P2p1)s0f([01])(?:np[01])?")


@dataclass(frozen=True)
class Explained:
    """What one tool printed, explained.

    read: what was read, with units, in one line; notes: what is worth knowing and is no verdict, as sentences
    without a full stop.
    """

    tool: str
    read: str
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Explain:
    """What each tool's output in a paste means."""

    schema: Literal["sparkrig.explain/1"] = "sparkrig.explain/1"
    explained: list[Explained]


@dataclass(frozen=True)
class Around:
    """What the rest of the paste shows.

    suspects: verdicts on PCIe links; written: NCCL_IB_GID_INDEX; devices: RDMA devices that it shows on a cage's
    netdev, whatever their names (mlx5_0); prefixes: the prefix length of each IPv4 address that has one;
    prose: whether other lines than what the tools printed and what started them are in it.
    """

    suspects: tuple[Verdict, ...] = ()
    written: int | None = None
    devices: frozenset[str] = frozenset()
    prefixes: Mapping[str, str] = field(default_factory=dict)
    prose: bool = False


def size_of(count: int) -> str:
    """`64 KiB`. count: of bytes."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} byte{'' if count == 1 else 's'}"
