"""The links of the virtual pair, and whose profiles they have."""

from __future__ import annotations

import json

from lab.nodes import CAGES, FABRIC
from lab.waiting import wait_until
from tests.lab.guests import Guest

A, B = "enp1s0f0np0", "enP2p1s0f0np0"


LAST = {"spark-a": 11, "spark-b": 12}


def links(guest: Guest) -> list[tuple[str, int, str]]:
    """Profile, MTU and address of each rail."""
    found = {each["ifname"]: each for each in json.loads(guest.output("ip -j -4 addr")) if each}
    active = dict(
        line.split(":") for line in guest.output("nmcli -t -f DEVICE,NAME connection show --active").split("\n")
    )
    return [(active[netdev], found[netdev]["mtu"], found[netdev]["addr_info"][0]["local"]) for netdev in (A, B)]


def carriers(guest: Guest, cage: str) -> set[str]:
    """What the carriers of both netdevs of a cage are: 0 or 1."""
    return {guest.output(f"cat /sys/class/net/{twin}/carrier") for twin in CAGES[cage]}


def wait_for_carrier(guest: Guest, cage: str, wanted: str) -> None:
    """Returns once both netdevs of a cage have the carrier `wanted`."""
    wait_until(
        lambda: carriers(guest, cage) == {wanted},
        20,
        happened=f"{guest.node} {cage} never saw carrier {wanted}",
        attempt="sparkrig lab status",
    )


def wait_for_rails(guest: Guest) -> None:
    """Returns once NetworkManager has both rails up.

    After a boot, its own start-up can end before the other end of the cable is there.
    """
    states = f"for netdev in {A} {B}; do nmcli -g GENERAL.STATE device show $netdev; done"
    wait_until(
        lambda: guest.output(states).split("\n") == ["100 (connected)"] * 2,
        60,
        happened=f"the rails of {guest.node} did not come up",
        attempt=f"sparkrig lab ssh {guest.node} nmcli device",
    )


def ours(guest: Guest) -> list[tuple[str, int, str]]:
    last = LAST[guest.node]
    return [(f"sparkrig-{A}", 9000, f"192.168.100.{last}"), (f"sparkrig-{B}", 9000, f"192.168.101.{last}")]


def addresses(guest: Guest) -> set[str]:
    """The IPv4 addresses of all netdevs of the fabric."""
    rows = [row.split() for row in guest.output("ip -4 -o address show").splitlines()]
    return {row[3] for row in rows if row[1] in FABRIC}
