"""RDMA devices as `rdma -j link` and the GID table tell of them."""

from __future__ import annotations

import json

import pytest

from sparkrig.network.rdma import Device, Rdma, parse

LINKS = [
    {
        "ifindex": 0,
        "ifname": "rocep1s0f0",
        "port": 1,
        "state": "ACTIVE",
        "physical_state": "LINK_UP",
        "netdev": "enp1s0f0np0",
        "netdev_index": 3,
    },
    {"ifindex": 1, "ifname": "rocep1s0f1", "port": 1, "state": "DOWN", "physical_state": "DISABLED"},
]
ROWS = [
    f"links {json.dumps(LINKS)}",
    "mtu rocep1s0f0 4096",
    "gid|rocep1s0f0|1|1|fe80:0000:0000:0000:0000:0000:0000:0001|RoCE v2|enp1s0f0np0",
]


def test_devices_with_netdev_state_and_path_mtu() -> None:
    found = parse(ROWS)
    assert found.devices == (
        Device("rocep1s0f0", "enp1s0f0np0", "ACTIVE", 4096),
        Device("rocep1s0f1", "", "DOWN", 0),  # no netdev, and no path MTU is known
    )
    assert [slot.index for slot in found.gids] == [1]


def test_device_on_a_netdev() -> None:
    found = parse(ROWS)
    device = found.on("enp1s0f0np0")
    assert device is not None and device.name == "rocep1s0f0"
    assert found.on("enP7s7") is None


@pytest.mark.parametrize("rows", [[], ["links "], ["links []"]])
def test_a_spark_without_a_cable_has_no_device(rows: list[str]) -> None:
    assert parse(rows) == Rdma()


@pytest.mark.parametrize("row", ["links [{", "mtu rocep1s0f0 ?"])
def test_nonsense_is_an_error(row: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse([row])


def test_json_for_pyinfra_fact() -> None:
    assert json.loads(json.dumps(parse(ROWS).to_json()))["devices"][0]["netdev"] == "enp1s0f0np0"
