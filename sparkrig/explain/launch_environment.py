"""The variables of a launch that NCCL, Gloo, UCX and vLLM read: NAME=VALUE of a file, shell, docker or mpirun."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sparkrig.explain.cages import Netdev
from sparkrig.explain.explanation import CAGE, Around, Explained, Piece
from sparkrig.text import listed
from sparkrig.verdict import Finding, Verdict

_NAMES = r"(?:NCCL_(?!DEBUG)|UCX_|GLOO_|TP_SOCKET|VLLM_HOST_IP|OMPI_MCA_)[A-Za-z0-9_]*"
_SET = re.compile(
    rf"(?:^|[\s\"'])(?:CONTAINER_)?(?P<name>{_NAMES})[\"']?[ \t]*[=:][ \t]*[\"']?(?P<value>[^\s\"'\\;#]{{0,200}})"
)
_BOTH_TWINS = (
    "NCCL_IB_HCA=rocep1s0f0,roceP2p1s0f0 for cage p0, rocep1s0f1,roceP2p1s0f1 for p1; rdma link shows which is up"
)
_A_NETDEV = "enp1s0f0np0 for cage p0, enp1s0f1np1 for p1, or enP7s7; ip -br addr shows which is up, on each host"
_HCA = re.compile(r"=?\^?(?P<name>[\w.-]+)(?::\d+)?")
_RDMA_NAME = re.compile(r"(?:mlx|roce|ib|rxe)[\w.-]*")
_SOCKETS = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
_ALL = ("", "roce", "=roce", "rocep", "roceP")


def explained(piece: Piece, around: Around) -> Explained:
    rows = [(row["name"], row["value"]) for line in piece.lines for row in _SET.finditer(line) if row["value"]]
    if not rows:
        raise ValueError("no variable of NCCL, UCX, Gloo or vLLM has a value here")
    values = dict(rows)
    verdicts = [
        *_devices(values, around),
        *_sockets(values),
        *_off(values),
        *_one_address([value for name, value in rows if name == "VLLM_HOST_IP"]),
    ]
    notes = tuple(_notes(values))
    if not verdicts and not notes:
        verdicts = [Verdict("healthy", evidence="nothing in it keeps NCCL from RDMA")]
    read = ", ".join(f"{name}={value}" for name, value in values.items())
    return Explained(piece.tool, read, tuple(Finding("the launch", verdict) for verdict in verdicts), notes)


def _devices(values: Mapping[str, str], around: Around) -> Iterator[Verdict]:
    for variable in ("NCCL_IB_HCA", "UCX_NET_DEVICES"):
        value = values.get(variable, "")
        names = [row["name"] for word in value.split(",") if (row := _HCA.fullmatch(word))]
        if not names or names == ["all"] or "^" in value:
            continue
        unknown = [name for name in names if _no_device(name, variable) and name not in around.devices]
        if unknown == names and around.foreign:
            why = f"{variable} names {listed(unknown)}, beside {around.foreign}, which no Spark has"
            yield Verdict("unknown", "other-hardware", why, "rdma link, where it runs")
        elif unknown == names:  # one that fits nothing does no harm beside others
            does = "NCCL finds no device and takes sockets" if variable == "NCCL_IB_HCA" else "UCX finds no device"
            why = f"{variable} names {listed(unknown)}, and a Spark's devices are called rocep1s0f0, ...: {does}"
            yield Verdict("fault", "no-such-device", why, _BOTH_TWINS)
        elif variable == "NCCL_IB_HCA":
            yield from _alone([name for name in names if name not in unknown])


def _no_device(name: str, variable: str) -> bool:
    """Whether no Spark has an RDMA device of that name, or that begins so; UCX takes netdevs, too."""
    if variable == "NCCL_IB_HCA" and name.startswith("en"):
        return True
    return bool(re.match(r"mlx5|ib\d|hsi|enp(?!1s0f[01])", name))


def _alone(names: Sequence[str]) -> Iterator[Verdict]:
    """Devices whose twin is left out."""
    ports = [Netdev(name) for name in names if CAGE.fullmatch(name)]
    named = {port.netdev for port in ports}
    alone = [port.name for port in ports if port.twin not in named]
    if alone and len(ports) == len(names):
        why = f"NCCL_IB_HCA names {listed(alone)} without the twin, which would carry as much again"
        yield Verdict("degraded", "one-hca", why, _BOTH_TWINS)


def _sockets(values: Mapping[str, str]) -> Iterator[Verdict]:
    rows = [(name, values[name].lstrip("=")) for name in _SOCKETS if values.get(name)]
    for netdev in dict.fromkeys(value for _, value in rows):
        names = listed(name for name, value in rows if value == netdev)
        if netdev.startswith("^") or any(
            Netdev(part).cage and part.startswith("en") for part in netdev.split(",")
        ):
            continue
        if _RDMA_NAME.fullmatch(netdev):
            why = f"{names} names {netdev}, which is an RDMA device and no netdev"
            yield Verdict("fault", "no-such-netdev", why, _A_NETDEV)
        elif re.match(r"lo$|docker|br-|veth", netdev):
            name = "name" if " and " in names else "names"
            why = f"{names} {name} {netdev}, which leads to no other host"
            yield Verdict("fault", "no-such-netdev", why, _A_NETDEV)
        elif re.match(r"enP7s7|wl|eth|eno", netdev) and not (
            values.get("NCCL_IB_HCA") or values.get("NCCL_NET") == "IB"
        ):
            are = "are" if " and " in names else "is"
            why = f"{names} {are} on {netdev}, no cage: without RDMA all data goes there"
            yield Verdict("unknown", "management-netdev", why, "look for NET/IB in the log (NCCL_DEBUG=INFO)")


def _off(values: Mapping[str, str]) -> Iterator[Verdict]:
    if values.get("NCCL_IB_DISABLE") == "1" or values.get("NCCL_NET", "").casefold() == "socket":
        name = "NCCL_IB_DISABLE=1" if values.get("NCCL_IB_DISABLE") == "1" else "NCCL_NET=Socket"
        yield Verdict("fault", "nccl-socket", f"{name} sends all data over TCP", f"remove {name}")


def _one_address(addresses: Sequence[str]) -> Iterator[Verdict]:
    if len(addresses) > 1 and len({*addresses}) == 1:
        why = f"VLLM_HOST_IP is {addresses[0]} on all nodes, and each node needs its own"
        yield Verdict("fault", "one-address", why, "set it on each node to its own address (ip -br addr)")


def _notes(values: Mapping[str, str]) -> Iterator[str]:
    index = values.get("NCCL_IB_GID_INDEX", "-1")
    if index != "-1":
        yield (
            f"NCCL_IB_GID_INDEX is pinned to {index}: the index moves when a port flaps and differs by host; "
            "leave it out, and set NCCL_IB_ROCE_VERSION_NUM=2 and NCCL_IB_ADDR_FAMILY=AF_INET"
        )
