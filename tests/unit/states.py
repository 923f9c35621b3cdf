"""A pair as it was recorded in spec, and what may be otherwise on one host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from ipaddress import IPv4Interface
from typing import Any

from sparkrig.checks import resources
from sparkrig.facts.spark import Spark
from sparkrig.files import MEASURED, Found
from sparkrig.fleet import Fleet
from sparkrig.host import branches, driver, preflight
from sparkrig.host.first_upgrade import FirstUpgrade
from sparkrig.host.preflight import Shutdown
from sparkrig.network import environment, gid, profiles
from sparkrig.network.links import Route
from sparkrig.network.profiles import Profile
from sparkrig.operations.subject import subject
from sparkrig.resources import secrets
from sparkrig.resources.check import Check
from sparkrig.resources.state import State
from sparkrig.resources.time import TIMESYNCD_PATH
from tests.plan.conftest import FABRIC, converged

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
    fleet = Fleet.parse({name: {**values, **data} for name, values in PAIR.items()})
    return resources.checks(subject(A, fleet, {A: change(SEEN[A]), B: peer(SEEN[B])}))


def packages(*, version: str = "", **fields: Any) -> Change:
    """One driver package with other fields."""

    def change(state: State) -> State:
        first = next(row for row in state.driver.rows if row.name.startswith("nvidia-driver-580"))
        rows = [replace(row, **fields) if row is first else row for row in state.driver.rows]
        return replace(state, driver=replace(state.driver, rows=tuple(rows)))

    return change


def extra_package(name: str, version: str) -> Change:
    more = driver.Package(name, "install", "installed", version)
    return lambda state: replace(state, driver=replace(state.driver, rows=(*state.driver.rows, more)))


def upgrade(upgrade: dict[str, str] | None, trouble: str = "") -> Change:
    return lambda state: replace(state, driver=replace(state.driver, upgrade=upgrade, trouble=trouble))


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


def time_servers(state: State) -> State:
    """A file of ours for timesyncd, of servers that no setting names."""
    file = Found("[Time]\nNTP=192.0.2.10\n", "0644", "root:root")
    return replace(state, files={**state.files, TIMESYNCD_PATH: file})


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


def manager(load: str) -> Change:
    """NetworkManager does not run; its unit is in that LoadState."""
    stopped = net(running=False, profiles={}, states={}, active={})
    return lambda state: host(manager=preflight.Manager(load, "inactive"))(stopped(state))


MOVED: Mapping[str, tuple[Change, set[str]]] = {
    "another machine": (identity(uid=1000), {"identity.spark"}),
    "read-only root": (host(read_only=("/",)), {"host.mounts"}),
    "full disk": (host(room_mb={"/": 3, "/var": 3, "/etc": 3}), {"host.room"}),
    "dpkg broke off": (host(unfinished=("docker-ce",)), {"host.dpkg"}),
    "clock": (host(skew_s=4000.0), {"host.clock"}),
    "an update that broke off": (
        host(update="an update to OTA2607 (July 2026) is open (last step: installed)"),
        {"host.update"},
    ),
    "shutdown to come": (host(shutdown=Shutdown("reboot", 60)), {"host.shutdown"}),
    "NVIDIA's upgrade runs": (upgrade_once(active="activating"), {"host.first-upgrade"}),
    "NVIDIA's upgrade is to come": (upgrade_once(), {"host.first-upgrade"}),
    "NVIDIA's upgrade failed": (upgrade_once(active="failed"), {"host.first-upgrade"}),
    "NVIDIA's upgrade is done": (upgrade_once(done=True), set()),
    "NVIDIA's upgrade is off": (upgrade_once(enabled="disabled"), set()),
    "time servers that nothing declares": (time_servers, {"time.servers"}),
    "unhold": (packages(want="install"), {"driver.hold"}),
    "driver purged": (packages(status="not-installed", want="purge"), {"driver.version"}),
    "590 installed": (extra_package("nvidia-driver-590-open", "590.48.01-1"), {"driver.branch"}),
    "pin edited": (edited(branches.PIN_PATH, "-1", "100"), {"driver.pin"}),
    "pin removed": (no_file(branches.PIN_PATH), {"driver.pin"}),
    "pin not root's": (file(branches.PIN_PATH, owner="nvidia:nvidia"), {"driver.pin"}),
    "blacklist removed": (no_file(branches.BLACKLIST_PATH), {"driver.unattended-upgrades"}),
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
    "NetworkManager masked": (manager("masked"), {"net.manager"}),
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
    "docker masked": (box(docker=False, runtimes=(), trouble="docker is masked inactive"), {"containers.docker"}),
    "docker purged": (box(installed=False, docker=False, runtimes=()), {"containers.docker"}),
    "runtime unknown to docker": (box(runtimes=("runc",)), {"containers.runtime"}),
    "record removed": (no_file(MEASURED), {f"bandwidth.{NETDEV}", f"bandwidth.{TWIN}"}),
    "secrets nobody declared": (
        lambda state: replace(state, secrets=secrets.Secrets("0600", "root:root", "x", {"TOKEN": "1"})),
        {"secrets.values", "secrets.mode"},
    ),
}
