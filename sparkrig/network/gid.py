"""The RoCE GID table of a host, and which index carries a rail.

This file also runs on the hosts themselves, beside refresh_gid.py, because the index moves when a link
comes up again: standard library only, and nothing of ours imported.

Sources: the kernel's sysfs files, [@capetron]; the index moves [@nccl-1333, @nccl-2157, @nccl-2183]; soft-RoCE on
the virtual pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address

ROCE_V2 = "RoCE v2"
BLOCK_BEGIN = "# gid: begin (kept current by /usr/local/lib/sparkrig/refresh_gid.py)"
BLOCK_END = "# gid: end"
BEGINS = BLOCK_BEGIN.partition(" (")[0]
# how each line of ours in it begins; another one's lines may stand there, too
OURS = (
    BEGINS,
    BLOCK_END,
    "# One index does not fit: ",
    "NCCL_IB_GID_INDEX=",
    "NCCL_IB_ROCE_VERSION_NUM=",
    "NCCL_IB_ADDR_FAMILY=",
    "NCCL_IB_ADDR_RANGE=",
)

# One grep reads the 1024 slots of every port; the kernel refuses to name the type of an empty one.
COMMAND = r"""
grep -Hv '^0000:0000:0000:0000:0000:0000:0000:0000$' /sys/class/infiniband/*/ports/*/gids/* 2>/dev/null |
while IFS= read -r row; do
  path=${row%%:*}; slot=${path##*/}; port=${path%/gids/*}
  device=${port#/sys/class/infiniband/}; device=${device%%/*}
  { read -r type <"$port/gid_attrs/types/$slot"; } 2>/dev/null || continue
  { read -r netdev <"$port/gid_attrs/ndevs/$slot"; } 2>/dev/null || netdev=
  printf 'gid|%s|%s|%s|%s|%s|%s\n' "$device" "${port##*/}" "$slot" "${row#*:}" "$type" "$netdev"
done
"""


@dataclass(frozen=True)
class Gid:
    """One used slot of a port's GID table."""

    device: str
    port: int
    index: int
    address: IPv6Address
    type: str
    netdev: str

    @property
    def ipv4(self) -> IPv4Address | None:
        """The IPv4 address that this GID maps, or None."""
        return self.address.ipv4_mapped


@dataclass(frozen=True)
class Choice:
    """How NCCL is told which GID to use: one index, or the way round where the devices differ.

    index: the one index of every rail, or None; why: the reason where there is none;
    subnets: the rails' networks.
    """

    index: int | None
    why: str
    subnets: tuple[IPv4Network, ...]


def parse(lines: Iterable[str]) -> list[Gid]:
    """Read the rows that COMMAND prints. Raises ValueError for a row that makes no sense."""
    table = []
    for line in lines:
        if not line.startswith("gid|"):
            continue
        fields = line.split("|")
        if len(fields) != 7:
            raise ValueError(f"cannot read the GID row {line!r}")
        _, device, port, index, address, kind, netdev = fields
        table.append(Gid(device, int(port), int(index), IPv6Address(address), kind, netdev))
    return sorted(table, key=lambda gid: (gid.device, gid.port, gid.index))


def find(table: Iterable[Gid], netdev: str, address: IPv4Address) -> Gid | None:
    """The RoCE v2 GID of that IPv4 address on that netdev; the lowest index where it stands twice."""
    return next(
        (gid for gid in table if gid.netdev == netdev and gid.ipv4 == address and gid.type == ROCE_V2), None
    )


def missing(table: Iterable[Gid], rails: Mapping[str, IPv4Interface]) -> list[str]:
    """The rails that have no RoCE v2 GID, as `NETDEV (ADDRESS)`."""
    rows = list(table)
    return [f"{netdev} ({rail.ip})" for netdev, rail in rails.items() if find(rows, netdev, rail.ip) is None]


def choose(table: Iterable[Gid], rails: Mapping[str, IPv4Interface]) -> Choice:
    """One index where every rail has the same, else the address-family route, with the reason.

    NCCL_IB_GID_INDEX is one number for every device of a rank. Raises ValueError where a rail has no GID.
    """
    rows = list(table)
    absent = missing(rows, rails)
    if absent:
        raise ValueError(f"no RoCE v2 GID for {', '.join(absent)}")
    found = [gid for netdev, rail in rails.items() if (gid := find(rows, netdev, rail.ip))]
    subnets = tuple(rail.network for rail in rails.values())
    indexes = sorted({gid.index for gid in found})
    if len(indexes) == 1:
        return Choice(indexes[0], "", subnets)
    why = ", ".join(f"{gid.device} has its GID at {gid.index}" for gid in found)
    return Choice(None, why, subnets)


def variables(choice: Choice) -> dict[str, str]:
    """The NCCL variables of a choice."""
    if choice.index is not None:
        return {"NCCL_IB_GID_INDEX": str(choice.index)}
    found = {"NCCL_IB_ROCE_VERSION_NUM": "2", "NCCL_IB_ADDR_FAMILY": "AF_INET"}
    common = _supernet(choice.subnets)
    if common is not None:
        found["NCCL_IB_ADDR_RANGE"] = str(common)
    return found


def block(choice: Choice) -> str:
    """The lines that the environment files carry between BLOCK_BEGIN and BLOCK_END, both included."""
    lines = [BLOCK_BEGIN]
    if choice.index is None:
        lines.append(f"# One index does not fit: {choice.why}.")
    lines += [f"{name}={value}" for name, value in variables(choice).items()]
    return "\n".join([*lines, BLOCK_END])


def replace_block(text: str, new: str) -> str:
    """`text` with its GID block replaced, behind which others' lines in it go. Raises ValueError without one."""
    begin, end = text.find(BLOCK_BEGIN), text.find(BLOCK_END)
    if begin < 0 or end < begin:
        raise ValueError("the file has no GID block")
    theirs = [line for line in text[begin:end].splitlines() if line.strip() and not line.startswith(OURS)]
    return text[:begin] + "\n".join([new, *theirs]) + text[end + len(BLOCK_END) :]


def _supernet(subnets: tuple[IPv4Network, ...]) -> IPv4Network | None:
    """The smallest network that holds them all, unless it would hold half the world."""
    common = subnets[0]
    while not all(network.subnet_of(common) for network in subnets):
        common = common.supernet()
        if common.prefixlen < 8:
            return None
    return common
