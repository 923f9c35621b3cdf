"""What may be done to the fabric of a host, and what must be: refusals first."""

from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import IPv4Interface, IPv4Network
from typing import Any

import pytest

from sparkrig.network import links, profiles
from sparkrig.network.links import Route
from sparkrig.network.plan import Plan, plan
from sparkrig.network.profiles import profile, uuid
from sparkrig.network.seen import parse
from sparkrig.refusal import Refusal
from tests.tables import each_row
from tests.unit.network_host import A1, B1, FABRIC, LINK_LOCAL, MANAGEMENT, WIRED, A, B, Declared, Host, link, v4


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
    assert profiles.PROPERTIES[0] == "connection.uuid"
    assert len(set(profiles.PROPERTIES)) == len(profiles.PROPERTIES)


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
    """The first thing of each change that is not as declared."""
    return [(change.netdev, change.verb, str(change.differs[0]).partition(": ")[2]) for change in made.changes]


def test_a_fresh_host_gets_both_profiles_in_rail_order(host: Host) -> None:
    made = host.plan()
    assert [(change.netdev, change.verb) for change in made.changes] == [(A, "add"), (B, "add")]
    assert changes(made)[0][2] == f"absent (declared: sparkrig-{A}: 192.168.100.11/24, MTU 9000)"
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


def test_a_profile_that_differs_is_modified() -> None:
    def holds(key: str, value: str) -> None:
        host = Host()
        if key == "connection.interface-name":
            value = A1  # ours by its UUID, whatever it binds
        host.ours(A, **{key: value})
        host.ours(B)
        [(netdev, verb, differs)] = changes(host.plan())
        assert (netdev, verb) == (A, "modify") and differs.startswith(f"{key} is {value} (declared: ")

    each_row(
        [(key, "odd") for key in profile(A, FABRIC[A], 9000) if key != "ipv4.addresses"]
        + [("ipv4.addresses", "192.0.2.9/24"), ("802-3-ethernet.mtu", "1500"), ("ipv6.method", "auto")],
        holds,
    )


def test_another_address_in_the_inventory_modifies_the_profile(ready: Host) -> None:
    made = ready.plan({**FABRIC, A: IPv4Interface("192.168.100.21/24")})
    [(netdev, verb, differs)] = changes(made)
    assert (netdev, verb) == (A, "modify") and differs.startswith("ipv4.addresses is 192.168.100.11/24 ")


def test_a_modified_profile_does_not_move_its_link(ready: Host) -> None:
    """`nmcli connection modify` leaves the link at 1500: the link is judged apart."""
    ready.entry(A)["mtu"] = 1500
    assert changes(ready.plan()) == [(A, "activate", "1500 (declared: 9000)")]


@pytest.mark.parametrize(
    "addresses", [[], ["192.168.100.12/24"], ["192.168.100.11/16"], ["192.168.100.11/24", "10.1.1.1/24"]]
)
def test_a_link_with_other_addresses_is_activated(ready: Host, addresses: list[str]) -> None:
    ready.entry(A).update(v4(*addresses))
    differs = f"{', '.join(addresses) or 'none'} (declared: 192.168.100.11/24)"
    assert changes(ready.plan()) == [(A, "activate", differs)]


def test_ipv6_on_a_link_whose_profile_says_none_is_activated(ready: Host) -> None:
    """A person's `nmcli con mod` that was taken back, or sysctl: a second link-local moves the GID index."""
    ready.entry(A)["addr_info"].append(LINK_LOCAL)
    assert changes(ready.plan()) == [(A, "activate", "an IPv6 address (declared: no IPv6 address)")]


@pytest.mark.parametrize("active", ["", WIRED])
def test_a_profile_that_is_not_active_is_activated(ready: Host, active: str) -> None:
    ready.devices[A] = ("connected" if active else "disconnected", active)
    named = "netplan-enP7s7" if active else "none"
    assert changes(ready.plan()) == [(A, "activate", f"{named} is active (declared: our profile is active)")]


@pytest.mark.parametrize(
    ("file", "saved"),
    [
        ("/run/NetworkManager/system-connections/sparkrig-enp1s0f0np0.nmconnection", False),
        ("/run/NetworkManager/system-connections/netplan-NM-0000.nmconnection", True),
        ("/etc/NetworkManager/system-connections/sparkrig-enp1s0f0np0.nmconnection", True),
        ("/etc/netplan/90-NM-0000.yaml", True),
    ],
    ids=["in memory", "rendered by netplan", "keyfile", "netplan file"],
)
def test_what_is_not_confirmed_yet_is_not_taken_for_done(ready: Host, file: str, saved: bool) -> None:
    """A controller that died left it applied, and it will be rolled back: there is something to do."""
    at = next(n for n, (identifier, *_) in enumerate(ready.profiles) if identifier == uuid(A))
    identifier, _, values = ready.profiles[at]
    ready.profiles[at] = (identifier, file, values)
    made = ready.plan().changes
    assert [(change.verb, change.differs[0].found) for change in made] == (
        [] if saved else [("modify", "only in memory")]
    )


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


@pytest.mark.parametrize("paired", [True, False])
def test_a_netdev_that_has_another_name_is_said_to(host: Host, paired: bool) -> None:
    host.entry(A)["ifname"] = "eth0"
    host.ports["eth0"] = host.ports.pop(A)
    host.devices.pop(A)
    no = refusal(host, paired=paired)
    assert no.what == f"expected {A} at 0000:01:00.0, found eth0 there" and "udev" in no.cure


def test_what_a_name_says_of_the_pci_bus() -> None:
    def holds(name: str, place: str) -> None:
        assert links.pci_of(name) == place

    each_row(
        [
            (A, "0000:01:00.0"),
            (A1, "0000:01:00.1"),
            (B, "0002:01:00.0"),
            (B1, "0002:01:00.1"),
            (MANAGEMENT, ""),  # P7 and s7 without a bus: not the kernel's order of words
            ("enp10s16", "0000:0a:10.0"),
            ("eth0", ""),
        ],
        holds,
    )


@pytest.mark.parametrize("row", ["p0 1", "p0 1 mlx5_core", "p0 1 mlx5_core device", "p0 1 mlx5_core net extra"])
def test_a_netdev_whose_place_is_not_told(host: Host, row: str) -> None:
    host.ports[A] = row
    found = host.found().links[A]
    assert found.carrier and found.pci == "" and found.port == "p0"


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
    assert no.what.startswith(f"NetworkManager does not manage {B}, and no netplan file gives it to it;")
    assert f"{B}: {{renderer: NetworkManager}}" in no.cure


def test_management_is_where_ssh_came_in(host: Host) -> None:
    host.addr.append(link("wlP9s9", "4c:bb:47:00:00:09", 1500, "192.168.2.30/24"))
    host.ssh = "192.168.2.30"
    assert host.found().management == ("wlP9s9", IPv4Interface("192.168.2.30/24"))


@pytest.mark.parametrize("ssh", ["", "fe80::1", "203.0.113.9"])
def test_management_is_else_the_default_route(host: Host, ssh: str) -> None:
    host.ssh = ssh
    assert host.found().management == (MANAGEMENT, IPv4Interface("192.168.1.20/24"))


def test_the_other_end_of_the_session_is_known_where_it_is_told() -> None:
    def ends(row: str) -> tuple[str, str, int]:
        found = parse([row])
        return found.reached, found.caller, found.door

    assert ends("ssh 10.0.2.11 192.168.1.20 2222") == ("10.0.2.11", "192.168.1.20", 2222)
    assert ends("ssh fe80::1%enP7s7 fe80::2%enP7s7 22") == ("fe80::1%enP7s7", "fe80::2%enP7s7", 22)
    assert ends("ssh UNKNOWN UNKNOWN 65535") == ("UNKNOWN", "", 0)
    assert ends("ssh 10.0.2.11") == ("10.0.2.11", "", 0) and ends("nm running") == ("", "", 0)


HIDDEN = ("127.0.0.1", "::1", "203.0.113.9", "fe80::dead", "fe80::1%gone", "::ffff:127.0.0.1")


def test_a_way_in_that_cannot_be_named_changes_no_network() -> None:
    """A tunnel or a jump on the host itself may ride on the fabric; a settled host is left as it is."""

    def refused(address: str) -> None:
        host = Host()
        host.ssh = address
        no = refusal(host)
        assert (
            no.what.startswith("the netdev that this SSH connection comes in on is not known")
            and address in no.what
        )
        assert "management_interface" in no.cure
        assert host.found().management == (MANAGEMENT, IPv4Interface("192.168.1.20/24")), "never lo"
        assert host.plan(allowed=True) and host.plan(told=MANAGEMENT)
        for name in (A, B):
            host.ours(name)
        assert not host.plan()

    each_row({address: (address,) for address in HIDDEN}, refused)


def test_a_way_in_that_is_known_needs_no_setting() -> None:
    def plans(address: str) -> None:
        host = Host()
        host.ssh = address
        assert host.plan() and not host.found().hidden

    known = ("", "192.168.1.20", "::ffff:192.168.1.20", f"fe80::1%{MANAGEMENT}")
    each_row({address or "no ssh": (address,) for address in known}, plans)


def test_the_netdev_of_the_setting_is_management(host: Host) -> None:
    """Under ssh's own, too, which may come in on another one just now; and what lies under it."""
    host.addr.append(link("bond0", "02:00:00:00:00:01", 1500, "192.168.9.9/24"))
    host.entry(A).update(master="bond0")
    for address in ("127.0.0.1", "192.168.1.20"):
        host.ssh = address
        found = host.found().over("bond0")
        assert found.management == ("bond0", IPv4Interface("192.168.9.9/24"))
        assert found.carries_ssh(A) and f"{A} carries this SSH connection" in refusal(host, told="bond0").what
    assert host.found().carries_ssh(MANAGEMENT)


def test_a_setting_that_names_no_netdev_of_the_host_is_refused(host: Host, ready: Host) -> None:
    no = refusal(host, told="enP7s8")
    assert f"no netdev enP7s8, which management_interface names (found {B}, " in no.what
    assert not ready.plan(told="enP7s8")


def test_the_netdev_that_ssh_came_in_on_is_refused(ready: Host) -> None:
    ready.ssh = "192.168.101.11"
    no = refusal(ready)
    assert f"{B} carries this SSH connection" in no.what and A in no.cure


def test_management_by_name_in_the_fabric_is_refused_even_on_a_lone_spark(host: Host) -> None:
    no = refusal(host, fabric={MANAGEMENT: IPv4Interface("10.0.0.1/24")}, paired=False)
    assert "never touched" in no.what


def test_a_netdev_under_the_management_one_is_refused() -> None:
    def holds(over: dict[str, dict[str, str]]) -> None:
        host = Host()
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

    each_row(
        {
            "bond": {A: {"master": "bond0"}, "bond0": {}},
            "bridge": {A: {"master": "br0"}, "br0": {}},
            "VLAN": {"vlan7": {"link": A}},
            "bond in a bridge": {A: {"master": "bond0"}, "bond0": {"master": "br0"}, "br0": {}},
            "VLAN on a bond": {A: {"master": "bond0"}, "bond0": {}, "bond0.7": {"link": "bond0"}},
        },
        holds,
    )


def test_links_that_point_at_each_other_do_not_hang(host: Host) -> None:
    host.entry(A).update(master=B, link=MANAGEMENT)
    host.entry(B).update(master=A)
    host.entry(MANAGEMENT).update(master=A, link=A)
    assert host.found().carries_ssh(B)


# --- collisions


def test_a_subnet_that_collides_with_a_route_is_refused() -> None:
    def holds(address: str, dev: str, to: str) -> None:
        host = Host()
        host.routes.append({"dst": to, "dev": dev, "flags": ["linkdown"]})
        no = refusal(host, fabric={A: IPv4Interface(address)})
        assert f"{address} on {A} collides with the route to {to}" in no.what and dev in no.what
        assert "on all hosts that share them" in no.cure

    each_row(
        [
            ("192.168.1.11/24", MANAGEMENT, "192.168.1.0/24"),
            ("192.168.100.11/24", "wlP9s9", "192.168.100.0/24"),
            ("172.17.5.11/24", "docker0", "172.17.0.0/16"),
            ("192.168.100.11/24", "tun0", "192.168.0.0/16"),
            ("10.0.0.11/8", "tun0", "10.8.0.5"),
            ("192.168.100.11/24", A1, "192.168.100.128/25"),
        ],
        holds,
    )


def test_a_route_that_goes_nowhere_collides_too(host: Host) -> None:
    host.routes.append({"type": "blackhole", "dst": "192.168.0.0/16", "flags": []})
    assert "192.168.0.0/16" in refusal(host).what


def test_a_route_of_another_table_collides_too(host: Host) -> None:
    """Tailscale's are in table 52."""
    host.routes.append({"dst": "192.168.0.0/16", "dev": "tailscale0", "table": "52", "flags": []})
    assert "192.168.0.0/16 over tailscale0" in refusal(host).what


@pytest.mark.parametrize(
    "more",
    [
        {"type": "local", "dst": "192.168.100.11", "dev": "lo", "table": "local"},
        {"type": "broadcast", "dst": "192.168.100.255", "dev": "wlP9s9", "table": "local"},
        {"type": "multicast", "dst": "192.168.100.0/24", "dev": "wlP9s9"},
        {"type": "throw", "dst": "192.168.100.0/24", "table": "52"},
    ],
    ids=lambda more: str(more["type"]),
)
def test_what_leads_nowhere_else_collides_with_nothing(host: Host, more: dict[str, str]) -> None:
    host.routes.append({**more, "flags": []})
    assert host.plan().changes


def test_the_default_route_of_another_table_is_not_the_way_out(host: Host) -> None:
    host.routes.insert(0, {"dst": "default", "dev": A, "table": "100", "flags": []})
    found = host.found()
    assert not found.carries_ssh(A) and replace(found, ssh=None).management == found.management


def test_a_rail_may_take_the_subnet_of_a_definition_that_goes(host: Host) -> None:
    host.routes.append({"dst": "192.168.101.0/24", "dev": A, "protocol": "kernel", "flags": []})
    assert [change.verb for change in host.plan().changes] == ["add", "add"]


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
    assert [(change.netdev, change.verb) for change in made.changes] == [(A1, "add"), (B1, "add")]
    assert {name for _, name in made.remove} == {f"sparkrig-{A}", f"sparkrig-{B}"}


def test_a_profile_of_ours_that_carries_ssh_is_not_removed(ready: Host) -> None:
    found = replace(ready.found(), ssh=A)
    with pytest.raises(Refusal, match=f"{A} carries this SSH connection"):
        plan(found, Declared({}, group_name=None))


def test_ssh_over_a_vpn_leaves_the_way_out_protected(host: Host) -> None:
    found = replace(host.found(), ssh="tailscale0")
    assert found.carries_ssh(MANAGEMENT)


def test_the_two_halves_of_a_vpns_default_route_collide_with_nothing(host: Host) -> None:
    halves = (Route(IPv4Network("0.0.0.0/1"), "tun0"), Route(IPv4Network("128.0.0.0/1"), "tun0"))
    found = replace(host.found(), routes=(*host.found().routes, *halves))
    assert plan(found, Declared(FABRIC)).changes


def test_a_link_local_address_is_nobodys_management_address(host: Host) -> None:
    found = host.found()
    link = found.links[MANAGEMENT]
    both = replace(link, addresses=(IPv4Interface("169.254.3.4/16"), *link.addresses))
    assert replace(found, links={**found.links, MANAGEMENT: both}).management == found.management
