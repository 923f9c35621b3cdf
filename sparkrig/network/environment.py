"""The variables that NCCL, Gloo, UCX, vLLM and Ray read on a host.

Sources: what others set on pairs that work [@nvidia-playbook, @eugr, @sparkrun, @epappas, @capetron], and what
NCCL does with it [@nccl-docs]. A switch takes what a pair does [@nvidia-switch, @sparkrun-ring].
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Interface
from typing import Literal

from sparkrig.cure import on_host
from sparkrig.network import gid, rdma
from sparkrig.refusal import Refusal

Form = Literal["cable", "ring", "switch"]

NCCL_CONF = "/etc/nccl.conf"
CONTAINER_ENV = "/etc/sparkrig/container.env"
RAILS = "/etc/sparkrig/rails.json"
GID_MODULE = "/usr/local/lib/sparkrig/gid.py"
REFRESH = "/usr/local/lib/sparkrig/refresh_gid.py"
DISPATCHER = "/etc/NetworkManager/dispatcher.d/90-sparkrig-gid"
WITH_GIDS = (NCCL_CONF, CONTAINER_ENV)
PATHS = (*WITH_GIDS, RAILS, GID_MODULE, REFRESH, DISPATCHER)
# What ties a process to a netdev, a device or an address; it ends with the cable, or with the other host.
_NETWORK = re.compile(
    r"(NCCL_(IB|SOCKET|NET|CROSS_NIC|COMM)|GLOO_SOCKET|TP_SOCKET|UCX_|OMPI_MCA_(btl_tcp|oob_tcp)|MASTER_(ADDR|PORT))"
    r"|(VLLM_HOST_IP|RAY_NODE_IP_ADDRESS|RAY_ADDRESS)$"
)


@dataclass(frozen=True)
class Node:
    """This host's part in the fabric.

    devices: RDMA devices in rail order, empty on a Spark on its own; socket_netdev and address: where the
    control sockets of NCCL, Gloo and Ray live; choice: the GID choice, None without RDMA; form: what joins the
    hosts; merge_nics: whether NCCL merges the ports of a NIC, None for what the form asks for.
    """

    devices: Sequence[str]
    socket_netdev: str
    address: IPv4Address
    choice: gid.Choice | None
    form: Form = "cable"
    merge_nics: bool | None = None

    @property
    def block(self) -> str:
        """The GID block of its files."""
        return gid.block(self.choice) if self.choice else ""


def nccl(node: Node, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of /etc/nccl.conf, less the GID block; `extra` wins."""
    found: dict[str, str] = {}
    if node.devices:
        found["NCCL_IB_HCA"] = ",".join(node.devices)
    found["NCCL_SOCKET_IFNAME"] = node.socket_netdev
    found["NCCL_IGNORE_CPU_AFFINITY"] = "1"
    if node.form == "ring":
        found |= _RING
    if node.merge_nics is not None:
        found[_MERGE] = str(int(node.merge_nics))
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


# NCCL picks the device by the subnet of each peer, with its own transport; a plugin would pick by itself.
# NVIDIA's script, eugr and sparkrun set these three, and a ring did not run without them
# [@nvidia-cluster-setup, @eugr-networking, @sparkrun-ring, @sparkrun-174]; merged ports would lead to two peers.
# One report of a ring of four, with one address for each cable, needed them merged [@switchless-ring].
_MERGE = "NCCL_IB_MERGE_NICS"
_RING = {"NCCL_IB_SUBNET_AWARE_ROUTING": "1", "NCCL_NET_PLUGIN": "none", _MERGE: "0"}

# the variables that are written without any setting
NAMES = frozenset({**container(Node(("device",), "netdev", IPv4Address(0), None), {}), **_RING})


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
    form: Form = "cable",
    merge_nics: bool | None = None,
) -> Node:
    """This host's part in the fabric, from its cabled rails and its RDMA devices.

    In a ring no rail reaches all hosts, so its control sockets are on the management network
    [@nvidia-cluster-setup, @eugr-networking].

    Raises Refusal where a rail has no RDMA device or no RoCE v2 GID, or where no management address is known.
    """
    if lacking := rdma.no_device(found, rails) or rdma.no_gid(found, rails):
        raise lacking
    devices = [device.name for netdev in rails if (device := found.on(netdev))]
    choice = gid.choose(found.gids, rails) if rails else None
    if choice and form == "ring":  # which rail leads to a peer decides, and no file says that beforehand
        choice = replace(choice, index=None, why="a ring has a device for each peer, and NCCL picks it")
    if rails and socket_interface == "fabric" and form != "ring":
        netdev, address = next(iter(rails.items()))
    elif management:
        netdev, address = management
    else:
        raise Refusal("no management address was found on this host", on_host("ip -4 addr; ip -4 route"))
    return Node(devices, netdev, address.ip, choice, form, merge_nics)
