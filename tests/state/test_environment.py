"""What NCCL, vLLM and Ray are told is true on this host now."""

from __future__ import annotations

import re

import pytest

from tests.state.conftest import Said, Spark, asks_links, cabled

NCCL_CONF = "/etc/nccl.conf"
CONTAINER_ENV = "/etc/sparkrig/container.env"
# of each device at the index that the file names: the GID, and its type
GIDS = (
    f"index=$(sed -n 's/^NCCL_IB_GID_INDEX=//p' {CONTAINER_ENV}) && cd /sys/class/infiniband"
    " && grep . */ports/1/gids/$index */ports/1/gid_attrs/types/$index"
)
asks_files = pytest.mark.asks(nccl=f"cat {NCCL_CONF}", container=f"cat {CONTAINER_ENV}")


def variables(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))


@pytest.mark.asks(modes=f"stat -c '%a %U' {NCCL_CONF} {CONTAINER_ENV}")
def test_the_files_are_for_everyone_to_read_and_for_root_to_write(said: Said) -> None:
    assert said.modes.good.split() == ["644", "root"] * 2


@asks_files
def test_ray_does_not_take_page_cache_for_pressure(said: Said) -> None:
    assert variables(said.container.good)["RAY_memory_monitor_refresh_ms"] == "0"


@asks_files
@pytest.mark.asks(addresses="ip -4 -o addr")
def test_the_node_names_an_address_of_its_own(said: Said) -> None:
    own = variables(said.container.good)["VLLM_HOST_IP"]
    assert re.search(rf"inet {re.escape(own)}/", said.addresses.good)
    assert not own.startswith("127.")


@asks_files
def test_both_files_say_the_same_of_rdma(said: Said) -> None:
    files = [variables(file.good) for file in (said.nccl, said.container)]
    nccl, container = ({key: file[key] for key in file if key.startswith("NCCL_IB")} for file in files)
    assert nccl == container


@asks_files
@asks_links
@pytest.mark.asks(gids=GIDS)
def test_the_gid_of_every_rail_is_the_one_that_nccl_would_use(said: Said, spark: Spark) -> None:
    """Each device, at the index that the file names, holds the declared IPv4 as RoCE v2."""
    found, links = variables(said.container.good), cabled(said, spark)
    if not links:
        assert "NCCL_IB_HCA" not in found
        return
    devices = found["NCCL_IB_HCA"].split(",")
    assert len(devices) == len(links)
    if "NCCL_IB_GID_INDEX" not in found:
        assert (found["NCCL_IB_ROCE_VERSION_NUM"], found["NCCL_IB_ADDR_FAMILY"]) == ("2", "AF_INET")
        return
    index = found["NCCL_IB_GID_INDEX"]
    rows = dict(row.split(":", 1) for row in said.gids.text.splitlines())  # one without a type is another one's
    for device, address in zip(devices, links.values(), strict=True):
        gid, kind = (rows.get(f"{device}/ports/1/{file}/{index}") for file in ("gids", "gid_attrs/types"))
        a, b, c, d = (int(part) for part in address.split("/")[0].split("."))
        assert gid == f"0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}"
        assert kind == "RoCE v2"
