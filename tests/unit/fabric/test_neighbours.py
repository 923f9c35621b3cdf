"""The neighbour probe: its rows, and the program itself on real netdevs between two network namespaces."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sparkrig.fabric.neighbours import Heard, Neighbours, parse
from sparkrig.facts import neighbours
from sparkrig.facts.neighbours import Neighbours as Fact

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
    assert "set -- 20 2 10\n" in command and "<<'SPARKRIG_PROBE'\n" in command
    assert command.count("\nSPARKRIG_PROBE\n") == 1
    assert "set -- 14 2 4\n" in Fact().command()


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
    shown = subprocess.run(
        ["unshare", "--map-root-user", "--net", "--mount", "sh", "-c", script, "sh", *words],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert shown.returncode == 0, shown.stderr
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
