"""T3: a pair whose fabric NVIDIA's helper and a person had set up before, taken over by sparkrig or left alone.

The definitions are real: netplan renders `40-cx7.yaml` into profiles of NetworkManager, which activates them.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from threading import Thread

import pytest

from lab import NODES, pair
from lab.ssh import command
from tests.faults.record import Seen
from tests.lab.commands import CLUSTER, LAB, ROOT, Done, assert_state, planned, run
from tests.lab.guests import Guest, Pair
from tests.lab.links import LAST, A, B, links, ours

pytestmark = pytest.mark.exhaustive  # make faults runs them

NETWORK = "deploys/network.py"
STEP = "Network | profiles and live links"
OLD = "Wired connection 1"
FILE = """network:
  version: 2
  renderer: NetworkManager
  ethernets:
    {A}: {{addresses: [192.168.{first}.{last}/24], mtu: 9000}}
    {B}: {{addresses: [192.168.{second}.{last}/24], mtu: 9000}}
"""
GOES = {"40-cx7.yaml": "set-aside", OLD: "set-aside"}
# the same activation of the same profile, and a cable that was never out
UNBROKEN = "nmcli -g GENERAL.CON-PATH device show {0}; cat /sys/class/net/{0}/carrier_down_count"
MANAGEMENT = UNBROKEN.format("enP7s7")

Inventory = Callable[[dict[str, str]], str]


@pytest.fixture
def inventory(tmp_path: Path) -> Inventory:
    """The lab's inventory with what becomes of other people's definitions."""

    def made(adopt: dict[str, str]) -> str:
        shutil.copytree(ROOT / "inventories", tmp_path / "inventories", dirs_exist_ok=True)
        path = tmp_path / "inventories" / "lab.py"
        text = (ROOT / LAB).read_text()
        assert '"pair": "lab",' in text
        path.write_text(text.replace('"pair": "lab",', f'"pair": "lab", "adopt": {adopt!r},'))
        return str(path)

    return made


def write(guest: Guest, first: int, second: int) -> None:
    """NVIDIA's file, rendered, and not active by itself."""
    text = FILE.format(A=A, B=B, first=first, second=second, last=LAST[guest.node])
    guest.output(f"sudo sh -c 'umask 077; cat >/etc/netplan/40-cx7.yaml' <<'E'\n{text}E")
    guest.output("sudo netplan generate && sudo nmcli connection reload")


def define(guest: Guest, first: int, second: int) -> None:
    """NVIDIA's file, in charge."""
    write(guest, first, second)
    guest.output(f"sudo nmcli connection up netplan-{A} && sudo nmcli connection up netplan-{B}")


@pytest.fixture
def before(pristine: Pair) -> Pair:
    """Both definitions on both hosts, with other addresses than the inventory's."""
    for guest in pristine:
        define(guest, 177, 178)
        add = f"sudo nmcli connection add type ethernet con-name '{OLD}' ifname {A}"
        guest.output(f"{add} connection.autoconnect-priority -1")
    return pristine


def deploy(inventory: str, file: str = NETWORK) -> Done:
    return run("pyinfra", "-y", inventory, file)


@contextmanager
def one_session(guest: Guest) -> Iterator[list[float]]:
    """One ssh session that is there before and after; when each of its words arrived here, in seconds."""
    session = subprocess.Popen(
        command(guest.node, "while echo here; do sleep 0.5; done"),
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    arrived: list[float] = []
    assert session.stdout
    listener = Thread(target=lambda: arrived.extend(time.monotonic() for _ in session.stdout or ()))
    listener.start()
    try:
        yield arrived
        assert session.poll() is None, "the session broke off"
    finally:
        session.terminate()
        listener.join(20)


@pytest.mark.fault(12)
def test_both_are_shown_and_nothing_is_changed(before: Pair, inventory: Inventory, seen: Seen) -> None:
    then = [links(guest) for guest in before]
    done = deploy(LAB)
    assert done.code == 1 and "Traceback" not in done.stderr and "Starting operation" not in done.stderr
    said = re.sub(r"\.1[12]/24", ".N/24", done.stderr)  # the half that is looked at first is refused for both
    assert f"/etc/netplan/40-cx7.yaml defines {A} (192.168.177.N/24, MTU 9000) and {B} (192.168.178.N/24" in said
    assert f"NetworkManager profile '{OLD}' (/etc/NetworkManager/system-connections/{OLD}.nmconnection)" in said
    assert f"adopt={json.dumps(GOES)}" in said
    assert [links(guest) for guest in before] == then

    done = deploy(inventory({"40-cx7.yaml": "adopt", OLD: "set-aside"}))
    assert done.code == 1
    said = re.sub(r"\.1[12]/24", ".N/24", done.stderr)
    assert f"{A} (192.168.177.N/24, MTU 9000; the inventory says 192.168.100.N/24)" in said
    assert f'"fabric": {{"{A}": "192.168.177.N/24", "{B}": "192.168.178.N/24"}}' in said
    assert [links(guest) for guest in before] == then
    seen("both definitions shown on both hosts with the setting to write; adopting another address refused")


@pytest.mark.fault(12)
def test_setting_aside_keeps_the_way_in_and_holds_after_a_reboot(
    before: Pair, inventory: Inventory, seen: Seen
) -> None:
    way_in = [guest.output(MANAGEMENT) for guest in before]
    with one_session(before.a) as arrived:
        done = deploy(inventory(GOES))
    assert done.code == 0, done.stderr[-3000:]
    assert [guest.output(MANAGEMENT) for guest in before] == way_in
    pause = max(later - sooner for sooner, later in pairwise(arrived))
    assert pause < 10, "the session was cut off for a while"

    for guest in before:
        assert links(guest) == ours(guest)
        assert guest.run("ls /etc/netplan/40-cx7.yaml").rc != 0
        # NetworkManager gives the name to one that it generates for a bare netdev
        assert guest.run(f"sudo ls '/etc/NetworkManager/system-connections/{OLD}.nmconnection'").rc != 0
        guest.output("sudo sh -c 'find /var/lib/sparkrig/runs/*/guard -name 40-cx7.yaml | grep -q .'")
    assert STEP not in planned(), "the setting is not needed any more"

    for node in NODES:
        pair.cut_power(node)
    for guest in before:
        assert links(guest) == ours(guest)
    assert STEP not in planned(inventory(GOES))
    seen(f"longest pause of an open ssh session {pause:.1f} s; same links after a power cut, plan empty")


def test_a_file_that_goes_breaks_no_live_link(pristine: Pair, inventory: Inventory, seen: Seen) -> None:
    """`netplan generate` and `nmcli connection reload` are enough, and break nothing."""
    assert deploy(LAB).code == 0
    for guest in pristine:
        write(guest, 177, 178)
        assert f"netplan-{A}" in guest.output("nmcli -g NAME connection show")
        assert links(guest) == ours(guest)
    rails = [guest.output(UNBROKEN.format(netdev)) for guest in pristine for netdev in (A, B)]
    done = deploy(inventory({"40-*.yaml": "set-aside"}))
    assert done.code == 0, done.stderr[-3000:]
    for guest in pristine:
        assert links(guest) == ours(guest)
        assert "netplan-" not in guest.output("nmcli -g NAME connection show")
    assert rails == [guest.output(UNBROKEN.format(netdev)) for guest in pristine for netdev in (A, B)]
    seen("file moved away, generated and reloaded: profiles gone, the rails' activations the same as before")


def test_what_is_left_in_charge_carries_the_rest(pristine: Pair, inventory: Inventory, seen: Seen) -> None:
    for guest in pristine:
        define(guest, 100, 101)
    then = [links(guest) for guest in pristine]
    left = inventory({"40-cx7.yaml": "leave"})
    done = deploy(left, CLUSTER)
    assert done.code == 0, done.stderr[-3000:]
    assert [links(guest) for guest in pristine] == then
    assert "sparkrig-" not in pristine.a.output("nmcli -g NAME connection show")
    assert planned(left) == {}
    assert_state(left)

    pristine.b.output(f"sudo ip link set {A} mtu 1500")
    done = deploy(left)
    assert done.code == 1
    assert f"[spark-b] Refused: the definition that is left in charge of {A} gives its link" in done.stderr
    seen("GID, environment and bandwidth on links that netplan's profiles hold; another MTU is refused")
