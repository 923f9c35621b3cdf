"""What NCCL, vLLM and Ray are told is true on this host now."""

from __future__ import annotations

import re

import pytest
from testinfra.host import Host

NCCL_CONF = "/etc/nccl.conf"
CONTAINER_ENV = "/etc/sparkrig/container.env"


@pytest.fixture(scope="session")
def told(host: Host) -> dict[str, dict[str, str]]:
    """The variables of each file."""
    return {path: variables(host.check_output("cat %s", path)) for path in (NCCL_CONF, CONTAINER_ENV)}


def variables(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))


def test_the_files_are_for_everyone_to_read_and_for_root_to_write(host: Host) -> None:
    said = host.check_output("stat -c '%%a %%U' %s %s", NCCL_CONF, CONTAINER_ENV)
    assert said.split() == ["644", "root"] * 2


def test_ray_does_not_take_page_cache_for_pressure(told: dict[str, dict[str, str]]) -> None:
    assert told[CONTAINER_ENV]["RAY_memory_monitor_refresh_ms"] == "0"


def test_the_node_names_an_address_of_its_own(host: Host, told: dict[str, dict[str, str]]) -> None:
    own = told[CONTAINER_ENV]["VLLM_HOST_IP"]
    assert re.search(rf"inet {re.escape(own)}/", host.check_output("ip -4 -o addr"))
    assert not own.startswith("127.")


def test_both_files_say_the_same_of_rdma(told: dict[str, dict[str, str]]) -> None:
    rdma = [{key: value for key, value in found.items() if key.startswith("NCCL_IB")} for found in told.values()]
    assert rdma[0] == rdma[1]


def test_the_gid_of_every_rail_is_the_one_that_nccl_would_use(
    host: Host, cabled: dict[str, str], told: dict[str, dict[str, str]]
) -> None:
    """Each device, at the index that the file names, holds the declared IPv4 as RoCE v2."""
    found = told[CONTAINER_ENV]
    if not cabled:
        assert "NCCL_IB_HCA" not in found
        return
    devices = found["NCCL_IB_HCA"].split(",")
    assert len(devices) == len(cabled)
    if "NCCL_IB_GID_INDEX" not in found:
        assert (found["NCCL_IB_ROCE_VERSION_NUM"], found["NCCL_IB_ADDR_FAMILY"]) == ("2", "AF_INET")
        return
    index = found["NCCL_IB_GID_INDEX"]
    for device, address in zip(devices, cabled.values(), strict=True):
        port = f"/sys/class/infiniband/{device}/ports/1"
        gid, kind = host.check_output(
            "cat %s/gids/%s %s/gid_attrs/types/%s", port, index, port, index
        ).splitlines()
        a, b, c, d = (int(part) for part in address.split("/")[0].split("."))
        assert gid == f"0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}"
        assert kind == "RoCE v2"
