"""What NCCL, vLLM and Ray are told is true on this host now."""

from __future__ import annotations

import re

from testinfra.host import Host

from tests.state.conftest import Spark
from tests.state.test_network import cabled

NCCL_CONF = "/etc/nccl.conf"
CONTAINER_ENV = "/etc/sparkrig/container.env"


def variables(host: Host, path: str) -> dict[str, str]:
    lines = host.file(path).content_string.splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def test_the_files_are_for_everyone_to_read_and_for_root_to_write(host: Host) -> None:
    said = host.check_output("stat -c '%%a %%U' %s %s", NCCL_CONF, CONTAINER_ENV)
    assert said.split() == ["644", "root"] * 2


def test_ray_does_not_take_page_cache_for_pressure(host: Host) -> None:
    assert variables(host, CONTAINER_ENV)["RAY_memory_monitor_refresh_ms"] == "0"


def test_the_node_names_an_address_of_its_own(host: Host) -> None:
    own = variables(host, CONTAINER_ENV)["VLLM_HOST_IP"]
    assert re.search(rf"inet {re.escape(own)}/", host.check_output("ip -4 -o addr"))
    assert not own.startswith("127.")


def test_the_gid_of_every_rail_is_the_one_that_nccl_would_use(host: Host, spark: Spark) -> None:
    """Each device, at the index that the file names, holds the declared IPv4 as RoCE v2."""
    rails = cabled(host, spark)
    told = variables(host, CONTAINER_ENV)
    assert {k: v for k, v in variables(host, NCCL_CONF).items() if k.startswith("NCCL_IB")} == {
        k: v for k, v in told.items() if k.startswith("NCCL_IB")
    }
    if not rails:
        assert "NCCL_IB_HCA" not in told
        return
    devices = told["NCCL_IB_HCA"].split(",")
    assert len(devices) == len(rails)
    if "NCCL_IB_GID_INDEX" not in told:
        assert (told["NCCL_IB_ROCE_VERSION_NUM"], told["NCCL_IB_ADDR_FAMILY"]) == ("2", "AF_INET")
        return
    index = told["NCCL_IB_GID_INDEX"]
    for device, address in zip(devices, rails.values(), strict=True):
        port = f"/sys/class/infiniband/{device}/ports/1"
        gid, kind = host.check_output(
            "cat %s/gids/%s %s/gid_attrs/types/%s", port, index, port, index
        ).splitlines()
        a, b, c, d = (int(part) for part in address.split("/")[0].split("."))
        assert gid == f"0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}"
        assert kind == "RoCE v2"
