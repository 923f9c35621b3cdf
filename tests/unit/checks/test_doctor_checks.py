"""What the doctor asks beyond drift: each fault under its own id, and what it follows from."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest

from sparkrig import login
from sparkrig.checks import access, remedy
from sparkrig.checks.condition import judged as of_verdict
from sparkrig.checks.consistency import judged
from sparkrig.checks.root_causes import roots
from sparkrig.fabric.neighbours import Heard, Neighbours
from sparkrig.facts.examination import Examination as Look
from sparkrig.facts.fabric import Fabric
from sparkrig.facts.spark import Spark
from sparkrig.host.apt import install_past_the_hold
from sparkrig.host.grub import Boot
from sparkrig.host.health import Kernel
from sparkrig.host.nvidia_smi import Gpu
from sparkrig.host.own_address import OwnAddress
from sparkrig.network.ping import NOT_INSTALLED, Ping
from sparkrig.operations.subject import subjects
from sparkrig.resources.check import Check, Status
from sparkrig.resources.state import State
from sparkrig.verdict import Verdict
from tests.unit import states as declared
from tests.unit.doctored import CROSSES, EXAMINED, HEARD, Change, checks_of, fleet, state
from tests.unit.states import NETDEV, SEEN, TWIN, A, B

NO = {NETDEV: (Ping(NETDEV, 8972, 5, 0), Ping(NETDEV, 56, 5, 5)), TWIN: CROSSES[TWIN]}
CUT = {NETDEV: (Ping(NETDEV, 8972, 5, 0), Ping(NETDEV, 56, 5, 0)), TWIN: CROSSES[TWIN]}
ABSENT = {
    netdev: (Ping(netdev, 8972, said=NOT_INSTALLED), Ping(netdev, 56, said=NOT_INSTALLED)) for netdev in CROSSES
}


def told(found: Mapping[str, list[Check]]) -> dict[str, str]:
    """By `host id`, the status of what is neither well nor skipped."""
    return {
        f"{name} {check.id}": check.status
        for name, checks in found.items()
        for check in checks
        if check.wrong or check.status == "unknown"
    }


def one(found: Mapping[str, list[Check]], id: str, at: str = B) -> Check:
    return next(check for check in found[at] if check.id == id)


def health(**fields: Any) -> Change:
    return lambda found: replace(found, health=replace(found.health, **fields))


def clock(*, skew_s: float, synchronised: bool) -> Change:
    return lambda found: state(
        preflight=replace(found.preflight, skew_s=skew_s), time=replace(found.time, synchronised=synchronised)
    )(found)


def gpu(**fields: Any) -> Change:
    return lambda found: replace(found, gpu=replace(found.gpu, **fields))


def path_mtu(size: int) -> Change:
    def change(found: State) -> State:
        devices = tuple(
            replace(each, active_mtu=size) if each.netdev == NETDEV else each for each in found.rdma.devices
        )
        return state(rdma=replace(found.rdma, devices=devices))(found)

    return change


def named(*addresses: str, env: bool = True) -> Change:
    def change(found: State) -> State:
        there = found if env else declared.no_file("/etc/sparkrig/container.env")(found)
        return replace(there, own_address=OwnAddress("spark-b", tuple(map(IPv4Address, addresses))))

    return change


def test_one_look_has_every_noun_once_and_the_clock_last() -> None:
    command = Look().command()
    assert {*Spark.nouns, *Fabric.nouns} <= {*Look.nouns}
    assert all(command.count(f"#sparkrig:end {noun} ") == 1 for noun in Look.nouns)
    assert list(Look.nouns)[-1] == "preflight"
    assert command.rindex("end own_address") < command.rindex("date +%s.%N") < command.rindex("end preflight")


def test_a_healthy_pair_has_nothing_to_tell() -> None:
    found = checks_of()
    assert told(found) == {}
    assert {check.id for check in found[A]} == {check.id for check in found[B]}
    assert len(found[A]) > 60


def test_a_lone_spark_skips_what_takes_two() -> None:
    found = checks_of(hosts=(A,), fleet=fleet(alone=True), at=A)
    assert told(found) == {}
    assert one(found, "pair.cabling", A).found == "a Spark on its own has no peer"


def test_a_half_whose_peer_was_not_read_says_so() -> None:
    found = checks_of(hosts=(B,))
    assert told(found) == {}
    skipped = {check.id for check in found[B] if check.found == "spark-a was not read"}
    assert skipped == {"pair.cabling", "pair.halves", f"pair.{NETDEV}.ping", f"pair.{TWIN}.ping"}


FAULTS: dict[str, tuple[Change, dict[str, Any], dict[str, str]]] = {
    "memory is short": (health(memory_available_kb=60_000), {}, {"spark-b health.memory": "drift"}),
    "busy is not ill": (health(load=40.0), {}, {}),
    "GPU too warm": (gpu(temperature_c=95.0, margin_c=-1.0), {}, {"spark-b gpu.temperature": "drift"}),
    "GPU clamped": (gpu(utilization=99.0, sm_mhz=700.0), {}, {"spark-b gpu.clock": "drift"}),
    "driver mismatch": (
        lambda found: replace(found, gpu=Gpu(trouble="Failed: Driver/library version mismatch")),
        {},
        {"spark-b gpu.answers": "drift"},
    ),
    "nvidia-smi says something else": (
        lambda found: replace(found, gpu=Gpu(trouble="what is this")),
        {},
        {"spark-b gpu.answers": "unknown"},
    ),
    "no kernel module for the next boot": (
        health(kernels=(Kernel("6.12.107+deb13-amd64", True), Kernel("7.1.0-1", False))),
        {},
        {"spark-b health.next-kernel": "drift"},
    ),
    "a clock that nobody keeps, and right": (clock(skew_s=3.0, synchronised=False), {}, {}),
    "a clock that nobody keeps, and off": (
        clock(skew_s=90.0, synchronised=False),
        {},
        {"spark-b time.synchronised": "drift"},
    ),
    "path MTU": (path_mtu(1024), {}, {f"spark-b rdma.{NETDEV}.path-mtu": "drift"}),
    "path MTU is not told": (path_mtu(0), {}, {}),
    "a name that is no trap": (named("10.0.0.7", env=False), {}, {"spark-b environment.container.env": "missing"}),
    "a name that is one": (
        named("127.0.1.1", env=False),
        {},
        {"spark-b environment.container.env": "missing", "spark-b pair.name": "drift"},
    ),
    "MTU of one end": (
        declared.link(mtu=1500),
        {},
        {
            f"spark-b net.{NETDEV}.mtu": "drift",
            f"spark-a pair.{NETDEV}.mtu": "drift",
            f"spark-b pair.{NETDEV}.mtu": "drift",
        },
    ),
    "large frames are lost": (
        lambda found: found,
        {"pings": {A: NO, B: CROSSES}},
        {f"spark-a pair.{NETDEV}.ping": "drift"},
    ),
    "nothing crosses": (
        lambda found: found,
        {"pings": {A: CUT, B: CUT}},
        {f"spark-a pair.{NETDEV}.ping": "drift", f"spark-b pair.{NETDEV}.ping": "drift"},
    ),
    "ping is not there": (
        lambda found: found,
        {"pings": {A: CROSSES, B: ABSENT}},
        {f"spark-b pair.{NETDEV}.ping": "unknown", f"spark-b pair.{TWIN}.ping": "unknown"},
    ),
    "ping was lost": (
        lambda found: found,
        {"pings": {A: CROSSES, B: "spark-b does not answer"}},
        {f"spark-b pair.{NETDEV}.ping": "unknown", f"spark-b pair.{TWIN}.ping": "unknown"},
    ),
    "ping was broken off": (
        lambda found: found,
        {"pings": {A: CROSSES, B: {NETDEV: CROSSES[NETDEV]}}},
        {f"spark-b pair.{TWIN}.ping": "unknown"},
    ),
    "one hears nothing": (
        lambda found: found,
        {"heard": {A: HEARD[A], B: replace(HEARD[B], heard=())}},
        {"spark-a pair.cabling": "drift", "spark-b pair.cabling": "drift"},
    ),
    "nobody listened": (
        lambda found: found,
        {"heard": {A: HEARD[A], B: Neighbours(trouble="python3 is not installed")}},
        {"spark-a pair.cabling": "unknown", "spark-b pair.cabling": "unknown"},
    ),
    "a stranger": (
        lambda found: found,
        {"heard": {**HEARD, B: replace(HEARD[B], heard=(*HEARD[B].heard, Heard(NETDEV, "52:54:00:99:00:01", 9)))}},
        {"spark-a pair.cabling": "drift", "spark-b pair.cabling": "drift"},
    ),
    "perftest differs": (
        health(perftest="24.01"),
        {},
        {"spark-a pair.perftest": "drift", "spark-b pair.perftest": "drift"},
    ),
}


@pytest.mark.parametrize(("change", "around", "expected"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_told_under_its_name(change: Change, around: dict[str, Any], expected: dict[str, str]) -> None:
    found = checks_of(change, **around)
    assert told(found) == expected
    for check in (check for checks in found.values() for check in checks):
        assert check.want and check.found and not check.found.endswith("."), check
        assert check.cure or not (check.wrong or check.status == "unknown"), check


def test_why_large_frames_are_lost_is_told_from_why_all_are() -> None:
    id = f"pair.{NETDEV}.ping"
    short, none = (one(checks_of(pings={A: CROSSES, B: each}), id) for each in (NO, CUT))
    assert (short.cause, none.cause) == ("short-frames", "unreachable")
    assert "switch" in short.cure and none.cure.startswith("ip neigh show dev enp1s0f0np0")


VERDICTS: dict[str, tuple[Verdict, Status]] = {
    "healthy": (Verdict("healthy", evidence="x4"), "ok"),
    "healthy, and nothing was there": (Verdict("healthy"), "skipped"),
    "degraded": (Verdict("degraded", "pcie-width", "x2", "update"), "drift"),
    "fault": (Verdict("fault", "kho", "9 GiB", "kho=off"), "drift"),
    "unknown": (Verdict("unknown", "gpu-unreadable", "what", "look"), "unknown"),
    "unknown, and nothing to do": (Verdict("unknown", "gsp-unknown", "not told"), "skipped"),
    "does not apply": (Verdict("unknown", "inconclusive", "idle", "look under load"), "skipped"),
}


@pytest.mark.parametrize(("verdict", "status"), VERDICTS.values(), ids=VERDICTS)
def test_a_verdict_becomes_a_check(verdict: Verdict, status: Status) -> None:
    check = of_verdict("nic.x.pcie", "x4", verdict)
    assert (check.status, check.cause, check.cure) == (status, verdict.cause, verdict.cure)


# --- what follows from what


def followers(found: Mapping[str, list[Check]]) -> dict[str, str]:
    return {f"{name} {id}": f"{at} {root}" for (name, id), (at, root) in roots(found, fleet()).items()}


def test_one_mtu_fails_what_stands_on_it() -> None:
    mtu = f"spark-b net.{NETDEV}.mtu"
    small = declared.link(mtu=1500)(path_mtu(1024)(EXAMINED[B]))
    assert followers(checks_of(lambda _: small, pings={A: NO, B: NO})) == {
        f"spark-b rdma.{NETDEV}.path-mtu": mtu,
        f"spark-a pair.{NETDEV}.mtu": mtu,
        f"spark-b pair.{NETDEV}.mtu": mtu,
        f"spark-a pair.{NETDEV}.ping": mtu,
        f"spark-b pair.{NETDEV}.ping": mtu,
    }


def test_a_cable_that_is_out_is_one_fault() -> None:
    dark = declared.link(NETDEV, carrier=False)(declared.link(TWIN, carrier=False)(EXAMINED[B]))
    quiet = {name: replace(each, heard=()) for name, each in HEARD.items()}
    found = checks_of(lambda _: dark, heard=quiet, pings={A: {**NO, TWIN: NO[NETDEV]}, B: {}})
    cabling = {f"{name} pair.cabling" for name in (A, B)}
    assert set(told(found)) - set(followers(found)) == cabling
    assert set(followers(found).values()) <= cabling
    assert one(found, f"pair.{NETDEV}.ping").status == "skipped"


def test_a_profile_explains_its_link_and_nothing_explains_a_profile() -> None:
    small = declared.profile(NETDEV, **{"802-3-ethernet.mtu": "1500"})(declared.link(mtu=1500)(EXAMINED[B]))
    found = checks_of(lambda _: small)
    assert followers(found)[f"spark-b net.{NETDEV}.mtu"] == f"spark-b net.{NETDEV}.profile"
    assert f"spark-b net.{NETDEV}.profile" not in followers(found)


def test_two_rails_are_two_stories() -> None:
    found = checks_of(declared.link(mtu=1500), pings={A: CROSSES, B: {**CROSSES, TWIN: NO[NETDEV]}})
    assert f"spark-b pair.{TWIN}.ping" not in followers(found)


# --- access

WHERE = {"ssh_user": "nvidia", "ssh_hostname": "10.0.0.7"}
REASONS = {
    "unknown key": (
        login.unknown_key(B, WHERE),
        "ssh",
        "Its host key is not known here, and is not",
        "ssh -o Str",
    ),
    "changed key": (
        login.changed_key(B, WHERE),
        "ssh",
        "Its host key is not the one that is known",
        "ssh-keygen -R 10.0.0.7; ssh -o Str",
    ),
    "wrong key": (
        "Authentication error (username=nvidia) (failed)",
        "ssh",
        "Authentication",
        "ssh-copy-id nvidia@10",
    ),
    "refused": ("Could not connect (10.0.0.7 port 22: [Errno 111] Connection refused)", "ssh", "Could", "ssh "),
    "no route": (
        "Could not connect (10.0.0.7 port 22: No route to host)",
        "ssh",
        "Could not",
        "ping -c 3 10.0.0.7",
    ),
    "silent": ("Could not connect (10.0.0.7 port 22: timed out)", "ssh", "Could not", "ping -c 3 10.0.0.7"),
    "no name": (
        "Could not resolve 10.0.0.7 (Name or service not known)",
        "ssh",
        "Could not",
        "sparkrig onboard, which searches",
    ),
    "another": ("Could not connect (10.0.0.7 port 22: what)", "ssh", "Could not", "ssh nvidia@10.0.0.7 true"),
    "no key": ("No such private key file: /no/such/key", "ssh", "No such private", "ls -l ~/.ssh"),
    "sudo asks": (
        "sudo asks for a password, and is expected to work without one",
        "sudo",
        "sudo asks",
        "on the host, sudo visudo",
    ),
    "a noun fails": (
        "identity: could not be read (exit 3)",
        "look",
        "identity",
        "pyinfra pair.py --limit spark-b",
    ),
}


@pytest.mark.parametrize(("why", "step", "found", "cure"), REASONS.values(), ids=REASONS)
def test_why_a_host_was_not_read(why: str, step: str, found: str, cure: str) -> None:
    checks = access.unread(B, WHERE, why)
    assert [check.id for check in checks] == ["access.ssh", "access.sudo", "access.look"]
    failed = next(check for check in checks if check.id == f"access.{step}")
    assert failed.found.startswith(found) and failed.cure.startswith(cure)
    assert failed.status == ("unknown" if step == "look" else "drift")
    before = {"ssh": 0, "sudo": 1, "look": 1}[step]
    assert [check.status for check in checks].count("ok") == before
    assert [check.status for check in checks].count("skipped") == 2 - before


def test_each_way_in_which_a_login_fails_has_a_cause_of_its_own() -> None:
    """A host that refuses is on, and a name that does not resolve is no matter of keys."""
    ways = ("unknown key", "changed key", "wrong key", "refused", "no name", "silent")
    causes = {way: access.unread(B, WHERE, REASONS[way][0])[0].cause for way in ways}
    assert all(causes.values()) and len({*causes.values()}) == len(ways), causes


def test_this_machine_is_not_said_to_be_off() -> None:
    for why in (login.IN_CONTAINER, login.UNDER_SUDO):
        told, *rest = access.unread(B, {login.HERE: "nvidia"}, str(why))
        assert told.want == "sparkrig on the Spark itself, typed as its own user" and "container" in told.cause
        assert {check.status for check in rest} == {"skipped"}


def test_who_is_not_root_is_told_once() -> None:
    found = checks_of(declared.identity(uid=1000))
    assert set(told(found)) == {"spark-b access.sudo", "spark-b identity.spark"}
    assert followers(found) == {"spark-b identity.spark": "spark-b access.sudo"}


def test_of_what_is_no_spark_nothing_else_is_told() -> None:
    """A laptop would be told to install the driver and docker of a Spark."""
    laptop = declared.identity(pci=("10de:1eb8",), gpu=())
    for fleet_ in (fleet(), fleet(allow_non_spark=True)):
        found = told(checks_of(lambda seen: declared.no_device(laptop(seen)), fleet=fleet_))
        there = [each for each in found if each.startswith(B)]
        assert (there == [f"{B} identity.spark"]) is (fleet_[B].allow_non_spark is False), there


# --- hosts that differ


def differing(change: Change, id: str) -> Check:
    """The check of spark-b, as it differs from that of spark-a."""
    examined = {A: EXAMINED[A], B: change(EXAMINED[B])}
    hosts = subjects(fleet(), examined)
    found = checks_of(change)
    values = {name: one(found, id, name).found for name in (A, B)}
    check = next(check for check in judged(found, lambda _: "")[B] if check.id == id)
    assert check.wrong
    return replace(check, cure=remedy.cure(check, B, hosts, values))


def kernel(release: str, *installed: str) -> Change:
    def change(found: State) -> State:
        ill = health(kernel=release, kernels=tuple(Kernel(each, True) for each in installed))(found)
        return state(identity=replace(found.identity, kernel=release))(ill)

    return change


def older(name: str, version: str) -> Change:
    def change(found: State) -> State:
        rows = found.driver.rows
        mine = tuple(replace(row, version=version) if row.name == name else row for row in rows)
        return state(driver=replace(found.driver, rows=mine))(found)

    return change


RUNS, NEXT = SEEN[A].identity.kernel, "6.17.0-1029-nvidia"
VERSION = "580.173.02-0ubuntu0.24.04.1"


def there(*packages: str) -> str:
    """The command that installs these on spark-b."""
    words = shlex.quote(install_past_the_hold(*packages, options="-y"))
    return f"pyinfra pair.py --limit spark-b -y exec -- {words}"


DIFFERENCES = {
    "newer, and the other has it installed": (
        kernel(NEXT, RUNS, NEXT),
        "identity.kernel",
        f"reboot spark-a; it boots {NEXT} then",
    ),
    "older, and it boots the newer one next": (
        kernel("6.1.0-1", "6.1.0-1", RUNS),
        "identity.kernel",
        f"reboot spark-b; it boots {RUNS} then",
    ),
    "older, and another one boots next": (
        kernel("6.1.0-1", "6.1.0-1", RUNS, NEXT),
        "identity.kernel",
        f"choose {RUNS} in the boot menu of spark-b",
    ),
    "older, and the newer one is not there": (
        kernel("6.1.0-1", "6.1.0-1"),
        "identity.kernel",
        there("linux-image-6.12.107+deb13-amd64", "linux-modules-nvidia-580-open-6.12.107+deb13-amd64")
        + ", and reboot spark-b",
    ),
    "an older driver": (
        older("nvidia-driver-580-open", "580.95.05-0ubuntu1"),
        "driver.version",
        there(*(f"{row.name}={VERSION}" for row in EXAMINED[A].driver.rows if row.version == VERSION))
        + ", reboot spark-b, and run the deploy again",
    ),
    "an older toolkit": (
        declared.box(toolkit="1.17.0-1"),
        "containers.toolkit",
        "pyinfra pair.py --limit spark-b -y exec -- apt-get install -y nvidia-container-toolkit=1.19.0-1 ",
    ),
    "an older DGX OS": (
        declared.identity(release={"DGX_OTA_VERSION": "7.4.0"}),
        "identity.dgx-os",
        "update spark-b to 7.5.0 (sparkrig docs doctor#hosts-that-differ)",
    ),
}


@pytest.mark.parametrize(("change", "id", "cure"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_what_brings_hosts_together(change: Change, id: str, cure: str) -> None:
    assert differing(change, id).cure.startswith(cure)


def test_what_is_installed_is_told_beside_what_runs() -> None:
    assert remedy.notes("identity.kernel", EXAMINED[A])[:2] == (
        f"the next boot takes {NEXT}",
        f"installed: linux-image-{RUNS} 6.12.107-1, held",
    )
    untold = replace(EXAMINED[A].health, grub=Boot("", "its menu has no entry"))
    (first, *_) = remedy.notes("identity.kernel", replace(EXAMINED[A], health=untold))
    assert first == "GRUB's menu does not tell what the next boot takes"
    assert "installed: nvidia-driver-580-open 580.173.02-0ubuntu0.24.04.1, held" in remedy.notes(
        "driver.version", EXAMINED[A]
    )
    assert remedy.notes("net.manager", EXAMINED[A]) == ()
