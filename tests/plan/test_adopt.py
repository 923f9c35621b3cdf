"""Deploys on hosts that somebody else set up before."""

from __future__ import annotations

import pytest

from tests.plan.conftest import A, B, Deploy, converged, pair, recorded, well
from tests.plan.states import netplan

CX7 = """network:
  version: 2
  ethernets:
    enp1s0f0np0: {addresses: [192.168.177.11/24], mtu: 9000}
    enP2p1s0f0np0: {link-local: [ipv4]}
"""
OLD = "/etc/NetworkManager/system-connections/Wired connection 2.nmconnection"
BOTH = {"40-cx7.yaml": "set-aside", "Wired connection 2": "set-aside"}
STEP = "Network | profiles and live links"
with_file = netplan("/etc/netplan/40-cx7.yaml", CX7)


@pytest.fixture(scope="module")
def left() -> str:
    """A fresh host with NVIDIA's file, and with NetworkManager's own profile saved by somebody."""
    text = recorded("fresh-a")
    saved = text.replace("/run/NetworkManager/system-connections/Wired connection 2.nmconnection", OLD)
    assert saved != text
    return with_file(saved)


def test_all_of_it_is_shown_with_the_setting_to_write(deploy: Deploy, left: str) -> None:
    run = deploy(pair(left, recorded("fresh-b")), "--json", "--dry")
    assert run.code != 0 and "Traceback" not in run.stderr
    said = " ".join(run.stderr.split())
    assert (
        "fabric netdevs have a second definition: netplan file /etc/netplan/40-cx7.yaml defines "
        "enp1s0f0np0 (192.168.177.11/24, MTU 9000) and enP2p1s0f0np0 (no fixed address); "
        f"NetworkManager profile 'Wired connection 2' ({OLD}) defines enp1s0f0np0 (DHCP)"
    ) in said
    assert 'adopt={"40-cx7.yaml": "set-aside", "Wired connection 2": "set-aside"}' in said


def test_the_setting_lets_it_pass(deploy: Deploy, left: str) -> None:
    run = well(deploy(pair(left, recorded("fresh-b"), adopt=BOTH), "--json", "--dry"))
    assert run.plan[STEP] == {A, B}


def test_one_word_too_few_does_not(deploy: Deploy, left: str) -> None:
    run = deploy(pair(left, recorded("fresh-b"), adopt={"40-cx7.yaml": "set-aside"}), "--json", "--dry")
    assert run.code != 0 and "profile 'Wired connection 2'" in run.stderr
    assert "40-cx7.yaml defines" not in run.stderr


def test_only_the_file_has_to_go(deploy: Deploy) -> None:
    """It came after the deploy; the links are as they should be."""
    run = well(
        deploy(pair(with_file(converged("a")), converged("b"), adopt={"40-*": "set-aside"}), "--json", "--dry")
    )
    assert run.plan[STEP] == {A}


def test_a_word_that_is_none_stops_before_anything_connects(deploy: Deploy) -> None:
    run = deploy(pair(converged("a"), converged("b"), adopt={"40-cx7.yaml": "move"}), "--dry")
    assert run.code != 0 and "setting adopt.40-cx7.yaml" in run.stderr
    assert "adopt, set-aside or leave" in run.stderr
