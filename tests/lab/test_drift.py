"""T3: what is changed by hand is found by drift under its id and class, and mended by the command it prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from tests.faults.record import Seen
from tests.lab.commands import drift, mend, wrong
from tests.lab.guests import Pair

pytestmark = pytest.mark.exhaustive  # several deploys under emulation

NETDEV, TWIN = "enp1s0f0np0", "enP2p1s0f0np0"
DISPATCHER = "/etc/NetworkManager/dispatcher.d/90-sparkrig-gid"
INDEX = "grep -l ffff:c0a8:650b /sys/class/infiniband/roceP2p1s0f0/ports/1/gids/* | sed s,.*/,,"
# other addresses take the slots before the wanted one comes back, and nobody tells the files
MOVE_GID = " && ".join(
    [
        f"sudo mv {DISPATCHER} /root/",
        f"sudo ip addr add 10.99.0.1/24 dev {TWIN} && sleep 1",
        f"sudo ip addr del 192.168.101.11/24 dev {TWIN}",
        f"sudo ip addr add 10.99.0.2/24 dev {TWIN} && sleep 1",
        f"sudo ip addr add 192.168.101.11/24 dev {TWIN} && sleep 1",
        f"sudo nmcli device reapply {TWIN}",
        # NetworkManager tells its scripts late, and they are looked for then
        "sleep 3 && timeout 90 sh -c 'while systemctl -q is-active NetworkManager-dispatcher; do sleep 1; done'",
        f"sudo mv /root/{DISPATCHER.rpartition('/')[2]} {DISPATCHER}",
    ]
)
ADD_PROFILE = f"sudo nmcli connection add type ethernet ifname {NETDEV} con-name cx7 autoconnect no"
EDIT_DAEMON = """sudo sh -c 'echo "{\\"log-driver\\": \\"json-file\\"}" >/etc/docker/daemon.json'"""


@dataclass(frozen=True)
class Change:
    """What somebody does by hand on a host, and what drift has to say of it."""

    host: str
    line: str
    id: str
    moved: str = "host"


CASES: Mapping[str, Sequence[Change]] = {
    "packages and files": (
        Change("spark-a", "sudo apt-mark unhold nvidia-driver-580-open", "driver.hold"),
        Change(
            "spark-a",
            "echo NCCL_DEBUG=INFO | sudo tee -a /etc/sparkrig/container.env",
            "environment.container.env",
        ),
        Change("spark-a", "sudo chmod 600 /etc/nccl.conf", "environment.nccl.conf"),
        Change("spark-b", "sudo rm /etc/apt/preferences.d/00-sparkrig-nvidia.pref", "driver.pin"),
        Change("spark-b", EDIT_DAEMON, "containers.daemon-json"),
    ),
    "network": (
        Change("spark-a", MOVE_GID, "rdma.gid-index", "environment"),
        Change("spark-a", ADD_PROFILE, f"net.{NETDEV}.others"),
        Change(
            "spark-b", f"sudo nmcli con mod sparkrig-{NETDEV} 802-3-ethernet.mtu 1500", f"net.{NETDEV}.profile"
        ),
        Change("spark-b", f"sudo ip link set {TWIN} mtu 1500", f"net.{TWIN}.mtu"),
    ),
    "containers": (
        Change("spark-a", "sudo systemctl stop docker.socket docker.service", "containers.docker"),
        Change("spark-b", "sudo apt-get purge -y nvidia-container-toolkit", "containers.toolkit"),
    ),
}
FOLLOWS = {"driver.upgrade"}  # without its pin or a hold, an upgrade may move what it did not


@pytest.mark.promise(10)
@pytest.mark.parametrize("changes", CASES.values(), ids=CASES)
def test_what_is_changed_by_hand_is_found_and_mended(
    deployed: Pair, changes: Sequence[Change], seen: Seen
) -> None:
    before = drift()
    assert before.code == 0, (wrong(before), before.stderr)
    guests = {guest.node: guest for guest in deployed}
    for change in changes:
        guests[change.host].output(change.line)
    if any(change.line == MOVE_GID for change in changes):
        assert deployed.a.output(INDEX) != "1", "the index did not move, so this would show nothing"

    found = drift()
    assert found.code == 2, found.stderr
    moved = wrong(found)
    assert {(change.host, change.id): change.moved for change in changes}.items() <= moved.items(), moved
    assert {id for _, id in moved} <= {change.id for change in changes} | FOLLOWS, moved

    commands = mend()
    after = drift()
    assert after.code == 0, (wrong(after), after.stderr)
    seen(f"{', '.join(change.id for change in changes)}: found, and mended by: {'; '.join(commands)}")


# what the deploy refuses one half for, what takes it back, and the checks that say so
REFUSED: Mapping[str, tuple[str, str, set[str]]] = {
    "a second profile": (ADD_PROFILE, "sudo nmcli connection delete cx7", {f"net.{NETDEV}.others"}),
    "NetworkManager is stopped": (
        "sudo systemctl stop NetworkManager",
        "sudo systemctl start NetworkManager && nm-online -s -q -t 60",
        {"net.manager"},
    ),
    "unmanaged": (
        f"sudo nmcli device set {NETDEV} managed no",
        f"sudo nmcli device set {NETDEV} managed yes && sudo nmcli connection up sparkrig-{NETDEV}",
        {f"net.{NETDEV}.active"},
    ),
    "a route collides": (
        "sudo sh -c 'ip link add odd0 type dummy; ip link set odd0 up; ip route add 192.168.100.0/22 dev odd0'",
        "sudo ip link del odd0",
        {"net.plan"},
    ),
}


@pytest.mark.parametrize("half", [0, 1], ids=["spark-a", "spark-b"])
@pytest.mark.parametrize(("line", "back", "ids"), REFUSED.values(), ids=REFUSED)
def test_one_half_that_is_refused_alone_is_a_report_of_both(
    deployed: Pair, half: int, line: str, back: str, ids: set[str], seen: Seen
) -> None:
    """That the real tools print what tests/plan/test_one_half_refused.py feeds in."""
    guest, other = (*deployed,)[half], (*deployed,)[1 - half]
    guest.output(line)
    found = drift()
    guest.output(back)
    assert found.code in (2, 3), found.stderr
    moved = wrong(found)
    assert ids <= {id for host, id in moved if host == guest.node}, moved
    assert not [id for host, id in moved if host == other.node], moved
    seen(f"{guest.node}: {', '.join(sorted(ids))}; exit code {found.code}")
