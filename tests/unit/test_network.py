"""What may be done to the fabric of a host, and what must be: refusals first."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from ipaddress import IPv4Interface, IPv4Network
from typing import Any

import pytest

from sparkrig import network
from sparkrig.network import Network, Plan, Route, parse, plan, profile, uuid
from sparkrig.refusal import Refusal

A, B = "enp1s0f0np0", "enP2p1s0f0np0"
A1, B1 = "enp1s0f1np1", "enP2p1s0f1np1"
FABRIC = {A: IPv4Interface("192.168.100.11/24"), B: IPv4Interface("192.168.101.11/24")}
MANAGEMENT = "enP7s7"
WIRED = "0f1b5a5e-6d35-3c8f-9a4b-0123456789ab"


class Host:
    """What the network fact prints of a Spark: management up, cage 0 cabled, no profile of ours yet."""

    def __init__(self) -> None:
        self.ssh = "192.168.1.20"
        self.nm = "running"
        self.addr = [
            {"ifindex": 1, "ifname": "lo", "mtu": 65536, "address": "00:00:00:00:00:00", **v4("127.0.0.1/8")},
            link(MANAGEMENT, "4c:bb:47:00:00:07", 1500, "192.168.1.20/24"),
            *(link(name, f"4c:bb:47:00:00:1{n}", 1500) for n, name in enumerate((A, A1, B, B1))),
            {},
        ]
        self.ports = {MANAGEMENT: "- 1", A: "p0 1", B: "p0 1", A1: "p1 0", B1: "p1 0", "lo": "- 1"}
        self.routes: list[dict[str, Any]] = [
            {"dst": "default", "gateway": "192.168.1.1", "dev": MANAGEMENT, "metric": 100, "flags": []},
            {"dst": "192.168.1.0/24", "dev": MANAGEMENT, "protocol": "kernel", "scope": "link", "flags": []},
        ]
        self.devices = {
            MANAGEMENT: ("connected", WIRED),
            "lo": ("connected (externally)", "11111111-2222-3333-4444-555555555555"),
            **dict.fromkeys((A, B), ("disconnected", "")),
            **dict.fromkeys((A1, B1), ("unavailable", "")),
        }
        self.profiles: list[tuple[str, str, dict[str, str]]] = []
        file = "/run/NetworkManager/system-connections/netplan-enP7s7.nmconnection"
        self.foreign(WIRED, file, "netplan-enP7s7", **{"connection.interface-name": MANAGEMENT})
        self.netplan: dict[str, str] = {}

    def foreign(self, identifier: str, file: str, name: str, **properties: str) -> None:
        self.profiles.append((identifier, file, {"connection.id": name, **properties}))

    def ours(self, netdev: str, address: str | None = None, **more: str) -> None:
        """Our profile of a netdev, active, and its link as it should be."""
        ip = IPv4Interface(address or FABRIC[netdev])
        values = {**profile(netdev, ip, 9000), **more}
        self.profiles.append((uuid(netdev), f"/etc/netplan/90-NM-{uuid(netdev)}.yaml", values))
        self.devices[netdev] = ("connected", uuid(netdev))
        self.entry(netdev).update(mtu=9000, **v4(str(ip)))
        self.routes.append({"dst": str(ip.network), "dev": netdev, "protocol": "kernel", "flags": []})

    def entry(self, netdev: str) -> dict[str, Any]:
        return next(entry for entry in self.addr if entry.get("ifname") == netdev)

    def unplug(self, *netdevs: str) -> None:
        """An uncabled ConnectX-7 leaves the PCI bus."""
        self.addr = [entry for entry in self.addr if entry.get("ifname") not in netdevs]
        for netdev in netdevs:
            self.devices.pop(netdev)

    def lines(self) -> list[str]:
        rows = [
            f"ssh {self.ssh}",
            f"addr {json.dumps(self.addr)}",
            f"route {json.dumps(self.routes)}",
            *(f"port {name} {rest}" for name, rest in self.ports.items()),
            f"nm {self.nm}",
        ]
        rows += [f"device {name}:{state}:{active}" for name, (state, active) in self.devices.items()]
        rows += [f"profile {identifier}:802-3-ethernet:{file}" for identifier, file, _ in self.profiles]
        for identifier, _, values in self.profiles:
            rows.append(f"property connection.uuid:{identifier}")
            rows += [f"property {key}:" + value.replace(":", "\\:") for key, value in values.items()]
        rows += [
            f"netplan {path} {base64.b64encode(text.encode()).decode()}" for path, text in self.netplan.items()
        ]
        return rows

    def found(self) -> Network:
        return parse(self.lines())

    def plan(
        self, fabric: dict[str, IPv4Interface] | None = None, *, paired: bool = True, mtu: int = 9000
    ) -> Plan:
        return plan(self.found(), FABRIC if fabric is None else fabric, mtu, paired=paired)


def v4(*addresses: str) -> dict[str, Any]:
    split = [address.split("/") for address in addresses]
    return {
        "addr_info": [
            {"family": "inet", "local": ip, "prefixlen": int(size), "scope": "global"} for ip, size in split
        ]
    }


def link(name: str, mac: str, mtu: int, *addresses: str, **more: Any) -> dict[str, Any]:
    info = v4(*addresses)["addr_info"] + [
        {"family": "inet6", "local": "fe80::1", "prefixlen": 64, "scope": "link"}
    ]
    return {"ifname": name, "address": mac, "mtu": mtu, "operstate": "UP", "addr_info": info, **more}


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.fixture
def ready() -> Host:
    """A host on which everything is as it should be."""
    made = Host()
    made.ours(A)
    made.ours(B)
    return made


def refusal(host: Host, **options: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        host.plan(**options)
    return caught.value


# --- reading


def test_links(host: Host) -> None:
    links = host.found().links
    assert list(links) == ["lo", MANAGEMENT, A, A1, B, B1]  # the empty object of ip -j is none
    assert links[A].port == "p0" and links[A1].port == "p1" and links[MANAGEMENT].port == ""
    assert links[A].carrier and not links[A1].carrier
    assert links[MANAGEMENT].addresses == (IPv4Interface("192.168.1.20/24"),)  # and no IPv6
    assert (links[A].mac, links[A].mtu) == ("4c:bb:47:00:00:10", 1500)


def test_a_link_that_the_kernel_says_nothing_of_has_no_carrier(host: Host) -> None:
    host.ports[A] = "p0 "  # reading carrier of a link that is down fails
    assert not host.found().links[A].carrier


def test_routes(host: Host) -> None:
    host.routes.append({"dst": "10.8.0.5", "dev": "tun0", "flags": []})
    assert host.found().routes == (
        Route(None, MANAGEMENT),
        Route(IPv4Network("192.168.1.0/24"), MANAGEMENT),
        Route(IPv4Network("10.8.0.5/32"), "tun0"),
    )


def test_states_and_active_profiles(host: Host) -> None:
    found = host.found()
    assert found.states[A] == "disconnected" and found.states["lo"] == "connected (externally)"
    assert found.active == {MANAGEMENT: WIRED, "lo": "11111111-2222-3333-4444-555555555555"}


def test_escaped_colons_and_backslashes_of_terse_nmcli(host: Host) -> None:
    host.foreign(WIRED[::-1], "/etc/x:y", "a:b", **{"802-3-ethernet.mac-address": "4C:BB:47:00:00:10"})
    text = "\n".join(host.lines()).replace("/etc/x:y", r"/etc/x\:y\\z")
    known = parse(text.splitlines()).profiles[WIRED[::-1]]
    assert known.name == "a:b"
    assert known.properties["802-3-ethernet.mac-address"] == "4C:BB:47:00:00:10"
    assert known.filename == "/etc/x:y\\z"


def test_a_value_with_plain_colons_is_whole(host: Host) -> None:
    rows = [*host.lines(), f"property connection.uuid:{WIRED[::-1]}", "property connection.id:fabric:a:b"]
    assert parse(rows).profiles[WIRED[::-1]].name == "fabric:a:b"


def test_the_uuid_comes_first_because_it_begins_a_profile() -> None:
    assert network.PROPERTIES[0] == "connection.uuid"
    assert len(set(network.PROPERTIES)) == len(network.PROPERTIES)


def test_a_host_without_networkmanager_or_links() -> None:
    found = parse(["addr []", "route []"])
    assert not found.running and found.management is None and not found.carries_ssh(A)
    assert parse([]) == found


@pytest.mark.parametrize("row", ["addr [{", "route [}", "netplan /etc/netplan/a.yaml abc"])
def test_nonsense_is_a_value_error(row: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse([row])


def test_json_for_pyinfra_fact(ready: Host) -> None:
    shown = json.loads(json.dumps(ready.found().to_json()))
    assert shown["links"][A]["addresses"] == ["192.168.100.11/24"]


# --- what must be done


def changes(made: Plan) -> list[tuple[str, str, str]]:
    return [(change.netdev, change.verb, change.why) for change in made.changes]


def test_a_fresh_host_gets_both_profiles_in_rail_order(host: Host) -> None:
    made = host.plan()
    assert changes(made) == [(A, "add", "no profile yet"), (B, "add", "no profile yet")]
    first = made.changes[0]
    assert (first.address, first.mtu) == (FABRIC[A], 9000)
    assert dict(first.properties) == {
        "connection.id": f"sparkrig-{A}",
        "connection.interface-name": A,
        "connection.autoconnect": "yes",
        "connection.autoconnect-priority": "100",
        "802-3-ethernet.mtu": "9000",
        "ipv4.method": "manual",
        "ipv4.addresses": "192.168.100.11/24",
        "ipv4.never-default": "yes",
        "ipv4.may-fail": "no",
        "ipv6.method": "disabled",
    }
    assert made


def test_nothing_to_do(ready: Host) -> None:
    made = ready.plan()
    assert made == Plan((), (), ()) and not made


@pytest.mark.parametrize(
    ("key", "value"),
    [(key, "odd") for key in profile(A, FABRIC[A], 9000)]
    + [("802-3-ethernet.mtu", "1500"), ("ipv6.method", "auto")],
)
def test_a_profile_that_differs_is_modified(host: Host, key: str, value: str) -> None:
    if key == "connection.interface-name":
        value = A1  # ours by its UUID, whatever it binds
    host.ours(A, **{key: value})
    host.ours(B)
    assert changes(host.plan()) == [(A, "modify", f"profile differs in {key}")]


def test_another_address_in_the_inventory_modifies_the_profile(ready: Host) -> None:
    made = ready.plan({**FABRIC, A: IPv4Interface("192.168.100.21/24")})
    assert changes(made) == [(A, "modify", "profile differs in ipv4.addresses")]


def test_a_modified_profile_does_not_move_its_link(ready: Host) -> None:
    """`nmcli connection modify` leaves the link at 1500: the link is judged apart."""
    ready.entry(A)["mtu"] = 1500
    assert changes(ready.plan()) == [(A, "activate", "link MTU is 1500")]


@pytest.mark.parametrize(
    ("addresses", "why"),
    [
        ([], "link address is none"),
        (["192.168.100.12/24"], "link address is 192.168.100.12/24"),
        (["192.168.100.11/16"], "link address is 192.168.100.11/16"),
        (["192.168.100.11/24", "10.1.1.1/24"], "link address is 192.168.100.11/24, 10.1.1.1/24"),
    ],
)
def test_a_link_with_other_addresses_is_activated(ready: Host, addresses: list[str], why: str) -> None:
    ready.entry(A).update(v4(*addresses))
    assert changes(ready.plan()) == [(A, "activate", why)]


@pytest.mark.parametrize("active", ["", WIRED])
def test_a_profile_that_is_not_active_is_activated(ready: Host, active: str) -> None:
    ready.devices[A] = ("connected" if active else "disconnected", active)
    assert changes(ready.plan()) == [(A, "activate", "profile is not active")]


def test_a_stale_profile_of_ours_is_removed_and_no_other(ready: Host) -> None:
    ready.ours(A1, "192.168.102.11/24")
    lookalike = {"connection.interface-name": B1}
    ready.foreign(WIRED[::-1], "/etc/netplan/90-NM-x.yaml", f"sparkrig-{B1}", **lookalike)
    assert ready.plan().remove == ((uuid(A1), f"sparkrig-{A1}"),)
    assert ready.plan().changes == ()


def test_uuids_are_fixed_for_ever() -> None:
    """A host that was set up by an older release must not get a second profile."""
    assert uuid(A) == "2323da65-8f5c-5cac-a24b-f29827b61c36"
    assert len({uuid(name) for name in (A, B, A1, B1)}) == 4


def test_no_fabric_needs_no_networkmanager(host: Host) -> None:
    host.nm = ""
    assert not host.plan({})


# --- a Spark on its own


def test_an_uncabled_spark_on_its_own_is_normal(host: Host) -> None:
    host.unplug(A, B)
    made = host.plan(paired=False)
    assert made.uncabled == (A, B) and not made


def test_no_carrier_on_a_spark_on_its_own_is_normal(host: Host) -> None:
    host.ports[A] = "p0 0"
    made = host.plan(paired=False)
    assert made.uncabled == (A,) and [change.netdev for change in made.changes] == [B]


def test_the_profile_of_an_uncabled_netdev_is_kept(ready: Host) -> None:
    ready.unplug(A, B)
    assert ready.plan(paired=False).remove == ()


def test_an_uncabled_pair_is_refused(host: Host) -> None:
    host.unplug(A, B)
    no = refusal(host)
    assert f"no netdev {A}" in no.what and f"found {B1}, {A1}" in no.what and "seat the QSFP cable" in no.cure
    host.unplug(A1, B1)
    assert "no fabric netdev at all" in refusal(host).what


def test_a_pair_without_carrier_is_refused(host: Host) -> None:
    host.ports[B] = "p0 0"
    no = refusal(host)
    assert f"{B} has no carrier" in no.what and "peer is on" in no.cure


# --- what must not be touched


def test_networkmanager_that_does_not_run(host: Host) -> None:
    host.nm = ""
    assert "NetworkManager does not run" in refusal(host).what


@pytest.mark.parametrize("state", ["unmanaged", None])
def test_an_interface_that_networkmanager_does_not_manage(host: Host, state: str | None) -> None:
    if state:
        host.devices[B] = (state, "")
    else:
        host.devices.pop(B)
    no = refusal(host)
    assert f"does not manage {B}" in no.what and f"nmcli device set {B} managed yes" in no.cure


def test_management_is_where_ssh_came_in(host: Host) -> None:
    host.addr.append(link("wlP9s9", "4c:bb:47:00:00:09", 1500, "192.168.2.30/24"))
    host.ssh = "192.168.2.30"
    assert host.found().management == ("wlP9s9", IPv4Interface("192.168.2.30/24"))


@pytest.mark.parametrize("ssh", ["", "fe80::1", "203.0.113.9"])
def test_management_is_else_the_default_route(host: Host, ssh: str) -> None:
    host.ssh = ssh
    assert host.found().management == (MANAGEMENT, IPv4Interface("192.168.1.20/24"))


def test_the_netdev_that_ssh_came_in_on_is_refused(ready: Host) -> None:
    ready.ssh = "192.168.101.11"
    no = refusal(ready)
    assert f"{B} carries this SSH connection" in no.what and A in no.cure


def test_management_by_name_in_the_fabric_is_refused_even_on_a_lone_spark(host: Host) -> None:
    no = refusal(host, fabric={MANAGEMENT: IPv4Interface("10.0.0.1/24")}, paired=False)
    assert "never touched" in no.what


@pytest.mark.parametrize(
    "over",
    [
        {A: {"master": "bond0"}, "bond0": {}},
        {A: {"master": "br0"}, "br0": {}},
        {"vlan7": {"link": A}},
        {A: {"master": "bond0"}, "bond0": {"master": "br0"}, "br0": {}},
        {A: {"master": "bond0"}, "bond0": {}, "bond0.7": {"link": "bond0"}},
    ],
    ids=["bond", "bridge", "VLAN", "bond in a bridge", "VLAN on a bond"],
)
def test_a_netdev_under_the_management_one_is_refused(host: Host, over: dict[str, dict[str, str]]) -> None:
    for name, more in over.items():
        if name == A:
            host.entry(A).update(more)
        else:
            host.addr.append(link(name, "02:00:00:00:00:01", 1500, **more))
    top = list(over)[-1]
    host.entry(top).update(v4("192.168.9.9/24"))
    host.ssh = "192.168.9.9"
    assert host.found().carries_ssh(A) and not host.found().carries_ssh(B)
    assert f"{A} carries this SSH connection" in refusal(host).what


def test_links_that_point_at_each_other_do_not_hang(host: Host) -> None:
    host.entry(A).update(master=B, link=MANAGEMENT)
    host.entry(B).update(master=A)
    host.entry(MANAGEMENT).update(master=A, link=A)
    assert host.found().carries_ssh(B)


# --- second definitions

SECOND = {
    "by name": (f"/etc/netplan/90-NM-{WIRED}.yaml", {"connection.interface-name": A}),
    "by MAC, in other letters": (
        "/etc/NetworkManager/system-connections/fabric-a.nmconnection",
        {"connection.interface-name": "", "802-3-ethernet.mac-address": "4C:BB:47:00:00:10"},
    ),
    "rendered by netplan": (
        "/run/NetworkManager/system-connections/netplan-cx7.nmconnection",
        {"connection.interface-name": A, "connection.autoconnect-priority": "0"},
    ),
    "an old Wired connection that was saved": (
        "/etc/NetworkManager/system-connections/Wired connection 2.nmconnection",
        {"connection.interface-name": A, "connection.autoconnect-priority": "-999"},
    ),
}


@pytest.mark.parametrize(("file", "properties"), SECOND.values(), ids=SECOND)
def test_a_second_profile_is_refused(ready: Host, file: str, properties: dict[str, str]) -> None:
    ready.profiles.append((WIRED[::-1], file, {"connection.id": "fabric: a", **properties}))
    no = refusal(ready)
    assert f"{A} has a second definition: NetworkManager profile 'fabric: a' ({file})" in no.what
    assert f"nmcli connection delete {WIRED[::-1]}" in no.cure


def test_the_profile_that_networkmanager_makes_in_memory_gives_way(host: Host) -> None:
    for number, netdev in enumerate((A, B), 1):
        name = f"Wired connection {number}"
        file = f"/run/NetworkManager/system-connections/{name}.nmconnection"
        values = {"connection.interface-name": netdev, "connection.autoconnect-priority": "-999"}
        host.profiles.append((f"{WIRED[:-1]}{number}", file, {"connection.id": name, **values}))
    assert [change.verb for change in host.plan().changes] == ["add", "add"]


@pytest.mark.parametrize("mac", ["", "4C:BB:47:00:00:99"])
def test_profiles_of_other_netdevs_do_not_matter(ready: Host, mac: str) -> None:
    values = {"connection.interface-name": A1, "802-3-ethernet.mac-address": mac}
    ready.profiles.append((WIRED[::-1], "/etc/x", {"connection.id": "other", **values}))
    ready.entry(B)["address"] = ""  # no MAC is no match
    assert not ready.plan()


NETPLAN = {
    "NVIDIA's 40-cx7.yaml": """
network:
  version: 2
  ethernets:
    enp1s0f0np0:
      link-local: [ ipv4 ]
    enp1s0f1np1:
      link-local: [ ipv4 ]
""",
    "networkd renderer": "network: {renderer: networkd, ethernets: {enp1s0f0np0: {addresses: [10.0.0.1/24]}}}",
    "eugr's 98-spark": "network:\n  ethernets:\n    enp1s0f0np0: {mtu: 9000}\n",
    "no body": "network:\n  ethernets:\n    enp1s0f0np0:\n",
    "by MAC": "network: {ethernets: {fabric: {match: {macaddress: '4C:BB:47:00:00:10'}}}}",
    "by glob": "network: {ethernets: {fabric: {match: {name: 'enp1s0f*'}}}}",
    "by a list of names": "network: {ethernets: {fabric: {match: {name: [eth9, enp1s0f0np0]}}}}",
    "by set-name": "network: {ethernets: {x: {match: {macaddress: '02:00:00:00:00:99'}, set-name: enp1s0f0np0}}}",
    "broken YAML": "network:\n  ethernets:\n\t  enp1s0f0np0:\n   - : :",
    "broken YAML, quoted": 'network: [\n  ethernets:\n    "enp1s0f0np0": {',
    "broken YAML, by MAC": 'network: [\n match: {macaddress: "4c:bb:47:00:00:10"}',
    "not a netplan shape": "network: {ethernets: [enp1s0f0np0]}",
    "a body that is text": "network: {ethernets: {enp1s0f0np0: dhcp}}",
    "a match that is text": "network: {ethernets: {fabric: {match: enp1s0f0np0}}}",
}


@pytest.mark.parametrize("text", NETPLAN.values(), ids=NETPLAN)
def test_a_netplan_definition_is_refused(ready: Host, text: str) -> None:
    ready.netplan["/etc/netplan/40-cx7.yaml"] = text
    no = refusal(ready)
    assert f"{A} has a second definition: netplan file /etc/netplan/40-cx7.yaml" in no.what
    assert "sudo mv /etc/netplan/40-cx7.yaml" in no.cure and "netplan apply" not in no.cure


@pytest.mark.parametrize(
    "text",
    [
        "",
        "network: {version: 2, renderer: NetworkManager}",
        "network: {ethernets: {enP7s7: {dhcp4: true}}}",
        "network: {ethernets: {enp1s0f0np0: {match: {name: enP7s7}}}}",  # there the key is only a label
        "network: {ethernets: {x: {match: {macaddress: '02:00:00:00:00:99'}}}}",
        "network: {ethernets: {enp1s0f0np0: {match: {macaddress: '02:00:00:00:00:99'}}}}",
        "network: {wifis: {wlP9s9: {}}}",
        "- a list",
    ],
)
def test_netplan_files_of_other_netdevs_do_not_matter(ready: Host, text: str) -> None:
    ready.netplan["/etc/netplan/01-network-manager-all.yaml"] = text
    assert not ready.plan()


# --- collisions


@pytest.mark.parametrize(
    ("address", "dev", "to"),
    [
        ("192.168.1.11/24", MANAGEMENT, "192.168.1.0/24"),
        ("192.168.100.11/24", "wlP9s9", "192.168.100.0/24"),
        ("172.17.5.11/24", "docker0", "172.17.0.0/16"),
        ("192.168.100.11/24", "tun0", "192.168.0.0/16"),
        ("10.0.0.11/8", "tun0", "10.8.0.5"),
        ("192.168.100.11/24", A1, "192.168.100.128/25"),
    ],
)
def test_a_subnet_that_collides_with_a_route_is_refused(host: Host, address: str, dev: str, to: str) -> None:
    host.routes.append({"dst": to, "dev": dev, "flags": ["linkdown"]})
    no = refusal(host, fabric={A: IPv4Interface(address)})
    assert f"{address} on {A} collides with the route to {to}" in no.what and dev in no.what
    assert "on both hosts" in no.cure


def test_a_route_that_goes_nowhere_collides_too(host: Host) -> None:
    host.routes.append({"type": "blackhole", "dst": "192.168.0.0/16", "flags": []})
    assert "192.168.0.0/16" in refusal(host).what


def test_the_default_route_and_its_own_routes_do_not_collide(ready: Host) -> None:
    ready.routes.append({"dst": "192.168.100.12", "dev": A, "flags": []})
    assert not ready.plan()


def test_rails_that_swap_their_subnets_do_not_collide(ready: Host) -> None:
    made = ready.plan({A: IPv4Interface("192.168.101.11/24"), B: IPv4Interface("192.168.100.11/24")})
    assert [change.verb for change in made.changes] == ["modify", "modify"]


def test_a_fabric_that_moves_to_the_other_cage_does_not_collide(ready: Host) -> None:
    """The old profiles go first, and their routes with them."""
    for netdev in (A1, B1):
        ready.ports[netdev] = "p1 1"
        ready.devices[netdev] = ("disconnected", "")
    made = ready.plan({A1: FABRIC[A], B1: FABRIC[B]})
    assert changes(made) == [(A1, "add", "no profile yet"), (B1, "add", "no profile yet")]
    assert {name for _, name in made.remove} == {f"sparkrig-{A}", f"sparkrig-{B}"}


def test_a_profile_of_ours_that_carries_ssh_is_not_removed(ready: Host) -> None:
    found = replace(ready.found(), ssh=A)
    with pytest.raises(Refusal, match=f"{A} carries this SSH connection"):
        plan(found, {}, 9000, paired=False)


def test_ssh_over_a_vpn_leaves_the_way_out_protected(host: Host) -> None:
    found = replace(host.found(), ssh="tailscale0")
    assert found.carries_ssh(MANAGEMENT)


def test_the_two_halves_of_a_vpns_default_route_collide_with_nothing(host: Host) -> None:
    halves = (Route(IPv4Network("0.0.0.0/1"), "tun0"), Route(IPv4Network("128.0.0.0/1"), "tun0"))
    found = replace(host.found(), routes=(*host.found().routes, *halves))
    assert plan(found, FABRIC, 9000, paired=True).changes


def test_a_link_local_address_is_nobodys_management_address(host: Host) -> None:
    found = host.found()
    link = found.links[MANAGEMENT]
    both = replace(link, addresses=(IPv4Interface("169.254.3.4/16"), *link.addresses))
    assert replace(found, links={**found.links, MANAGEMENT: both}).management == found.management
