"""What the environment files say, from what real hosts printed."""

from __future__ import annotations

from ipaddress import IPv4Interface

from sparkrig.network import environment, rdma, seen
from sparkrig.resources.environment import wanted
from tests.plan.conftest import FABRIC, A, recorded, sections

RAILS = {netdev: IPv4Interface(address) for netdev, address in FABRIC[A].items()}


def files(printed: str, rails: dict[str, IPv4Interface], socket: str = "fabric", **extra: str) -> dict[str, str]:
    parts = sections(recorded("converged-a"))
    found = seen.parse(parts["network"].splitlines())
    node = environment.node(rails, rdma.parse(printed.splitlines()), found.management, socket_interface=socket)
    return {file.path: file.content for file in wanted("spark-a", node, rails, extra)}


def printed() -> str:
    return sections(recorded("converged-a"))["rdma"]


def test_the_discovered_index_lands_in_both_files() -> None:
    found = files(printed(), RAILS)
    for path in (environment.NCCL_CONF, environment.CONTAINER_ENV):
        assert "\nNCCL_IB_GID_INDEX=1\n" in found[path], "the virtual pair has it at 1; 3 would be a constant"
        assert "\nNCCL_IB_HCA=rocep1s0f0,roceP2p1s0f0\n" in found[path]


def test_devices_that_disagree_get_the_address_family_route() -> None:
    moved = printed().replace("gid|roceP2p1s0f0|1|1|0000", "gid|roceP2p1s0f0|1|2|0000")
    assert moved != printed()
    text = files(moved, RAILS)[environment.NCCL_CONF]
    assert "NCCL_IB_GID_INDEX" not in text
    assert "NCCL_IB_ROCE_VERSION_NUM=2\nNCCL_IB_ADDR_FAMILY=AF_INET\nNCCL_IB_ADDR_RANGE=192.168.100.0/23\n" in text
    assert "# One index does not fit: rocep1s0f0 has its GID at 1, roceP2p1s0f0 has its GID at 2." in text


def test_a_spark_without_a_cable_is_told_nothing_of_rdma() -> None:
    found = files("", {})
    assert set(found) == {environment.NCCL_CONF, environment.CONTAINER_ENV}
    text = found[environment.CONTAINER_ENV]
    assert "\nRAY_memory_monitor_refresh_ms=0\n" in text
    assert "\nVLLM_HOST_IP=10.0.2.11\n" in text
    assert "NCCL_IB" not in text


def test_the_control_sockets_can_live_on_the_management_network() -> None:
    text = files(printed(), RAILS, "management")[environment.CONTAINER_ENV]
    assert "\nNCCL_SOCKET_IFNAME=enP7s7\n" in text
    assert "\nVLLM_HOST_IP=10.0.2.11\n" in text
    assert "\nNCCL_IB_HCA=rocep1s0f0,roceP2p1s0f0\n" in text


def test_a_variable_of_the_users_replaces_ours() -> None:
    text = files(printed(), RAILS, UCX_NET_DEVICES="rocep1s0f0:1")[environment.CONTAINER_ENV]
    assert "\nUCX_NET_DEVICES=rocep1s0f0:1\n" in text
    assert text.count("UCX_NET_DEVICES") == 1
