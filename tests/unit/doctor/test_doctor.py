"""What the doctor's checks come to: exit code, verdict and next command, and the lines that a person sees."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from sparkrig.bandwidth.records import Record, age
from sparkrig.cure import deploy, local, on_host, on_hosts, verb
from sparkrig.doctor.doctor import Report
from sparkrig.doctor.render.doctor import lines
from sparkrig.fleet import Fleet
from sparkrig.resources.check import Check
from tests.unit.doctor_reports import LOST, MTU, NETDEV, NOW, OK, PATH, ROOT, A, B, made

DEPLOY = deploy()
LONG = local(f"pyinfra {'x ' * 60}docker")
CLOCK = Check("host.clock", "this machine's time", "0 s behind")
IDLE = Check("gpu.clock", "2200 MHz and more under load", "the GPU idles", "skipped")
TEMPERATURE = Check(
    "gpu.temperature", "below its limit", "the GPU has 95 C", "drift", "free the air inlets", cause="gpu-hot"
)
GPU = Check("gpu.answers", "nvidia-smi tells of a GPU", "what is this", "unknown", on_host("sudo nvidia-smi"))
UP = on_host("sudo ip link set enp1 up && sudo ip link set enP2 up", at=B)
SWITCH = Check(
    "pair.cabling", "a cable", "frames are lost", "drift", "set an L2 MTU of 9216 on that port of the switch"
)
DOWN = Check("pair.cabling", "a cable", "down", "drift", UP)
KERNEL = Check("identity.kernel", "the same on all hosts", "6.17.0-1014", "drift", "reboot spark-a", alike=True)
LATER = Check("identity.kernel", "the same on all hosts", "6.17.0-1021", "drift", "reboot spark-a", alike=True)

RING = Fleet.parse(
    {
        name: {"cluster": "lab", "topology": "ring", "fabric_network": "10.20.0.0/21"}
        for name in ("spark-a", "spark-b", "spark-c")
    }
)


def drawn(of: Report, *, everything: bool = False, ascii_only: bool = False, width: int | None = 80) -> str:
    return "\n".join(line.plain for line in lines(of, everything=everything, ascii_only=ascii_only, width=width))


COMES_TO: dict[str, tuple[Report, int, str, str]] = {
    "a pair that is well": (
        made({A: [OK, IDLE], B: [OK]}),
        0,
        "Your pair is ready",
        "Next: sparkrig bandwidth pair.py",
    ),
    "a branch that goes from host to host": (
        made({A: [replace(KERNEL, until="2999-01-01")], B: [OK]}),
        0,
        "an update goes from host to host until 2999-01-01",
        "Next: reboot spark-a",
    ),
    "the same after its last day": (
        made({A: [replace(KERNEL, until="2001-01-01")], B: [OK]}),
        2,
        "1 thing is wrong",
        "Next: reboot spark-a",
    ),
    "a Spark that is well": (made({A: [OK]}), 0, "Your Spark is ready", "Next: sparkrig drift pair.py"),
    "three that are well": (
        made({A: [OK], B: [OK], "spark-c": [OK]}),
        0,
        "All 3 Sparks are ready",
        "Next: sparkrig drift pair.py",
    ),
    "a ring that is well": (
        made({name: [OK] for name in RING}, fleet=RING),
        0,
        "All 3 Sparks are ready",
        "Next: sparkrig bandwidth pair.py",
    ),
    "one fault": (made({A: [OK], B: [MTU]}), 2, "1 thing is wrong", f"Next: {DEPLOY}"),
    "a fault and what follows": (
        made({A: [OK], B: [PATH, MTU]}, roots=ROOT),
        2,
        "1 thing is wrong",
        f"Next: {DEPLOY}",
    ),
    "what follows, asked alone": (
        made({A: [OK], B: [PATH, MTU]}, roots=ROOT, asked=["rdma"]),
        2,
        "1 thing is wrong",
        "Next: pyinfra pair.py",
    ),
    "two faults": (made({A: [OK], B: [TEMPERATURE, MTU]}), 2, "2 things are wrong", f"Next: {DEPLOY}"),
    "one fault on both": (made({A: [MTU], B: [MTU]}), 2, "1 thing is wrong", f"Next: {DEPLOY}"),
    "a command for the host": (
        made({A: [OK], B: [TEMPERATURE]}),
        2,
        "1 thing is wrong",
        "Next, on spark-b: free the air inlets",
    ),
    "a cure that is for the other host": (
        made({A: [DOWN], B: [DOWN]}),
        2,
        "1 thing is wrong",
        "Next: ssh spark-b 'sudo ip link set enp1 up && sudo ip link set enP2 up'",
    ),
    "what is to be done at a switch": (
        made({A: [SWITCH], B: [SWITCH]}),
        2,
        "1 thing is wrong",
        "Next: set an L2 MTU of 9216 on that port of the switch",
    ),
    "a command that names its own host is not one for here": (
        made({A: [replace(MTU, cure=on_host("sudo hostnamectl set-hostname spark-a"))]}),
        2,
        "1 thing is wrong",
        "Next: ssh spark-a sudo hostnamectl set-hostname spark-a",
    ),
    "a host whose name begins like the other's": (
        made({"spark": [OK], A: [replace(MTU, cure="seat the plug on spark-a")]}),
        2,
        "1 thing is wrong",
        "Next: seat the plug on spark-a",
    ),
    "and the other way round": (
        made({"spark": [replace(MTU, cure="seat the plug on spark-a2")], A: [OK]}),
        2,
        "1 thing is wrong",
        "Next, on spark: seat the plug on spark-a2",
    ),
    "a command with words behind it": (
        made({A: [replace(MTU, cure=on_host("sudo lspci -vv -d 15b3: | grep LnkSta", " on both hosts"))]}),
        2,
        "1 thing is wrong",
        "Next: ssh spark-a 'sudo lspci -vv -d 15b3: | grep LnkSta'",
    ),
    "commands that belong together": (
        made({A: [replace(MTU, cure=on_host("sudo rm /etc/x; sudo systemd-machine-id-setup", ", and reboot"))]}),
        2,
        "1 thing is wrong",
        "Next: ssh spark-a 'sudo rm /etc/x; sudo systemd-machine-id-setup'",
    ),
    "a command that holds what looks like words": (
        made({A: [replace(MTU, cure=on_hosts("a; b, and c", A).then("; then: reboot"))]}),
        2,
        "1 thing is wrong",
        "Next: pyinfra pair.py --limit spark-a -y exec -- 'a; b, and c'",
    ),
    "several ways": (
        made({A: [replace(MTU, cure="move the plug on spark-a from p1 to p0, or name other netdevs")]}),
        2,
        "1 thing is wrong",
        "Next: move the plug on spark-a from p1 to p0, or name other netdevs",
    ),
    "300 characters of prose": (
        made({A: [OK], B: [replace(MTU, cure="let the subnets of both twins " * 10)]}),
        2,
        "1 thing is wrong",
        f"Next, when {MTU.id} of spark-b is mended: sparkrig doctor pair.py {MTU.id}",
    ),
    "300 characters of prose about a cable": (
        made({A: [replace(SWITCH, cure="move the plug into the next port " * 10)], B: [SWITCH]}),
        2,
        "1 thing is wrong",
        "Next, when pair.cabling is mended: sparkrig doctor pair.py pair.cabling",
    ),
    "a cure that names its host": (made({A: [KERNEL], B: [LATER]}), 2, "1 thing is wrong", "Next: reboot spark-a"),
    "not known": (made({A: [OK], B: [GPU]}), 3, "1 thing is not known", "Next: ssh spark-b sudo nvidia-smi"),
    "wrong goes before not known": (
        made({A: [GPU], B: [TEMPERATURE]}),
        3,
        "1 thing is wrong, and 1 thing is not known",
        "Next, on spark-b: free the air inlets",
    ),
    "a host that was not read": (
        made({A: [MTU], B: [LOST]}),
        3,
        "1 thing is wrong, and spark-b could not be read",
        "Next: on the console of spark-b: x",
    ),
    "one check, well": (
        made({A: [OK, CLOCK], B: [OK]}, asked=["net.manager"]),
        0,
        "net.manager: as it should be",
        "Next: sparkrig doctor pair.py",
    ),
    "one check, skipped": (
        made({A: [OK, IDLE], B: [IDLE]}, asked=["gpu.clock"]),
        0,
        "gpu.clock: skipped",
        "Next: sparkrig doctor pair.py",
    ),
    "two checks, one of them skipped": (
        made({A: [OK, IDLE], B: [OK, IDLE]}, asked=["gpu.clock", "net.manager"]),
        0,
        "net.manager: as it should be; gpu.clock: skipped",
        "Next: sparkrig doctor pair.py",
    ),
    "one check, well, and a host that was not read": (
        made({A: [OK], B: [LOST]}, asked=["net.manager"]),
        3,
        "spark-b could not be read",
        "Next: on the console of spark-b: x",
    ),
}


@pytest.mark.parametrize(("of", "code", "verdict", "onward"), COMES_TO.values(), ids=COMES_TO)
def test_what_it_comes_to(of: Report, code: int, verdict: str, onward: str) -> None:
    assert (of.exit, of.verdict, of.next) == (code, verdict, onward)
    assert drawn(of, width=None).splitlines()[-1].endswith(f" {onward}")


def test_the_next_command_is_not_broken_by_the_edge_of_the_screen() -> None:
    of = made({A: [OK], B: [MTU]})
    whole = f"✗ 1 thing is wrong (2 checks, 9 s). Next: {DEPLOY}"
    assert drawn(of, width=len(whole)).splitlines()[-1] == whole
    assert drawn(of, width=len(whole) - 1).splitlines()[-2:] == whole.replace(". Next", ".\nNext").splitlines()


def test_each_host_has_its_own_exit_code() -> None:
    of = made({A: [OK], B: [MTU], "spark-c": [LOST], "spark-d": [GPU]})
    assert {host.name: host.exit for host in of.hosts} == {A: 0, B: 2, "spark-c": 3, "spark-d": 3}


def test_the_json_says_what_was_read_expected_and_why() -> None:
    of = made({A: [OK], B: [PATH, MTU]}, roots=ROOT, notes={(B, MTU.id): ["since yesterday"]})
    document = json.loads(of.dumps())
    assert document["schema"] == "sparkrig.doctor/1"
    assert document["hosts"][1]["rows"] == [
        {
            "id": PATH.id,
            "category": "RDMA",
            "status": "drift",
            "meaning": "RDMA messages are as large as they may be",
            "want": "messages of 4096 bytes",
            "found": "1024 bytes",
            "cause": "the link's MTU is too small for them",
            "cure": "pyinfra pair.py",
            "docs": "docs/fabric.md#bandwidth",
            "notes": [],
            "follows": {"host": B, "id": MTU.id},
            "until": "",
        },
        {
            "id": MTU.id,
            "category": "network",
            "status": "drift",
            "meaning": "the link itself has the declared MTU",
            "want": "9000",
            "found": "1500",
            "cause": "the link was changed by hand (ip link set), or its profile was never activated",
            "cure": "pyinfra pair.py deploys/cluster.py",
            "docs": "docs/fabric.md#bandwidth",
            "notes": ["since yesterday"],
            "follows": None,
            "until": "",
        },
    ]
    assert Report.model_validate(document) == of


def test_what_a_host_printed_cannot_move_the_cursor() -> None:
    of = made({A: [Check("containers.docker", "docker runs", "no\x1b[2J\ndaemon", "drift", "look\x1b[2J")]})
    assert of.hosts[0].rows[0].found == "no [2J daemon"
    assert "\x1b" not in drawn(of)


def test_the_placeholder_of_an_inventory_is_filled_in() -> None:
    check = Check("pair.cabling", "a cable", "none", "drift", verb("topology"))
    assert made({A: [check]}).next == "Next: sparkrig topology pair.py"


# --- on a terminal


def test_good_news_is_short() -> None:
    assert drawn(made({A: [OK, CLOCK, IDLE], B: [OK, CLOCK]})) == (
        "✓ time                 2 checks\n"
        "✓ network              2 checks\n"
        "· health               skipped: the GPU idles\n"
        "\n"
        "✓ Your pair is ready (4 checks, 9 s). Next: sparkrig bandwidth pair.py"
    )


def test_what_was_skipped_has_no_tick_and_is_no_check_that_passed() -> None:
    """Half of the lab's health is skipped, and `16 checks, 16 skipped` counted it twice to a reader."""
    well = Check("gpu.answers", "nvidia-smi tells of a GPU", "NVIDIA GB10")
    mixed, none = made({A: [well, IDLE], B: [well, IDLE]}), made({A: [OK, IDLE], B: [OK, IDLE]})
    assert "✓ health               2 ok, 2 skipped (-v: why)\n" in drawn(mixed)
    assert "✓ health               2 ok, 2 skipped\n" in drawn(mixed, everything=True)
    assert "· health               skipped: the GPU idles\n" in drawn(none)
    assert "· health               2 skipped\n" in drawn(none, everything=True)
    assert drawn(mixed).splitlines()[-1].startswith("✓ Your pair is ready (2 checks, ")


def test_what_is_wrong_is_told_whole_and_what_follows_is_counted() -> None:
    assert drawn(made({A: [OK], B: [PATH, MTU]}, roots=ROOT)) == (
        "✗ network              1 of 2 wrong\n"
        f"  ✗ net.{NETDEV}.mtu on spark-b\n"
        "    read      1500\n"
        "    expected  9000\n"
        "    cause     the link was changed by hand (ip link set), or its profile was\n"
        "              never activated\n"
        "    try       pyinfra pair.py deploys/cluster.py\n"
        "    more      sparkrig docs fabric#bandwidth\n"
        f"✗ RDMA                 1 of 1 wrong, see net.{NETDEV}.mtu\n"
        "\n"
        "✗ 1 thing is wrong (3 checks, 9 s). Next: pyinfra pair.py deploys/cluster.py"
    )


def test_a_terminal_without_signs_has_words() -> None:
    text = drawn(made({A: [OK, IDLE], B: [MTU], "spark-c": [LOST]}), ascii_only=True)
    assert text.isascii()
    assert "\nx  network " in text and "\n-  health " in text and "\n?  1 thing is wrong" in text


def test_values_that_differ_stand_side_by_side() -> None:
    notes = {(A, KERNEL.id): ["next: 1021"], (B, KERNEL.id): ["next: 1021"]}
    text = drawn(made({A: [KERNEL], B: [LATER]}, notes=notes), everything=True)
    assert (
        "    read      6.17.0-1014 on spark-a\n              6.17.0-1021 on spark-b\n    besides   next: 1021\n"
        in text
    )
    assert text.count("try") == text.count("expected") == 1
    apart = drawn(made({A: [KERNEL], B: [LATER]}, notes={(A, KERNEL.id): ["next: 1014"]}), everything=True)
    assert "6.17.0-1014 on spark-a\n              next: 1014\n              6.17.0-1021 on spark-b\n" in apart


def test_everything_shows_what_was_read_and_why_not() -> None:
    text = drawn(made({A: [OK, IDLE, KERNEL], B: [OK, PATH, MTU, LATER]}, roots=ROOT), everything=True)
    assert "  ✓ net.manager: running (NetworkManager runs)\n" in text
    assert "  · gpu.clock on spark-a: skipped, the GPU idles\n" in text
    assert f"  ✗ rdma.{NETDEV}.path-mtu on spark-b: 1024 bytes (see net.{NETDEV}.mtu of\n    spark-b)\n" in text


def test_a_host_that_was_not_read_is_named_in_every_category() -> None:
    text = drawn(made({A: [OK], B: [LOST]}))
    assert "✗ access               1 of 1 wrong\n" in text
    assert "✓ network              1 check, spark-b not read\n" in text


def test_of_many_hosts_the_first_are_named() -> None:
    many = {f"spark-{number}": [replace(MTU, found=f"{1500 + number}")] for number in range(9)}
    text = drawn(made(many))
    assert "mtu on spark-0, spark-1, spark-2, spark-3 and 5 more\n" in text
    assert "1503 on spark-3\n              and 5 more (--json has them)\n    expected  9000\n" in text


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_command_is_never_wrapped_and_all_else_is(width: int) -> None:
    command = f"pyinfra {'x ' * 60}docker"
    cure = local(command, ", once its hosts are up again and each of them answers; else its power")
    long = Check("containers.docker", "docker runs", "no daemon " * 20, "drift", cure)
    of = made({name: [replace(MTU, found=name), replace(IDLE, found="x"), long] for name in (A, B, "spark-c")})
    lines = drawn(of, width=width).splitlines()
    assert f"              {command}" in lines and "              once its hosts" in "\n".join(lines)
    assert not [line for line in lines if len(line) > width and "pyinfra" not in line and " " in line.strip()]
    assert max(map(len, drawn(of, width=None).splitlines())) > 200


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (timedelta(hours=3), "measured within a day"),
        (timedelta(days=1), "measured 1 day ago"),
        (timedelta(days=40), "measured 40 days ago"),
    ],
    ids=["today", "yesterday", "long ago"],
)
def test_how_old_a_measurement_is(before: timedelta, said: str) -> None:
    record = Record(NETDEV, "a", "b", 9000, 111.0, 4096, (NOW - before).isoformat())
    assert age(record, NOW) == said


def test_a_time_that_makes_no_sense_is_not_told() -> None:
    assert age(Record(NETDEV, "a", "b", 9000, 111.0, 4096, "yesterday"), NOW) == ""
    assert age(Record(NETDEV, "a", "b", 9000, 111.0, 4096, "2026-11-21T14:02:00"), NOW) == ""
