"""The variables that NCCL, Gloo, UCX, vLLM and Ray read on a host.

Sources: what others set on pairs that work [@nvidia-playbook, @eugr, @sparkrun, @epappas, @capetron], and what
NCCL does with it [@nccl-docs].
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface

from sparkrig.cure import on_host
from sparkrig.rdma import gid, rdma
from sparkrig.refusal import Refusal

NCCL_CONF = "/etc/nccl.conf"
CONTAINER_ENV = "/etc/sparkrig/container.env"
RAILS = "/etc/sparkrig/rails.json"
GID_MODULE = "/usr/local/lib/sparkrig/gid.py"
REFRESH = "/usr/local/lib/sparkrig/refresh_gid.py"
DISPATCHER = "/etc/NetworkManager/dispatcher.d/90-sparkrig-gid"
WITH_GIDS = (NCCL_CONF, CONTAINER_ENV)
PATHS = (*WITH_GIDS, RAILS, GID_MODULE, REFRESH, DISPATCHER)
# What ties a process to a netdev, a device or an address; it ends with the cable, or with the other half.
_NETWORK = re.compile(
    r"(NCCL_(IB|SOCKET|NET|CROSS_NIC|COMM)|GLOO_SOCKET|TP_SOCKET|UCX_|OMPI_MCA_(btl_tcp|oob_tcp)|MASTER_(ADDR|PORT))"
    r"|(VLLM_HOST_IP|RAY_NODE_IP_ADDRESS|RAY_ADDRESS)$"
)


@dataclass(frozen=True)
class Node:
    """This host's part in the fabric.

    devices: RDMA devices in rail order, empty on a Spark on its own; socket_netdev and address: where the
    control sockets of NCCL, Gloo and Ray live; choice: the GID choice, None without RDMA.
    """

    devices: Sequence[str]
    socket_netdev: str
    address: IPv4Address
    choice: gid.Choice | None


def nccl(node: Node, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of /etc/nccl.conf, less the GID block; `extra` wins."""
    found: dict[str, str] = {}
    if node.devices:
        found["NCCL_IB_HCA"] = ",".join(node.devices)
    found["NCCL_SOCKET_IFNAME"] = node.socket_netdev
    found["NCCL_IGNORE_CPU_AFFINITY"] = "1"
    return found | dict(extra or {})


def container(node: Node, extra: Mapping[str, str]) -> dict[str, str]:
    """The variables of the container environment file, less the GID block; `extra` wins."""
    found = nccl(node)
    for name in ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "UCX_NET_DEVICES", "OMPI_MCA_btl_tcp_if_include"):
        found[name] = node.socket_netdev
    found["VLLM_HOST_IP"] = found["RAY_NODE_IP_ADDRESS"] = str(node.address)
    # The monitor takes page cache for pressure and kills vLLM.
    found["RAY_memory_monitor_refresh_ms"] = "0"
    return found | dict(extra)


# the variables that are written without any setting
NAMES = frozenset(container(Node(("device",), "netdev", IPv4Address(0), None), {}))


def alone(extra: Mapping[str, str]) -> dict[str, str]:
    """The variables of a container that speaks to no other host; `extra` wins, but for what names a network."""
    found = {"NCCL_IGNORE_CPU_AFFINITY": "1", "RAY_memory_monitor_refresh_ms": "0"}
    return found | {name: value for name, value in extra.items() if not _NETWORK.match(name)}


def node(
    rails: Mapping[str, IPv4Interface],
    found: rdma.Rdma,
    management: tuple[str, IPv4Interface] | None,
    *,
    socket_interface: str,
) -> Node:
    """This host's part in the fabric, from its cabled rails and its RDMA devices.

    Raises Refusal where a rail has no RDMA device or no RoCE v2 GID, or where no management address is known.
    """
    devices = []
    for netdev in rails:
        device = found.on(netdev)
        if device is None:
            raise Refusal(
                f"no RDMA device sits on {netdev}", on_host("rdma link", "; lsmod | grep -E 'mlx5_ib|rdma_rxe'")
            )
        devices.append(device.name)
    try:
        choice = gid.choose(found.gids, rails) if rails else None
    except ValueError as error:
        raise Refusal(str(error), on_host("ip -4 addr", "; show_gids; then run the deploy again")) from None
    if rails and socket_interface == "fabric":
        netdev, address = next(iter(rails.items()))
    elif management:
        netdev, address = management
    else:
        raise Refusal("no management address was found on this host", on_host("ip -4 addr; ip -4 route"))
    return Node(devices, netdev, address.ip, choice)
