"""T3: faults put into the virtual fabric, and what is said of them. Issue 3, "Done when", line 2.

Each test starts from the deployed pair, ends within a time limit, gets the verdict for what was done to it,
and finds nothing of the measurement left on the hosts.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import NODES, pair, wiring
from lab.machine import Machine
from lab.pair import rewire
from lab.waiting import wait_until
from tests.faults.record import Seen
from tests.lab.commands import BIN, LAB, ROOT, Done, run
from tests.lab.guests import Guest, Pair
from tests.lab.states import DEPLOYED

ENDS_S = 20  # shorter than any time limit of a measurement's own processes
LIMIT_S = 240  # a thorough run without a fault takes 90 here
UNITS = "systemctl list-units --plain --no-legend --state=active 'sparkrig-bandwidth-*'"
# what services of a guest write; dpkg-db-backup does so at midnight
_BY_THEMSELVES = ("/var/log", "/run", "/var/lib/NetworkManager", "/var/backups", "/var/lib/systemd")
# what a measurement could leave: units, processes, files outside of /proc and /sys younger than the mark
TRACES = (
    "systemctl list-units --all --plain --no-legend 'sparkrig*'; "
    "pgrep -ax 'ib_write_bw|ib_write_lat'; pgrep -af '[p]robe_neighbours|[S]PARKRIG_PROBE'; "
    "sudo find / -xdev -newer /run/mark -type f" + "".join(f" -not -path '{place}/*'" for place in _BY_THEMSELVES)
)


@pytest.fixture
def watched(deployed: Pair) -> Iterator[Pair]:
    """The deployed pair, on which no trace of a measurement may be found afterwards."""
    for guest in deployed:
        guest.output("sudo touch /run/mark")
    yield deployed
    for guest in deployed:
        rest = left(guest)
        assert not rest, f"left behind on {guest.node}: {rest}"


def left(guest: Guest) -> str:
    """What a measurement left on a guest. One that was killed gives its memory of RDMA back first, for a while."""
    deadline = time.monotonic() + ENDS_S
    while found := guest.run(TRACES).stdout:
        if time.monotonic() > deadline:
            break
    return found


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "history.jsonl"


def bandwidth(history: Path, *flags: str) -> tuple[Done, dict[str, Any]]:
    """A run of the command within the limit: how it ended, and what it said of the pair."""
    done = run("sparkrig", "bandwidth", LAB, "--json", "--history", str(history), *flags, timeout=LIMIT_S)
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    print(done.stderr)  # every verdict, for whoever reads of a test that failed
    return done, json.loads(done.stdout)["pairs"][0]


def causes(document: dict[str, Any]) -> dict[int, tuple[str, str]]:
    """Level and cause of each rail."""
    return {row["number"]: (row["verdict"]["level"], row["verdict"]["cause"]) for row in document["rails"]}


def evidence(document: dict[str, Any], rail: int = 0) -> str:
    return str(document["rails"][rail]["verdict"]["evidence"])


def findings(document: dict[str, Any]) -> set[tuple[str, str]]:
    return {(row["subject"], row["verdict"]["cause"]) for row in document["findings"]}


def said_of(document: dict[str, Any], cause: str) -> str:
    """The evidence of the finding with that cause."""
    verdicts = [row["verdict"] for row in document["findings"]]
    return next(str(verdict["evidence"]) for verdict in verdicts if verdict["cause"] == cause)


# Waited for on the host, for a round trip from outside may take longer than what is left of a test, and by one
# small process, for `ss -p` takes seconds on an emulated processor that a test keeps busy. The first connection
# (01) to one of trial's ports, 18515 to 18614, is a bandwidth test's. perftest exchanges its addresses first,
# hence the second. Ahead of soft-RoCE's workers, beside which a pkill takes ten.
CONNECTED = "grep -q ' [0-9A-F]*:48[5-9AB][0-9A-F] [0-9A-F:]* 01 ' /proc/net/tcp /proc/net/tcp6"
IN_MID_TEST = f"until {CONNECTED}; do sleep 0.2; done; sleep 1"
MID_TEST = ("--quick", "--seconds", "8")


def in_mid_test(
    at: Guest, act: Callable[[], object] = lambda: None, *, and_there: str = "true"
) -> threading.Thread:
    """Act, here or by a line on the host, once a bandwidth client is connected to a server of ours there."""

    def wait_and_act() -> None:
        line = shlex.quote(f"{IN_MID_TEST}; {and_there}")
        at.output(f"sudo timeout 120 chrt --fifo 50 sh -c {line}", timeout=150)
        act()

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


@pytest.mark.exhaustive
def test_a_healthy_pair(watched: Pair, history: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done, document = bandwidth(history, "--html", str(page))
    assert done.code == 0, done.stdout
    assert causes(document) == {0: ("healthy", ""), 1: ("healthy", "")}
    kinds = {(row["test"], row["rail"], row["sender"], row["queue_pairs"]) for row in document["measurements"]}
    assert kinds >= {("ib_write_bw", rail, node, pairs) for rail in (0, 1) for node in NODES for pairs in (1, 4)}
    assert {("ib_write_lat", rail, "spark-a", 1) for rail in (0, 1)} <= kinds
    together = [row for row in document["measurements"] if row["together"]]
    assert {(row["rail"], row["sender"]) for row in together} == {
        (rail, node) for rail in (0, 1) for node in NODES
    }
    assert all(row["path_mtu"] == 4096 for row in document["measurements"] if row["test"] == "ib_write_bw")
    rows = [json.loads(line) for line in history.read_text().splitlines()]
    assert len(rows) == 1 and len(rows[0]["measurements"]) == len(document["measurements"])
    assert (rows[0]["verdict"]["level"], rows[0]["mtu"]) == ("healthy", 9000)
    assert all(host["boot_id"] for host in rows[0]["hosts"].values())
    text = page.read_text()
    assert "<svg" in text and "</html>" in text and "healthy" in text


@pytest.mark.exhaustive
def test_a_second_run_is_compared_with_the_first(watched: Pair, history: Path) -> None:
    for _ in range(3):
        assert bandwidth(history, "--quick")[0].code == 0
    done = run("sparkrig", "bandwidth", LAB, "--quick", "--history", str(history), timeout=LIMIT_S)
    assert done.code == 0
    said = " ".join(done.stdout.split())
    assert re.search("in 3 healthy runs before|% of the median of the earlier ones", said), done.stdout


@pytest.mark.fault(15)
def test_cable_out(watched: Pair, history: Path, seen: Seen) -> None:
    pair.cable("spark-a", "p0", plugged=False)
    done, document = bandwidth(history)
    assert done.code == 2
    assert causes(document) == {0: ("fault", "cable-out"), 1: ("fault", "cable-out")}
    assert document["measurements"] == []
    assert "p0 of spark-a" in evidence(document)
    seen(evidence(document))


@pytest.mark.fault(16)
def test_cables_crossed(deployed: Pair, history: Path, seen: Seen) -> None:
    rewire(NODES, wiring.CROSSED, DEPLOYED)
    try:
        done, document = bandwidth(history)
    finally:
        rewire(NODES, wiring.STRAIGHT, DEPLOYED)
    assert done.code == 2
    assert causes(document) == {0: ("fault", "cable-crossed"), 1: ("fault", "cable-crossed")}
    assert "p0 of spark-a reaches p1 of spark-b" in evidence(document)
    assert "from p1 of spark-b to p0 of spark-b" in document["rails"][0]["verdict"]["cure"]
    seen(evidence(document))


@pytest.mark.fault(13, 14)
def test_one_rail_missing(watched: Pair, history: Path, seen: Seen) -> None:
    """As when one of a cage's two PCIe links did not come up: the netdev is not there."""
    driver = "/sys/bus/virtio/drivers/virtio_net/unbind"
    watched.b.output(
        f"basename $(readlink /sys/class/net/enP2p1s0f0np0/device) | sudo tee {driver} >/dev/null; "
        "! test -e /sys/class/net/enP2p1s0f0np0"
    )
    Machine("spark-b").set_carriers({"enP2p1s0f0np0": False})  # what is not there swallows what it is sent
    done, document = bandwidth(history, "--quick")
    assert done.code == 2
    assert causes(document) == {0: ("healthy", ""), 1: ("fault", "netdev-missing")}
    assert "spark-b has no enP2p1s0f0np0" in evidence(document, 1)
    seen(evidence(document, 1))


@pytest.mark.fault(19)
@pytest.mark.exhaustive
def test_mtu_1500_on_one_side(watched: Pair, history: Path, seen: Seen) -> None:
    watched.b.output("sudo ip link set enp1s0f0np0 mtu 1500")
    done, document = bandwidth(history, "--quick")
    assert done.code == 2
    assert causes(document) == {0: ("degraded", "path-mtu"), 1: ("healthy", "")}
    assert "path MTU 1024, 4096 expected: on spark-b, MTU of enp1s0f0np0: 1500" in evidence(document)
    seen(evidence(document))


@pytest.mark.fault(25)
@pytest.mark.exhaustive
def test_a_link_that_flaps_in_mid_test(watched: Pair, history: Path, seen: Seen) -> None:
    def flap() -> None:
        pair.cable("spark-a", "p0", plugged=False)
        time.sleep(0.5)
        pair.cable("spark-a", "p0", plugged=True)

    thread = in_mid_test(watched.b, flap)
    done, document = bandwidth(history, *MID_TEST)
    thread.join()
    assert done.code == 2
    assert causes(document)[0][1] == "link-flap", document["rails"]
    assert "lost its carrier" in evidence(document)
    seen(evidence(document))


@pytest.mark.fault(24)
def test_a_server_that_is_killed_in_mid_test(watched: Pair, history: Path, seen: Seen) -> None:
    """Both rails are measured at once, and the server of one is killed."""
    thread = in_mid_test(watched.b, and_there="pkill -9 -f 'ib_write_bw .*-p 18515$'")
    done, document = bandwidth(history, *MID_TEST)
    thread.join()
    assert done.code == 2
    assert causes(document) == {0: ("fault", "peer-died"), 1: ("healthy", "")}
    assert "the server on spark-b was ended in mid-test (code=killed, status=9/KILL)" in evidence(document)
    seen(evidence(document))


@pytest.mark.fault(23)
@pytest.mark.exhaustive
def test_a_port_that_a_server_of_somebody_else_holds(watched: Pair, history: Path, seen: Seen) -> None:
    """It is named and left alone, and the rails are measured on the next ports."""
    watched.b.output("sudo systemd-run -q --unit=theirs ib_write_bw -d rocep1s0f0 -x 1 -p 18515")
    done, document = bandwidth(history, "--quick")
    assert watched.b.run("systemctl is-active theirs").stdout.strip() == "active", "only our own is ever ended"
    watched.b.output("sudo systemctl stop theirs")
    assert done.code == 0
    assert causes(document) == {0: ("healthy", ""), 1: ("healthy", "")}
    assert ("spark-b", "port-busy") in findings(document)
    seen(said_of(document, "port-busy"))


@pytest.mark.fault(23)
@pytest.mark.exhaustive
def test_a_server_that_an_earlier_run_of_ours_left_over(watched: Pair, history: Path, seen: Seen) -> None:
    unit = "sparkrig-bandwidth-18515-0ddba11"
    watched.b.output(f"sudo systemd-run -q --collect --unit={unit} ib_write_bw -d rocep1s0f0 -x 1 -p 18515")
    watched.b.run("sleep 61")  # a server may wait for its client for 15 s, times the lab's patience of 4
    done, document = bandwidth(history, "--quick")
    assert done.code == 0
    assert ("spark-b", "stale-server") in findings(document)
    seen(said_of(document, "stale-server"))


@pytest.mark.parametrize("what", ["link-local", "second-ipv4"])
@pytest.mark.fault(21)
@pytest.mark.exhaustive
def test_addresses_that_move_the_index(watched: Pair, history: Path, what: str, seen: Seen) -> None:
    """The index is looked up where it is now, and the one that the files carry is said to be stale.

    The deploy switches IPv6 off on the rails, so that no second link-local comes; here it is on again.
    """
    netdev, own = "enp1s0f0np0", "192.168.100.11/24"
    other = "fe80::5:5/64" if what == "link-local" else "10.99.0.1/24"
    watched.a.output("sudo mv /etc/NetworkManager/dispatcher.d/90-sparkrig-gid /root/")  # it would follow at once
    watched.a.output(
        f"sudo sysctl -qw net.ipv6.conf.{netdev}.disable_ipv6=0 && "
        f"sudo ip addr del {own} dev {netdev} && sleep 1 && "
        f"sudo ip addr add {other} dev {netdev} && sleep 1 && sudo ip addr add {own} dev {netdev} && sleep 1"
    )
    done, document = bandwidth(history, "--quick")
    assert done.code == 2
    assert causes(document) == {0: ("healthy", ""), 1: ("healthy", "")}, "it works, for whoever looks it up"
    moved = next(row for row in document["findings"] if row["verdict"]["cause"] == "gid-moved")
    assert moved["subject"] == "spark-a enp1s0f0np0"
    assert ("link-local" if what == "link-local" else "10.99.0.1") in moved["verdict"]["evidence"]
    seen(said_of(document, "gid-moved"))


@pytest.mark.fault(24)
@pytest.mark.exhaustive
def test_a_host_that_loses_its_power_in_mid_test(deployed: Pair, history: Path, seen: Seen) -> None:
    thread = in_mid_test(deployed.b, lambda: pair.cut_power("spark-b"))
    done, document = bandwidth(history, *MID_TEST)
    thread.join()
    assert done.code in (2, 3)
    assert causes(document)[0] == ("unknown", "host-lost") or causes(document)[0][1] == "link-flap", document
    seen(evidence(document))


@pytest.mark.fault(40)
@pytest.mark.exhaustive
def test_an_interrupted_run_leaves_nothing_behind(watched: Pair, history: Path, seen: Seen) -> None:
    """Ctrl-C in mid-test: the server is stopped, and its client ends with it."""
    words = [str(BIN / "sparkrig"), "bandwidth", LAB, "--seconds", "30", "--history", str(history)]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        in_mid_test(watched.b, lambda: os.kill(process.pid, signal.SIGINT)).join()
        said, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode != 0
    assert "Traceback" not in said
    wait_until(
        lambda: all(guest.run("pgrep -x ib_write_bw").rc == 1 for guest in watched),
        60,
        happened="a client still runs",
        attempt="pgrep ib_write_bw",
    )
    seen("Ctrl-C in mid-measurement: no server and no client is left on either host")
