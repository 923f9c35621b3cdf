"""The switch: its command line, what it is asked, and what it answers."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from lab import ports
from lab.cli import lab
from lab.errors import LabError
from lab.image import GUEST
from lab.layout import cluster, pair, put_in_force
from lab.nodes import CABLED, SWITCH
from lab.qemu import Plan
from lab.switch import Port, Switch, command
from lab.wiring import cages

PLAN = Plan(SWITCH, "tcg", Path("/lab/images/key"), Path("/lab"), cluster("switch", 3).cabling)
INIT = (GUEST / "build/switch/init").read_text()


def test_the_switch_is_the_guests_kernel_with_its_own_small_system_and_no_disk() -> None:
    words = command(PLAN)
    assert words[words.index("-kernel") + 1] == "/lab/images/key/vmlinuz"
    assert words[words.index("-initrd") + 1] == "/lab/images/key/switch.initrd"
    assert "-drive" not in words and "hostfwd" not in " ".join(words)
    assert sum(word.startswith("virtio-net-pci") for word in words) == 2 * len(CABLED)


def test_each_netdev_is_found_by_its_address_as_the_switchs_own_program_reads_it() -> None:
    """Port and twin are the last two bytes; the program names port 1 `a`, and the twin by its last digit."""
    macs = re.findall(r"netdev=(\w+),mac=52:54:00:1c:(\w\w):0(\w)", " ".join(command(PLAN)))
    assert macs == [
        (netdev, f"{number:02x}", str(lane))
        for number, node in enumerate(CABLED, 1)
        for lane, netdev in enumerate(cages(SWITCH)[node])
    ]
    letters = re.search(r"echo ([a-z ]+) \| cut", INIT)
    assert letters and letters[1].split()[: len(CABLED)] == [cages(SWITCH)[node][0][0] for node in CABLED]
    assert "52:54:00:1c:*" in INIT


def test_a_request_has_what_the_switchs_program_expects() -> None:
    assert Port(mtu=1500, vlan=20, rate=100).request("spark-b") == "port b 1500 br1 20 100"
    assert Port(bridge=2).request("spark-a") == "port a 9216 br2 1 0"
    assert "port() { # PORT MTU BRIDGE VLAN RATE" in INIT


def test_what_no_port_has_is_refused() -> None:
    for setting, value, said in (
        ("mtu", 1000, r"mtu 1000 of a port \(1280 to 9216\)"),
        ("mtu", 9217, "mtu 9217"),
        ("vlan", 4095, "vlan 4095"),
        ("bridge", 0, "bridge 0"),
        ("rate", -1, "rate -1"),
    ):
        with pytest.raises(LabError, match=said):
            Port(**{setting: value})


@contextmanager
def answering(folder: Path, *, code: int = 0) -> Iterator[list[str]]:
    """A switch that has booted after its first question, and answers each later one; the questions."""
    folder.mkdir()
    asked: list[str] = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "control"))
        server.listen()

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    for line in client.makefile():
                        asked.append(line.strip().partition(" ")[2])
                        if len(asked) == 1:
                            client.sendall(line[:4].encode())  # an echo that is cut off
                            continue
                        client.sendall(
                            f"{'RTNETLINK answers: no' if code else ''}\r\n{line.split()[0]} {code}\r\n".encode()
                        )

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield asked
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def test_a_switch_that_boots_is_asked_anew_until_it_answers(
    lab_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.switch.PING_S", 0.1)
    monkeypatch.setattr(Switch, "pid", lambda _: 1)
    with answering(lab_folder / SWITCH) as asked:
        assert not Switch().answers()
        assert Switch().answers()
        Switch().set_ports({"spark-a": Port(), "spark-b": Port(mtu=1500)})
    assert asked == ["ping", "ping", "port a 9216 br1 1 0", "port b 1500 br1 1 0"]
    assert Switch().ports()["spark-b"] == Port(mtu=1500)
    assert Switch().ports()["spark-d"] == Port(), "as a new one"


def test_what_the_switch_refuses_is_said_in_its_own_words_and_not_kept(
    lab_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.switch.PING_S", 0.1)
    monkeypatch.setattr(Switch, "pid", lambda _: 1)
    with answering(lab_folder / SWITCH, code=2):
        assert not Switch().answers()
        with pytest.raises(LabError, match="could not port b 1500 br1 1 0: RTNETLINK answers: no"):
            Switch().set_ports({"spark-b": Port(mtu=1500)})
    assert Switch().ports()["spark-b"] == Port()


def test_a_switch_that_ended_is_not_waited_for() -> None:
    with pytest.raises(LabError, match="the switch ended"):
        Switch().answers()


def test_ports_are_those_of_the_switch_that_runs() -> None:
    with pytest.raises(LabError, match="no switch, but the topology cable"):
        ports.set_port("spark-a", mtu=1500)
    put_in_force(cluster("switch", 3))
    with pytest.raises(LabError, match="spark-d is not at the switch"):
        ports.set_port("spark-d")
    with pytest.raises(LabError, match="the switch does not run"):
        ports.set_port("spark-a")
    put_in_force(pair())
    with pytest.raises(LabError, match="no switch, but the topology cable"):
        ports.power(off=True, on=False)


def test_status_shows_the_switch_and_the_lan_where_there_are_any() -> None:
    put_in_force(cluster("switch", 3))
    shown = CliRunner().invoke(lab, ["status"]).stdout.splitlines()
    assert shown[-2:] == ["switch   stopped", "lan      stopped"]
    put_in_force(cluster("ring", 3))
    assert CliRunner().invoke(lab, ["status"]).stdout.splitlines()[-2:] == ["spark-s  absent", "lan      stopped"]
