"""T3: ports that NetworkManager does not manage, as on Ubuntu; the printed cure is typed, and the deploy works.

Netplan, networkd and NetworkManager are real; the file that makes NetworkManager leave Ethernet alone is noble's,
by its name and its content (package network-manager).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from lab import NODES, pair
from lab.nodes import MANAGEMENT
from lab.waiting import wait_until
from tests.faults.record import Seen
from tests.lab.commands import LAB, deploy, planned, run
from tests.lab.guests import Guest, Pair
from tests.lab.links import A, B, links, ours

pytestmark = pytest.mark.exhaustive  # make faults runs them; each boots the pair twice

NOBLE = {
    "/usr/lib/NetworkManager/conf.d/10-globally-managed-devices.conf": (
        "[keyfile]\nunmanaged-devices=*,except:type:wifi,except:type:gsm,except:type:cdma\n"
    )
}
ADOPT = ("--data", 'adopt={"50-fabric.yaml": "set-aside"}')


@dataclass(frozen=True)
class Before:
    """A host before. files: by path; said: of the refusal; cure: pieces of it; adopt: flags of the deploy."""

    files: Mapping[str, str]
    said: str
    cure: tuple[str, ...]
    adopt: tuple[str, ...] = ()


STATES = {
    "netplan gives all of it to networkd": Before(
        {
            **NOBLE,
            "/etc/netplan/01-lan.yaml": f"network: {{version: 2, ethernets: {{{MANAGEMENT}: {{dhcp4: true}}}}}}\n",
            "/etc/netplan/50-fabric.yaml": (
                f"network: {{version: 2, ethernets: {{{A}: {{optional: true, link-local: [ipv4]}}, "
                f"{B}: {{optional: true, link-local: [ipv4]}}}}}}\n"
            ),
        },
        f"netplan gives {A} and {B} to networkd (/etc/netplan/50-fabric.yaml); {MANAGEMENT}, which SSH or the "
        "default route is on, is not NetworkManager's either, and stays so, but networkd sets it up anew",
        ("sudo networkctl reload",),
        ADOPT,
    ),
    "networkd has the management network by a file of its own": Before(
        {
            **NOBLE,
            "/etc/systemd/network/10-lan.network": f"[Match]\nName={MANAGEMENT}\n[Network]\nDHCP=ipv4\n",
        },
        f"no netplan file gives them to it; {MANAGEMENT}, which SSH or the default route is on",
        (f"unmanaged-devices+=interface-name:{MANAGEMENT}",),
    ),
}


def state(guest: Guest, netdev: str) -> str:
    """What NetworkManager says of a netdev, such as `unmanaged`."""
    rows = guest.output("nmcli -t -f DEVICE,STATE device").splitlines()
    return dict(row.split(":", 1) for row in rows)[netdev]


def set_up(guests: Pair, before: Before) -> None:
    """On both; it counts from the next boot on, so that neither guest loses its way in meanwhile."""
    for guest in guests:
        for path, text in before.files.items():
            write = f"umask 077; mkdir -p {path.rpartition('/')[0]}; cat >{path}; chmod 644 {path}"
            if "/netplan/" in path:
                write = write.replace("644", "600")
            guest.output(f"printf %s {shlex.quote(text)} | sudo sh -c {shlex.quote(write)}")
        guest.output("sudo systemctl enable -q systemd-networkd && sync")
    pair.cut_power(*NODES)
    for guest in guests:
        assert [state(guest, netdev) for netdev in (MANAGEMENT, A, B)] == ["unmanaged"] * 3


def cure_of(stderr: str) -> str:
    [line] = {line.partition("Try: ")[2].strip() for line in stderr.splitlines() if "does not manage" in line}
    return line


@pytest.mark.fault(12)
@pytest.mark.parametrize("before", STATES.values(), ids=STATES)
def test_the_printed_file_gives_the_ports_to_networkmanager(pristine: Pair, before: Before, seen: Seen) -> None:
    set_up(pristine, before)
    pristine.a.output(f"sudo nmcli device set {A} managed yes")
    assert state(pristine.a, A) == "unmanaged", "what is authoritative is not overruled"

    done = deploy(*before.adopt)
    assert done.code == 1 and "Starting operation" not in done.stderr and "Traceback" not in done.stderr
    said = " ".join(done.stderr.split())
    assert f"NetworkManager does not manage {A} and {B}" in said and before.said in said, said[-3000:]
    cure = cure_of(done.stderr)
    assert all(piece in cure for piece in before.cure), cure
    for guest in pristine:
        guest.output(cure, timeout=300)  # as printed, over the management network
        wait_until(
            lambda guest=guest: "unmanaged" not in (state(guest, A), state(guest, B)),  # type: ignore[misc]
            120,
            happened=f"NetworkManager does not take the ports of {guest.node}",
            attempt=cure,
        )
        assert state(guest, MANAGEMENT) == "unmanaged", "the way in is networkd's, as before"
        assert guest.output("sudo stat -c %a /etc/netplan/90-sparkrig-fabric.yaml") == "600"

    done = deploy(*before.adopt)
    assert done.code == 0, done.stderr[-3000:]
    assert planned() == {}, "the file that gives the ports away is no second definition"
    assert run("sparkrig", "drift", LAB, "--json").code == 0
    pair.cut_power(*NODES)
    for guest in pristine:
        assert links(guest) == ours(guest)
        assert state(guest, MANAGEMENT) == "unmanaged"
        assert re.search(r"routable +configured", guest.output(f"networkctl --no-legend list {MANAGEMENT}"))
    assert planned() == {}
    seen(f"{cure[:60]}... was typed on both; deployed, empty after a power cut, management still networkd's")
