"""The checks of a host: each declared thing, moved by itself, is found under its own id and under no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from ipaddress import IPv4Interface
from typing import Any

from sparkrig import settings
from sparkrig.checks import resources
from sparkrig.checks.check import Check, wrong
from sparkrig.facts.spark import Spark
from sparkrig.files import MEASURED
from sparkrig.host import driver, secrets
from sparkrig.host.first_upgrade import FirstUpgrade
from sparkrig.host.preflight import Shutdown
from sparkrig.look.state import State
from sparkrig.network import profiles
from sparkrig.network.links import Route
from sparkrig.network.profiles import Profile
from sparkrig.operations.subject import subject
from sparkrig.rdma import environment, gid
from tests.plan.conftest import FABRIC, REBOOTED, converged
from tests.tables import each_row

A, B = "spark-a", "spark-b"
NETDEV, TWIN = "enp1s0f0np0", "enP2p1s0f0np0"
PAIR = {
    name: {"pair": "sparks", "fabric": FABRIC[f"@fake/{name}"], "bandwidth_floor": 0.01, "allow_non_spark": True}
    for name in (A, B)
}
SEEN = {name: Spark().process(converged(name[-1]).splitlines()) for name in (A, B)}
Change = Callable[[State], State]


def same(state: State) -> State:
    return state


def found(change: Change = same, peer: Change = same, **data: Any) -> list[Check]:
    """The checks of spark-a, as its look found it after a change, and one of its peer."""
    fleet = settings.parse({name: {**values, **data} for name, values in PAIR.items()})
    return resources.checks(subject(A, fleet, {A: change(SEEN[A]), B: peer(SEEN[B])}, "pair.py"))


def ids(change: Change, **data: Any) -> set[str]:
    return {check.id for check in found(change, **data) if check.wrong or check.status == "unknown"}


# --- moving one thing


def booted(id: str) -> Change:
    return lambda state: replace(state, identity=replace(state.identity, boot_id=id))


def packages(*, version: str = "", **fields: Any) -> Change:
    """One driver package with other fields."""

    def change(state: State) -> State:
        first = next(row for row in state.packages.rows if row.name.startswith("nvidia-driver-580"))
        rows = [replace(row, **fields) if row is first else row for row in state.packages.rows]
        return replace(state, packages=replace(state.packages, rows=tuple(rows)))

    return change


def extra_package(name: str, version: str) -> Change:
    more = driver.Package(name, "install", "installed", version)
    return lambda state: replace(state, packages=replace(state.packages, rows=(*state.packages.rows, more)))


def upgrade(upgrade: dict[str, str] | None, trouble: str = "") -> Change:
    return lambda state: replace(state, packages=replace(state.packages, upgrade=upgrade, trouble=trouble))


def link(netdev: str = NETDEV, **fields: Any) -> Change:
    def change(state: State) -> State:
        links = dict(state.network.links)
        links[netdev] = replace(links[netdev], **fields)
        return net(links=links)(state)

    return change


def net(**fields: Any) -> Change:
    return lambda state: replace(state, network=replace(state.network, **fields))


def no_link(netdev: str) -> Change:
    return lambda state: net(links={n: each for n, each in state.network.links.items() if n != netdev})(state)


def profile(netdev: str, **properties: str) -> Change:
    def change(state: State) -> State:
        known = dict(state.network.profiles)
        ours = known[profiles.uuid(netdev)]
        known[ours.uuid] = replace(ours, properties={**ours.properties, **properties})
        return net(profiles=known)(state)

    return change


def no_profile(netdev: str) -> Change:
    def change(state: State) -> State:
        return net(profiles={u: p for u, p in state.network.profiles.items() if u != profiles.uuid(netdev)})(state)

    return change


def in_memory(netdev: str) -> Change:
    def change(state: State) -> State:
        known = dict(state.network.profiles)
        ours = known[profiles.uuid(netdev)]
        known[ours.uuid] = replace(ours, filename=f"/run/NetworkManager/system-connections/{netdev}")
        return net(profiles=known)(state)

    return change


def second_profile(name: str = "mine", digit: str = "1") -> Change:
    other = Profile(
        f"{digit * 8}-2222-4333-8444-555555555555",
        f"/etc/NetworkManager/system-connections/{name}.nmconnection",
        {"connection.id": name, "connection.interface-name": NETDEV, "ipv4.method": "auto"},
    )
    return lambda state: net(profiles={**state.network.profiles, other.uuid: other})(state)


def stale_profile(state: State) -> State:
    netdev = "enp1s0f1np1"
    ours = Profile(
        profiles.uuid(netdev),
        f"/etc/NetworkManager/system-connections/sparkrig-{netdev}.nmconnection",
        profiles.profile(netdev, IPv4Interface("192.168.102.11/24"), 9000),
    )
    return net(profiles={**state.network.profiles, ours.uuid: ours})(state)


def route(destination: str) -> Change:
    """A VPN's route that collides."""
    more = Route(IPv4Interface(destination).network, "tun0", "52")
    return lambda state: net(routes=(*state.network.routes, more))(state)


def file(path: str, **fields: Any) -> Change:
    def change(state: State) -> State:
        return replace(state, files={**state.files, path: replace(state.files[path], **fields)})

    return change


def edited(path: str, old: str, new: str) -> Change:
    def change(state: State) -> State:
        content = state.files[path].content
        assert old in content
        return file(path, content=content.replace(old, new))(state)

    return change


def no_file(path: str) -> Change:
    return lambda state: replace(state, files={name: each for name, each in state.files.items() if name != path})


def rdma(**fields: Any) -> Change:
    return lambda state: replace(state, rdma=replace(state.rdma, **fields))


def moved_gids(netdevs: tuple[str, ...], by: int) -> Change:
    def change(state: State) -> State:
        rows = (replace(row, index=row.index + by) if row.netdev in netdevs else row for row in state.rdma.gids)
        return rdma(gids=tuple(rows))(state)

    return change


def no_gids(state: State) -> State:
    return rdma(gids=tuple(row for row in state.rdma.gids if row.ipv4 is None))(state)


def no_device(state: State) -> State:
    return rdma(devices=tuple(each for each in state.rdma.devices if each.netdev != NETDEV))(state)


def box(**fields: Any) -> Change:
    return lambda state: replace(state, containers=replace(state.containers, **fields))


def host(**fields: Any) -> Change:
    return lambda state: replace(state, preflight=replace(state.preflight, **fields))


def upgrade_once(**fields: Any) -> Change:
    """NVIDIA's own upgrade of the first start; idle, without its mark, where nothing else is said."""
    return host(upgrade=replace(FirstUpgrade("one", "loaded", "enabled", "inactive"), **fields))


def identity(**fields: Any) -> Change:
    return lambda state: replace(state, identity=replace(state.identity, **fields))


MOVED: Mapping[str, tuple[Change, set[str]]] = {
    "another machine": (identity(uid=1000), {"identity.spark"}),
    "read-only root": (host(read_only=("/",)), {"host.mounts"}),
    "full disk": (host(room_mb={"/": 3, "/var": 3, "/etc": 3}), {"host.room"}),
    "dpkg broke off": (host(unfinished=("docker-ce",)), {"host.dpkg"}),
    "clock": (host(skew_s=4000.0), {"host.clock"}),
    "shutdown to come": (host(shutdown=Shutdown("reboot", 60)), {"host.shutdown"}),
    "NVIDIA's upgrade runs": (upgrade_once(active="activating"), {"host.first-upgrade"}),
    "NVIDIA's upgrade is to come": (upgrade_once(), {"host.first-upgrade"}),
    "NVIDIA's upgrade failed": (upgrade_once(active="failed"), {"host.first-upgrade"}),
    "NVIDIA's upgrade is done": (upgrade_once(done=True), set()),
    "NVIDIA's upgrade is off": (upgrade_once(enabled="disabled"), set()),
    "unhold": (packages(want="install"), {"driver.hold"}),
    "driver purged": (packages(status="not-installed", want="purge"), {"driver.version"}),
    "590 installed": (extra_package("nvidia-driver-590-open", "590.48.01-1"), {"driver.branch"}),
    "pin edited": (edited(driver.PIN_PATH, "-1", "100"), {"driver.pin"}),
    "pin removed": (no_file(driver.PIN_PATH), {"driver.pin"}),
    "pin not root's": (file(driver.PIN_PATH, owner="nvidia:nvidia"), {"driver.pin"}),
    "blacklist removed": (no_file(driver.BLACKLIST_PATH), {"driver.unattended-upgrades"}),
    "apt would move it": (upgrade({"nvidia-driver-580-open": "install 590.1"}), {"driver.upgrade"}),
    "apt cannot say": (upgrade(None, "no lists"), {"driver.upgrade"}),
    "con mod": (profile(NETDEV, **{"802-3-ethernet.mtu": "1500"}), {f"net.{NETDEV}.profile"}),
    "ip link set mtu": (link(mtu=1500), {f"net.{NETDEV}.mtu"}),
    "ip addr add": (
        link(addresses=(IPv4Interface("192.168.100.11/24"), IPv4Interface("10.9.0.1/24"))),
        {f"net.{NETDEV}.address"},
    ),
    "ip addr del": (link(addresses=()), {f"net.{NETDEV}.address"}),
    "an IPv6 address": (link(ipv6=True), {f"net.{NETDEV}.ipv6"}),
    "profile in memory": (in_memory(NETDEV), {f"net.{NETDEV}.profile"}),
    "profile deleted": (no_profile(NETDEV), {f"net.{NETDEV}.profile"}),
    "con down": (net(active={}), {f"net.{NETDEV}.active", f"net.{TWIN}.active"}),
    "second profile": (second_profile(), {f"net.{NETDEV}.others"}),
    "stale profile": (stale_profile, {"net.enp1s0f1np1.profile"}),
    "cable out": (link(carrier=False), {f"net.{NETDEV}.carrier"}),
    "netdev gone": (no_link(NETDEV), {f"net.{NETDEV}.carrier"}),
    "NetworkManager stopped": (net(running=False, profiles={}, states={}, active={}), {"net.manager"}),
    "a VPN in the way": (route("192.168.100.0/24"), {"net.plan"}),
    "no RDMA device": (no_device, {f"rdma.{NETDEV}.device"}),
    "no GID": (no_gids, {f"rdma.{NETDEV}.gid", f"rdma.{TWIN}.gid"}),
    "GID moved": (moved_gids((NETDEV, TWIN), 2), {"rdma.gid-index"}),
    "GID moved on one": (moved_gids((TWIN,), 2), {"rdma.gid-index"}),
    "env edited": (edited(environment.CONTAINER_ENV, "_ms=0", "_ms=250"), {"environment.container.env"}),
    "env removed": (no_file(environment.NCCL_CONF), {"environment.nccl.conf"}),
    "env's index edited": (
        edited(environment.NCCL_CONF, "NCCL_IB_GID_INDEX=1", "NCCL_IB_GID_INDEX=3"),
        {"rdma.gid-index"},
    ),
    "dispatcher not executable": (file(environment.DISPATCHER, mode="0644"), {"environment.90-sparkrig-gid"}),
    "gid.py edited": (edited(environment.GID_MODULE, gid.ROCE_V2, "RoCE v1"), {"environment.gid.py"}),
    "toolkit purged": (box(toolkit=None), {"containers.toolkit"}),
    "daemon.json edited": (box(daemon_json='{"runtimes": {}}'), {"containers.daemon-json"}),
    "daemon.json broken": (box(daemon_json="{"), {"containers.daemon-json"}),
    "daemon.json removed": (box(daemon_json=None), {"containers.daemon-json"}),
    "docker stopped": (box(docker=False, runtimes=(), trouble="no daemon"), {"containers.docker"}),
    "docker purged": (box(installed=False, docker=False, runtimes=()), {"containers.docker"}),
    "runtime unknown to docker": (box(runtimes=("runc",)), {"containers.runtime"}),
    "record removed": (no_file(MEASURED), {f"bandwidth.{NETDEV}", f"bandwidth.{TWIN}"}),
    "secrets nobody declared": (
        lambda state: replace(state, secrets=secrets.Secrets("0600", "root:root", "x", {"TOKEN": "1"})),
        {"secrets.values", "secrets.mode"},
    ),
}


def test_a_settled_host_is_in_spec() -> None:
    assert wrong(found()) == []
    assert len(found()) > 40


def test_what_was_moved_is_found_and_nothing_else() -> None:
    def holds(change: Change, expected: set[str]) -> None:
        assert ids(change) == expected

    each_row(MOVED, holds)


def test_what_does_not_hold_says_what_to_do() -> None:
    def holds(change: Change) -> None:
        for check in wrong(found(change)):
            assert check.cure, check
            assert check.want and check.found and not check.found.endswith("."), check

    each_row({name: change for name, (change, _) in MOVED.items()}, holds)


def test_a_rail_that_was_not_measured_since_a_boot_is_unknown() -> None:
    """Not drift: nothing says that it is another one; and the measurement of before says nothing of now."""
    since, hidden = "not measured since the boot of", "cannot be told, and it may be a later one"
    probe, cat = "pyinfra pair.py deploys/probe.py", "cat /proc/sys/kernel/random/boot_id"

    def holds(own: Change, peer: Change, said: str, cure: str) -> None:
        seen = [each for each in found(own, peer) if each.wrong or each.status == "unknown"]
        assert [each.id for each in seen] == [f"bandwidth.{NETDEV}", f"bandwidth.{TWIN}"]
        assert {(each.status, each.found, each.cure, each.environment) for each in seen} == {
            ("unknown", said, cure, True)
        }

    each_row(
        {
            "own": (booted(REBOOTED), same, f"{since} spark-a", probe),
            "the peer's": (same, booted(REBOOTED), f"{since} spark-b", probe),
            "both": (booted(REBOOTED), booted(REBOOTED), f"{since} spark-a and spark-b", probe),
            "own not read": (booted(""), same, f"the boot of spark-a {hidden}", f"ssh spark-a {cat}"),
            "the peer's not read": (same, booted(""), f"the boot of spark-b {hidden}", f"ssh spark-b {cat}"),
        },
        holds,
    )


def test_a_peer_that_was_not_read_leaves_the_measurement_as_it_is() -> None:
    fleet = settings.parse(PAIR)
    (first, *_) = (each for each in resources.checks(subject(A, fleet, {A: SEEN[A]})) if each.noun == "bandwidth")
    assert (first.status, first.found) == ("ok", "0.44 Gb/s, 2026-11-22T19:51:37+00:00")


def test_every_id_stands_once_and_begins_with_its_noun() -> None:
    known = [check.id for check in found()]
    assert len(known) == len(set(known))
    nouns = {check.noun for check in found()}
    assert nouns <= {
        "identity",
        "host",
        "driver",
        "net",
        "rdma",
        "containers",
        "environment",
        "secrets",
        "trust",
        "bandwidth",
    }


def test_a_lone_spark_needs_no_cable() -> None:
    fleet = settings.parse({A: {"fabric": PAIR[A]["fabric"], "allow_non_spark": True}})
    change = no_link(NETDEV)
    seen = resources.checks(subject(A, fleet, {A: link(TWIN, carrier=False)(change(SEEN[A]))}))
    skipped = {check.id for check in seen if check.status == "skipped"}
    assert {f"net.{NETDEV}.carrier", f"net.{TWIN}.carrier", f"rdma.{NETDEV}.device"} <= skipped
    assert not [check for check in wrong(seen) if check.noun in ("net", "rdma")]


def test_a_declaration_that_moves_is_another_want() -> None:
    before = {check.id: check.want for check in found()}
    after = {check.id: check.want for check in found(mtu=8000, environment={"HF_HOME": "/models"})}
    moved = {id for id, want in after.items() if before[id] != want}
    assert moved == {
        f"net.{NETDEV}.profile", f"net.{NETDEV}.mtu", f"net.{TWIN}.profile", f"net.{TWIN}.mtu",
        "environment.container.env",
    }  # fmt: skip


def test_the_second_profile_is_set_aside_by_the_command_it_prints() -> None:
    check = next(each for each in found(second_profile("it's mine")) if each.id.endswith(".others"))
    assert check.cure == ('pyinfra pair.py deploys/cluster.py --data \'adopt={"it\'"\'"\'s mine": "set-aside"}\'')
    assert not ids(second_profile(), adopt={"mine": "leave"}) - {"net.plan"}


def test_a_setting_for_one_run_keeps_what_was_decided_before() -> None:
    """--data takes the place of what stands in the inventory, on every host."""
    both = lambda state: second_profile("one")(second_profile("two", "2")(state))  # noqa: E731
    (check,) = (each for each in found(both, adopt={"other": "leave"}) if each.id.endswith(".others"))
    assert check.cure.endswith(""" --data 'adopt={"other": "leave", "two": "set-aside", "one": "set-aside"}'""")
    assert "'one'" in check.found and "'two'" in check.found
