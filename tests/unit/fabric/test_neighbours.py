"""The neighbour probe: its rows, and the program itself on real netdevs between two network namespaces."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sparkrig.fabric.neighbours import Heard, Neighbours, parse
from sparkrig.facts import neighbours
from sparkrig.facts.neighbours import Neighbours as Fact
from tests.unit.shells import well

ROWS = """\
sent enP2p1s0f0np0 40
sent enp1s0f0np0 40
down enp1s0f1np1
heard enp1s0f0np0 52:54:00:1B:01:01 31
heard enp1s0f0np0 52:54:00:1b:01:02 30
end
"""
PAIR = Neighbours(
    {"enP2p1s0f0np0": 40, "enp1s0f0np0": 40},
    ("enp1s0f1np1",),
    (Heard("enp1s0f0np0", "52:54:00:1b:01:01", 31), Heard("enp1s0f0np0", "52:54:00:1b:01:02", 30)),
)
READ = {
    "a pair": (ROWS, PAIR),
    "with CRLF": (ROWS.replace("\n", "\r\n"), PAIR),
    "with a warning in front": ("sudo: unable to resolve host spark-a\n\n" + ROWS, PAIR),
    "no cable, no netdev": ("end\n", Neighbours()),
    "no python": ("trouble python3 is not installed\n", Neighbours(trouble="python3 is not installed")),
    "no reason": ("trouble\n", Neighbours(trouble="no reason was given")),
}


@pytest.mark.parametrize(("text", "expected"), READ.values(), ids=READ)
def test_rows(text: str, expected: Neighbours) -> None:
    assert parse(text.split("\n")) == expected


REFUSED = {
    "nothing": ("", "broke off"),
    "truncated": (ROWS.removesuffix("end\n"), "broke off"),
    "a field too few": ("heard enp1s0f0np0 52:54:00:1b:01:01\nend\n", "cannot read the neighbour row"),
    "no count": ("sent enp1s0f0np0 many\nend\n", "no number of frames"),
    "no MAC address": ("heard enp1s0f0np0 nobody 3\nend\n", "'nobody' is no MAC address"),
}


@pytest.mark.parametrize(("text", "why"), REFUSED.values(), ids=REFUSED)
def test_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse(text.splitlines())


def test_command_has_an_end_and_writes_no_file() -> None:
    command = Fact().command(2.5)
    assert "set -- 20 1 10 1\n" in command and "<<'SPARKRIG_PROBE'\n" in command
    assert command.count("\nSPARKRIG_PROBE\n") == 1
    assert "set -- 14 1 4 7\n" in Fact().command(fan=7)


# Two namespaces of their own, which go when the shell goes; a user namespace, so that root is not needed.
JOINED = r"""
set -e
mount -t tmpfs tmpfs /run
ip netns add a; ip netns add b
for name in enp1s0f0np0 enP2p1s0f0np0 lan0; do
  ip link add $name netns a type veth peer name $name netns b
done
ip -n a link add enp1s0f1np1 type veth peer name other0
for name in enp1s0f0np0 lan0; do ip -n a link set $name up; ip -n b link set $name up; done
ip -n a link set enP2p1s0f0np0 up
for ns in a b; do ip -n $ns -br link show enp1s0f0np0 | awk -v ns=$ns '{print "mac", ns, $3}'; done
ip netns exec a sh "$1" >/run/a & sleep "$2"; ip netns exec b sh "$1" >/run/b; wait
for ns in a b; do sed "s/^/$ns /" /run/$ns; done
"""


def unshared(script: str, *words: str) -> list[str]:
    shown = well(
        subprocess.run(
            ["unshare", "--map-root-user", "--net", "--mount", "sh", "-c", script, "sh", *words],
            capture_output=True,
            text=True,
            timeout=60,
        )
    )
    return shown.stdout.splitlines()


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(neighbours, "_LISTEN_S", 0.5)
    monkeypatch.setattr(neighbours, "_LONGEST_S", 3)
    file = tmp_path / "probe"
    file.write_text(Fact().command(1))
    return str(file)


@pytest.mark.slow  # netdevs without an answer are listened to for 3 s
@pytest.mark.parametrize("later", ["0", "1"], ids=["at once", "when one of them has listened long enough"])
def test_two_hosts_hear_each_other_over_their_fabric_and_nothing_else(program: str, later: str) -> None:
    shown = unshared(JOINED, program, later)
    macs = {ns: mac for word, ns, mac in (row.split() for row in shown if row.startswith("mac"))}
    a, b = (parse([row[2:] for row in shown if row.startswith(f"{ns} ")]) for ns in "ab")
    assert (a.trouble, b.trouble) == ("", "")
    assert set(a.sent) == {"enp1s0f0np0", "enP2p1s0f0np0"} and a.down == ("enp1s0f1np1",)
    assert set(b.sent) == {"enp1s0f0np0"} and b.down == ("enP2p1s0f0np0",)
    assert [(row.netdev, row.mac) for row in a.heard] == [("enp1s0f0np0", macs["b"])]
    assert [(row.netdev, row.mac) for row in b.heard] == [("enp1s0f0np0", macs["a"])]
    assert a.heard[0].count >= 3


def test_a_spark_without_a_fabric_netdev_ends_at_once(program: str) -> None:
    assert parse(unshared('mount -t sysfs sysfs /sys; exec sh "$1"', program)) == Neighbours()


def test_without_the_right_to_open_a_raw_socket_it_says_so(program: str) -> None:
    made = "ip link add enp1s0f0np0 type veth peer name other0; ip link set enp1s0f0np0 up; "
    shown = unshared(
        made + 'mount -t sysfs sysfs /sys; exec setpriv --bounding-set=-net_raw --inh-caps=-net_raw sh "$1"',
        program,
    )
    assert parse(shown).trouble == "no raw socket could be opened (Operation not permitted)"


def test_without_python_it_says_so() -> None:
    shown = subprocess.run(
        ["/bin/sh", "-c", Fact().command(1)], capture_output=True, text=True, env={"PATH": "/x"}
    )
    assert parse(shown.stdout.splitlines()).trouble == "python3 is not installed"


# three hosts on a bridge each; the port of c takes 1500 bytes, and d is in a bridge of its own
SWITCHED = r"""
set -e
mount -t tmpfs tmpfs /run
ip link add sw type bridge; ip link add other type bridge; ip link set sw up; ip link set other up
for ns in a b c d; do
  ip netns add $ns
  ip link add enp1s0f0np0 netns $ns mtu 9000 type veth peer name port-$ns
  ip link set port-$ns mtu 9000 master sw; ip link set port-$ns up; ip -n $ns link set enp1s0f0np0 up
  ip -n $ns -br link show enp1s0f0np0 | awk -v ns=$ns '{print "mac", ns, $3}'
done
ip link set port-c mtu 1500; ip link set port-d master other
for ns in a b c d; do ip netns exec $ns sh "$1" >/run/$ns & [ $ns != a ] || sleep "$2"; done; wait
for ns in a b c d; do sed "s/^/$ns /" /run/$ns; done
"""


@pytest.mark.slow  # a port that hears nothing is listened to for 3 s
@pytest.mark.parametrize("later", ["0", "1"], ids=["at once", "when the first has listened long enough"])
def test_a_real_bridge_shows_which_port_drops_large_frames_and_which_is_apart(
    program: str, tmp_path: Path, later: str
) -> None:
    """Linux's own bridge, which no table of rows can stand for; each hears the two others, however late.

    A port whose MTU is smaller drops large frames in both directions.
    """
    (tmp_path / "probe").write_text(Fact().command(1, 2))
    shown = unshared(SWITCHED, program, later)
    macs = {mac: ns for word, ns, mac in (row.split() for row in shown if row.startswith("mac"))}
    found = {ns: parse([row[2:] for row in shown if row.startswith(f"{ns} ")]) for ns in "abcd"}
    assert all(each.long == {"enp1s0f0np0": 9000} for each in found.values())
    heard = {ns: {macs[row.mac] for row in each.heard} for ns, each in found.items()}
    assert heard == {"a": {*"bc"}, "b": {*"ac"}, "c": {*"ab"}, "d": set()}
    large = {ns: {macs[row.mac] for row in each.heard_long} for ns, each in found.items()}
    assert large == {"a": {"b"}, "b": {"a"}, "c": set(), "d": set()}
