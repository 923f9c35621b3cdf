"""What NCCL, Gloo, vLLM and Ray are told, and the files that tell them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path

import pytest

from sparkrig.network import environment, gid
from sparkrig.network.environment import Node, container, nccl, node
from sparkrig.network.rdma import Device, Rdma
from sparkrig.refusal import Refusal
from sparkrig.resources.environment import wanted

RECORDED = Path(__file__).resolve().parent.parent.parent / "fixtures" / "nccl"
A, B = "enp1s0f0np0", "enP2p1s0f0np0"
RAILS = {A: IPv4Interface("192.168.100.11/24"), B: IPv4Interface("192.168.101.11/24")}
MANAGEMENT = ("enP7s7", IPv4Interface("192.168.1.20/24"))
DEVICES = (Device("roceP2p1s0f0", B, "ACTIVE", 4096), Device("rocep1s0f0", A, "ACTIVE", 4096))


def rdma(*indexes: int) -> Rdma:
    """Both devices, in the other order than the rails, with the GID of each rail at that index."""
    rows = [
        f"gid|{device}|1|{index}|::ffff:{rail.ip}|RoCE v2|{netdev}"
        for (netdev, rail), device, index in zip(
            RAILS.items(), ("rocep1s0f0", "roceP2p1s0f0"), indexes, strict=True
        )
    ]
    return Rdma(DEVICES, tuple(gid.parse(rows)))


def read(text: str) -> dict[str, str]:
    """An env file as docker reads it: the last of a name wins, # begins a comment line."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert all("=" in line and line.strip() == line for line in lines)
    return dict(line.split("=", 1) for line in lines)


def files(made: Node, rails: Mapping[str, IPv4Interface] = RAILS, **extra: str) -> dict[str, str]:
    return {file.path: file.content for file in wanted("@fake/spark-a", made, rails, extra)}


PAIR = node(RAILS, rdma(1, 1), MANAGEMENT, socket_interface="fabric")
SOLO = node({}, Rdma(), MANAGEMENT, socket_interface="fabric")


def test_a_node_of_a_pair() -> None:
    assert PAIR.devices == ["rocep1s0f0", "roceP2p1s0f0"]  # in rail order
    assert (PAIR.socket_netdev, PAIR.address) == (A, IPv4Address("192.168.100.11"))
    assert PAIR.choice is not None and PAIR.choice.index == 1


def test_management_sockets_on_a_pair() -> None:
    made = node(RAILS, rdma(3, 3), MANAGEMENT, socket_interface="management")
    assert (made.socket_netdev, made.address) == ("enP7s7", IPv4Address("192.168.1.20"))
    assert made.devices == ["rocep1s0f0", "roceP2p1s0f0"]


def test_a_spark_without_a_fabric_always_uses_management() -> None:
    assert Node([], "enP7s7", IPv4Address("192.168.1.20"), None) == SOLO


@pytest.mark.parametrize(
    ("rails", "found", "management", "interface", "what"),
    [
        (RAILS, Rdma(DEVICES[:1], rdma(3, 3).gids), MANAGEMENT, "fabric", f"no RDMA device sits on {A}"),
        (RAILS, Rdma(DEVICES), MANAGEMENT, "fabric", f"no RoCE v2 GID for {A} .192.168.100.11., {B}"),
        ({}, Rdma(), None, "fabric", "no management address"),
        (RAILS, rdma(3, 3), None, "management", "no management address"),
    ],
)
def test_refusals(
    rails: Mapping[str, IPv4Interface],
    found: Rdma,
    management: tuple[str, IPv4Interface] | None,
    interface: str,
    what: str,
) -> None:
    with pytest.raises(Refusal, match=what):
        node(rails, found, management, socket_interface=interface)


def test_the_variables_of_a_pair() -> None:
    assert nccl(PAIR) == {
        "NCCL_IB_HCA": "rocep1s0f0,roceP2p1s0f0",
        "NCCL_SOCKET_IFNAME": A,
        "NCCL_IGNORE_CPU_AFFINITY": "1",
    }
    assert container(PAIR, {}) == {
        **nccl(PAIR),
        "GLOO_SOCKET_IFNAME": A,
        "TP_SOCKET_IFNAME": A,
        "UCX_NET_DEVICES": A,
        "OMPI_MCA_btl_tcp_if_include": A,
        "VLLM_HOST_IP": "192.168.100.11",
        "RAY_NODE_IP_ADDRESS": "192.168.100.11",
        "RAY_memory_monitor_refresh_ms": "0",
    }


def test_a_solo_spark_is_told_nothing_of_rdma() -> None:
    assert not [name for name in container(SOLO, {}) if "_IB_" in name]
    assert nccl(SOLO) == {"NCCL_SOCKET_IFNAME": "enP7s7", "NCCL_IGNORE_CPU_AFFINITY": "1"}
    assert container(SOLO, {})["VLLM_HOST_IP"] == "192.168.1.20"


def test_variables_of_the_inventory_win() -> None:
    made = container(PAIR, {"RAY_memory_monitor_refresh_ms": "250", "HF_HOME": "/models"})
    assert made["RAY_memory_monitor_refresh_ms"] == "250" and made["HF_HOME"] == "/models"


# --- the files


def test_files_of_a_pair() -> None:
    found = files(PAIR, HF_HOME="/models")
    assert read(found[environment.NCCL_CONF]) == {**nccl(PAIR), "NCCL_IB_GID_INDEX": "1"}
    assert read(found[environment.CONTAINER_ENV]) == {
        **container(PAIR, {}),
        "HF_HOME": "/models",
        "NCCL_IB_GID_INDEX": "1",
    }
    assert set(found) == {
        environment.NCCL_CONF,
        environment.CONTAINER_ENV,
        environment.RAILS,
        environment.GID_MODULE,
        environment.REFRESH,
        environment.DISPATCHER,
    }


def test_files_where_the_devices_differ_say_why() -> None:
    made = node(RAILS, rdma(3, 5), MANAGEMENT, socket_interface="fabric")
    for path in (environment.NCCL_CONF, environment.CONTAINER_ENV):
        text = files(made)[path]
        assert "NCCL_IB_GID_INDEX" not in text
        assert read(text).items() >= {"NCCL_IB_ROCE_VERSION_NUM": "2", "NCCL_IB_ADDR_FAMILY": "AF_INET"}.items()
        assert "# One index does not fit: rocep1s0f0 has its GID at 3, roceP2p1s0f0 has its GID at 5." in text


def test_files_of_a_solo_spark_have_no_gid_and_no_keeper() -> None:
    found = files(SOLO, {})
    assert set(found) == {environment.NCCL_CONF, environment.CONTAINER_ENV}
    assert not [text for text in found.values() if gid.BLOCK_BEGIN in text or "_IB_" in text]


def test_each_rendered_file_is_whole_lines_and_names_its_maker() -> None:
    for made, rails in ((PAIR, RAILS), (SOLO, {})):
        for path in (environment.NCCL_CONF, environment.CONTAINER_ENV):
            text = files(made, rails)[path]
            assert text.startswith("# Written by sparkrig for spark-a.") and text.endswith("\n")
            assert "\n\n" not in text and not text.endswith("\n\n")


def test_the_block_in_the_files_can_be_refreshed() -> None:
    for path in (environment.NCCL_CONF, environment.CONTAINER_ENV):
        text = files(PAIR)[path]
        new = gid.replace_block(text, gid.block(gid.Choice(2, "", ())))
        assert read(new) == {**read(text), "NCCL_IB_GID_INDEX": "2"}


def test_only_the_dispatcher_script_is_executable() -> None:
    """NetworkManager runs no script that others may write, and none that is not executable."""
    modes = {file.path: file.mode for file in wanted("a", PAIR, RAILS, {})}
    assert modes.pop(environment.DISPATCHER) == "0755"
    assert set(modes.values()) == {"0644"}


def test_real_nccl_was_given_the_files_that_are_written_today() -> None:
    """tests/fixtures/nccl/README.md: two H200, NCCL 2.28.9, 2026-11-21."""
    loopback = Node(["rocep1s0f0", "roceP2p1s0f0"], "lo", IPv4Address("127.0.0.1"), gid.Choice(3, "", ()))
    for file in wanted("spark-a", loopback, {}, {}):
        assert (RECORDED / "given" / Path(file.path).name).read_text() == file.content


@pytest.mark.parametrize("case", ["nccl-conf", "container-env"])
@pytest.mark.parametrize("rank", [0, 1])
def test_real_nccl_did_what_either_file_says(case: str, rank: int) -> None:
    without, told = ((RECORDED / f"{each}.{rank}.log").read_text() for each in ("no-files", case))
    assert "Using [0]eth0:" in without and "NCCL_IGNORE_CPU_AFFINITY" not in without
    assert "NCCL_SOCKET_IFNAME set by environment to lo" in told and "Using [0]lo:" in told
    assert "NCCL_IGNORE_CPU_AFFINITY set by environment to 1" in told
    assert "sparkrig-nccl" in told and "eth0" not in told


RING = {
    "enp1s0f0np0": IPv4Interface("192.168.0.11/24"),
    "enP2p1s0f0np0": IPv4Interface("192.168.1.11/24"),
    "enp1s0f1np1": IPv4Interface("192.168.2.11/24"),
    "enP2p1s0f1np1": IPv4Interface("192.168.3.11/24"),
}
FOUR = ("rocep1s0f0", "roceP2p1s0f0", "rocep1s0f1", "roceP2p1s0f1")
RING_RDMA = Rdma(
    tuple(Device(device, netdev, "ACTIVE", 4096) for netdev, device in zip(RING, FOUR, strict=True)),
    tuple(
        gid.parse(
            f"gid|{device}|1|3|::ffff:{rail.ip}|RoCE v2|{netdev}"
            for (netdev, rail), device in zip(RING.items(), FOUR, strict=True)
        )
    ),
)


def in_a_ring(*, merge_nics: bool | None = None, socket_interface: str = "fabric") -> Node:
    return node(RING, RING_RDMA, MANAGEMENT, socket_interface=socket_interface, form="ring", merge_nics=merge_nics)


def test_the_variables_of_a_ring() -> None:
    """NVIDIA's script passes these to NCCL [@nvidia-cluster-setup]; no index stands there, though one fits."""
    written = {
        path: read(text) for path, text in files(in_a_ring(), RING).items() if path in environment.WITH_GIDS
    }
    nccl = {
        "NCCL_IB_HCA": ",".join(FOUR),
        "NCCL_SOCKET_IFNAME": "enP7s7",
        "NCCL_IGNORE_CPU_AFFINITY": "1",
        "NCCL_IB_SUBNET_AWARE_ROUTING": "1",
        "NCCL_NET_PLUGIN": "none",
        "NCCL_IB_MERGE_NICS": "0",
        "NCCL_IB_ROCE_VERSION_NUM": "2",
        "NCCL_IB_ADDR_FAMILY": "AF_INET",
        "NCCL_IB_ADDR_RANGE": "192.168.0.0/22",
    }
    assert written[environment.NCCL_CONF] == nccl
    assert written[environment.CONTAINER_ENV] == nccl | {
        "GLOO_SOCKET_IFNAME": "enP7s7",
        "TP_SOCKET_IFNAME": "enP7s7",
        "UCX_NET_DEVICES": "enP7s7",
        "OMPI_MCA_btl_tcp_if_include": "enP7s7",
        "VLLM_HOST_IP": "192.168.1.20",
        "RAY_NODE_IP_ADDRESS": "192.168.1.20",
        "RAY_memory_monitor_refresh_ms": "0",
    }


def test_nothing_puts_an_index_into_the_files_of_a_ring() -> None:
    """refresh_gid.py passes over a netdev that is no rail of this file."""
    assert files(in_a_ring(), RING)[environment.RAILS] == "{}\n"
    assert RING.keys() == json.loads(files(replace(in_a_ring(), form="switch"), RING)[environment.RAILS]).keys()


def test_what_is_contested_in_a_ring_is_a_setting() -> None:
    assert nccl(in_a_ring(merge_nics=True))["NCCL_IB_MERGE_NICS"] == "1"
    assert nccl(replace(PAIR, merge_nics=False))["NCCL_IB_MERGE_NICS"] == "0"
    assert "NCCL_IB_MERGE_NICS" not in nccl(PAIR)


def test_a_switch_is_given_what_a_pair_is() -> None:
    made = node(RAILS, rdma(3, 3), MANAGEMENT, socket_interface="fabric", form="switch")
    assert files(made) == files(node(RAILS, rdma(3, 3), MANAGEMENT, socket_interface="fabric"))


def test_a_ring_needs_a_management_network() -> None:
    with pytest.raises(Refusal, match="no management address"):
        node(RING, RING_RDMA, None, socket_interface="fabric", form="ring")


# of what every pair has that was deployed so far; another digest is drift on all of them
DEPLOYED = {
    "/etc/sparkrig/rails.json": "d791f84254459c0f",
    "/usr/local/lib/sparkrig/gid.py": "db8e8ab0061b683b",
    "/usr/local/lib/sparkrig/refresh_gid.py": "708a637b95f59308",
    "/etc/NetworkManager/dispatcher.d/90-sparkrig-gid": "e97a2ff930e9ce5f",
    "/etc/nccl.conf": "0b3be52aba0e7abe",
    "/etc/sparkrig/container.env": "6409b2616c76b096",
}


def test_a_pair_that_was_deployed_before_has_the_same_bytes() -> None:
    digests = {path: hashlib.sha256(text.encode()).hexdigest()[:16] for path, text in files(PAIR).items()}
    assert digests == DEPLOYED
