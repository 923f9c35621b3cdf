"""The command line of a guest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lab.nodes import ALL, FABRIC, link_files, mac, nics, ssh_port
from lab.qemu import Plan, command, hardware
from lab.wiring import STRAIGHT

PLAN = Plan("spark-b", "tcg", Path("/lab/images/key"), Path("/lab"), STRAIGHT)


def text(plan: Plan, *, snapshot: str | None = None) -> str:
    return " ".join(command(plan, snapshot=snapshot))


def test_ssh_is_the_only_port_and_only_on_loopback() -> None:
    assert text(PLAN).count("hostfwd=") == 1
    assert "restrict=on,dhcpstart=10.0.2.12,hostfwd=tcp:127.0.0.1:2202-:22" in text(PLAN)
    assert "0.0.0.0" not in text(PLAN)


def test_every_nic_has_a_device_and_a_backend() -> None:
    words = command(PLAN, snapshot=None)
    devices = [word for word in words if word.startswith("virtio-net-pci,")]
    assert [device.split(",")[1] for device in devices] == [f"id=nic-{nic.netdev}" for nic in nics("spark-b")]
    assert sum(word.startswith(("dgram,", "user,")) for word in words) == len(devices) == 5
    assert all("host_mtu=9000" in device for device in devices[1:])


def test_a_solo_guest_has_the_management_nic_alone() -> None:
    assert text(replace(PLAN, node="spark-s")).count("virtio-net-pci") == 1


def test_only_a_start_from_the_snapshot_names_it() -> None:
    assert "-loadvm" not in text(PLAN)
    assert text(PLAN, snapshot="ready").endswith("-loadvm ready")


def test_a_guest_boots_from_its_own_disk_and_learns_from_its_chassis_which_one_it_is() -> None:
    assert "-kernel" not in command(PLAN, snapshot=None), "else its own boot loader proved nothing"
    assert "type=3,asset=spark-b" in text(PLAN)


def test_hardware_does_not_depend_on_cables_or_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    before = hardware(PLAN)
    monkeypatch.setenv("SPARKRIG_LAB_PORT", "4000")
    assert hardware(replace(PLAN, cabling=())) == before
    assert hardware(replace(PLAN, accelerator="kvm")) != before


def test_ports_follow_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [ssh_port(node) for node in ALL] == [2201, 2202, 2203, 2204, 2205]
    monkeypatch.setenv("SPARKRIG_LAB_PORT", "4000")
    assert ssh_port("spark-c") == 4002


def test_no_two_nics_share_an_address_and_each_has_its_name() -> None:
    addresses = {mac(node, nic.netdev): nic.netdev for node in ALL for nic in nics(node)}
    assert len(addresses) == 4 * 5 + 1
    files = link_files()
    for address, netdev in addresses.items():
        link = files[f"etc/systemd/network/10-{netdev}.link"]
        assert address in link
        assert link.endswith(f"Name={netdev}\n")
    assert set(files) == {f"etc/systemd/network/10-{netdev}.link" for netdev in ("enP7s7", *FABRIC)}
