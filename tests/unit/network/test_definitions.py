"""Who else defines a fabric netdev, and what the setting `adopt` makes of it."""

from __future__ import annotations

import json
from ipaddress import IPv4Interface
from typing import Any

import pytest

from sparkrig.network.plan import Plan
from sparkrig.network.profiles import uuid
from sparkrig.refusal import Refusal
from tests.tables import each_row
from tests.unit.network_host import A1, B1, FABRIC, MANAGEMENT, WIRED, A, B, Host, link, v4

CX7 = "/etc/netplan/40-cx7.yaml"
CABLED = """
network:
  version: 2
  ethernets:
    enp1s0f0np0: {addresses: [192.168.177.11/24], mtu: 9000}
    enP2p1s0f0np0: {addresses: [192.168.178.11/24], mtu: 9000}
"""
SAME = CABLED.replace("177", "100").replace("178", "101")
OLD = "Wired connection 1"
OLD_UUID = WIRED[::-1]
OLD_FILE = f"/etc/NetworkManager/system-connections/{OLD}.nmconnection"


@pytest.fixture
def synced(host: Host) -> Host:
    """What NVIDIA's helper left: its file, and what netplan rendered from it, active; and an old profile."""
    host.netplan[CX7] = CABLED
    for number, (netdev, address) in enumerate(((A, "192.168.177.11/24"), (B, "192.168.178.11/24")), 1):
        identifier = f"{WIRED[:-1]}{number}"
        rendered(host, identifier, netdev)
        host.devices[netdev] = ("connected", identifier)
        host.entry(netdev).update(mtu=9000, **v4(address))
    values = {"connection.interface-name": A, "ipv4.method": "auto", "802-3-ethernet.mtu": "auto"}
    host.foreign(OLD_UUID, OLD_FILE, OLD, **values)
    return host


def rendered(host: Host, identifier: str, label: str) -> None:
    name = f"netplan-{label}"
    file = f"/run/NetworkManager/system-connections/{name}.nmconnection"
    host.foreign(identifier, file, name, **{"connection.interface-name": label, "ipv4.method": "manual"})


def refusal(host: Host, **options: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        host.plan(**options)
    return caught.value


def verbs(made: Plan) -> list[tuple[str, str]]:
    return [(change.netdev, change.verb) for change in made.changes]


# --- who defines a netdev

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
    "a Wired connection that was edited on Ubuntu": (
        f"/run/NetworkManager/system-connections/netplan-NM-{OLD_UUID}.nmconnection",
        {
            "connection.interface-name": A,
            "connection.autoconnect-priority": "-999",
            "ipv4.method": "manual",
            "ipv4.addresses": "10.0.0.7/24",
        },
    ),
}


@pytest.mark.parametrize(("file", "properties"), SECOND.values(), ids=SECOND)
def test_a_second_profile_is_refused(ready: Host, file: str, properties: dict[str, str]) -> None:
    ready.profiles.append((OLD_UUID, file, {"connection.id": "fabric: a", **properties}))
    no = refusal(ready)
    assert f"second definition: NetworkManager profile 'fabric: a' ({file}) defines {A} (" in no.what
    assert 'adopt={"fabric: a": "set-aside"}' in no.cure


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


UNKNOWN = [name for name in NETPLAN if name.startswith(("broken", "not a", "a body", "a match"))]


def test_a_netplan_definition_is_refused(ready: Host) -> None:
    def holds(name: str) -> None:
        ready.netplan[CX7] = NETPLAN[name]
        no = refusal(ready)
        assert f"second definition: netplan file {CX7} defines {A} (" in no.what
        assert '{"40-cx7.yaml": ' in no.cure and "netplan apply" not in no.cure
        assert ("it is not understood" in no.what) == (name in UNKNOWN)

    each_row([*NETPLAN], holds)


def test_what_is_not_understood_is_never_moved(ready: Host) -> None:
    def holds(name: str) -> None:
        ready.netplan[CX7] = NETPLAN[name]
        no = refusal(ready, adopt={CX7: "set-aside"})
        assert f"{A} (not to be read)" in no.what and "by hand" in no.cure

    each_row([*UNKNOWN], holds)


def test_netplan_files_of_other_netdevs_do_not_matter(ready: Host) -> None:
    def holds(text: str) -> None:
        ready.netplan["/etc/netplan/01-network-manager-all.yaml"] = text
        assert not ready.plan()

    each_row(
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
        holds,
    )


def test_a_mac_of_digits_is_no_number_to_base_60(ready: Host) -> None:
    ready.entry(A)["address"] = "52:54:00:12:34:56"
    ready.netplan[CX7] = "network: {ethernets: {fabric: {match: {macaddress: 52:54:00:12:34:56}}}}"
    assert f"defines {A}" in refusal(ready).what


def test_lines_that_end_like_on_windows(synced: Host) -> None:
    synced.netplan[CX7] = CABLED.replace("\n", "\r\n")
    assert f"{A} (192.168.177.11/24, MTU 9000)" in refusal(synced).what


def test_what_a_netplan_file_gives_is_shown(ready: Host) -> None:
    def holds(body: str, shown: str) -> None:
        ready.netplan[CX7] = f"network: {{ethernets: {{{A}: {body}}}}}"
        assert f"{A} ({shown})" in refusal(ready).what

    each_row(
        [
            ("{}", "no fixed address"),
            ("{link-local: [ipv4]}", "no fixed address"),
            ("{dhcp4: true}", "DHCP"),
            ("{dhcp4: yes, mtu: 9000}", "DHCP, MTU 9000"),
            ("{mtu: 4200}", "no fixed address, MTU 4200"),
            ("{addresses: [fd00::1/64, 10.0.0.1/24]}", "10.0.0.1/24"),
            ("{addresses: [10.0.0.1/24: {label: a}, 10.0.1.1/24]}", "10.0.0.1/24, 10.0.1.1/24"),
            ("{addresses: 10.0.0.1/24}", "10.0.0.1/24"),
            ("{addresses: [nonsense, 10.0.0.1/99]}", "no fixed address"),
        ],
        holds,
    )


@pytest.mark.parametrize(
    ("properties", "shown"),
    [
        ({"ipv4.method": "auto", "802-3-ethernet.mtu": "auto"}, "DHCP"),
        ({"ipv4.method": "auto", "802-3-ethernet.mtu": "0"}, "DHCP"),
        ({"ipv4.method": "link-local"}, "no fixed address"),
        (
            {"ipv4.method": "manual", "ipv4.addresses": "10.0.0.1/24, 10.0.1.1/24", "802-3-ethernet.mtu": "9000"},
            "10.0.0.1/24, 10.0.1.1/24, MTU 9000",
        ),
    ],
)
def test_what_a_profile_gives_is_shown(ready: Host, properties: dict[str, str], shown: str) -> None:
    ready.foreign(OLD_UUID, OLD_FILE, OLD, **{"connection.interface-name": A, **properties})
    assert f"{A} ({shown})" in refusal(ready).what


def test_netplan_merges_what_stands_under_one_label(ready: Host) -> None:
    ready.netplan["/etc/netplan/10-match.yaml"] = f"network: {{ethernets: {{x: {{match: {{name: {A}}}}}}}}}"
    ready.netplan["/etc/netplan/20-address.yaml"] = "network: {ethernets: {x: {addresses: [10.0.0.1/24]}}}"
    no = refusal(ready)
    assert f"20-address.yaml defines {A} (10.0.0.1/24)" in no.what
    assert '"10-match.yaml": "set-aside", "20-address.yaml": "set-aside"' in no.cure


def test_a_file_that_is_replaced_is_merged_with_nothing(ready: Host) -> None:
    ready.netplan["/lib/netplan/10-match.yaml"] = f"network: {{ethernets: {{x: {{match: {{name: {A}}}}}}}}}"
    ready.netplan["/etc/netplan/10-match.yaml"] = ""
    ready.netplan["/etc/netplan/20-address.yaml"] = "network: {ethernets: {x: {addresses: [10.0.0.1/24]}}}"
    assert not ready.plan()


# --- nothing said


def test_all_that_others_left_is_shown_in_one_refusal(synced: Host) -> None:
    synced.netplan["/etc/netplan/98-spark-vllm-docker.yaml"] = f"network: {{ethernets: {{{B}: {{mtu: 9000}}}}}}"
    no = refusal(synced)
    assert no.what == (
        "fabric netdevs have a second definition: "
        f"netplan file {CX7} defines {A} (192.168.177.11/24, MTU 9000) and {B} (192.168.178.11/24, MTU 9000); "
        f"netplan file /etc/netplan/98-spark-vllm-docker.yaml defines {B} (no fixed address, MTU 9000); "
        f"NetworkManager profile '{OLD}' ({OLD_FILE}) defines {A} (DHCP)"
    )
    assert no.cure == (
        'pyinfra pair.py deploys/cluster.py --data \'adopt={"40-cx7.yaml": "set-aside", '
        f'"98-spark-vllm-docker.yaml": "set-aside", "{OLD}": "set-aside"}}\', '
        "or another word in the inventory (sparkrig docs adopting)"
    )


def test_the_setting_that_a_refusal_shows_is_enough(synced: Host) -> None:
    made = synced.plan(adopt={"40-cx7.yaml": "set-aside", OLD: "set-aside"})
    assert made.move == (CX7,) and made.remove == ((OLD_UUID, OLD),) and made
    assert verbs(made) == [(A, "add"), (B, "add")]


def test_the_very_address_suggests_to_adopt(ready: Host) -> None:
    ready.netplan[CX7] = SAME
    assert 'adopt={"40-cx7.yaml": "adopt"}' in refusal(ready).cure


def test_profiles_of_one_name_are_told_apart(ready: Host) -> None:
    for identifier in (OLD_UUID, OLD_UUID[:-1] + "f"):
        ready.foreign(identifier, OLD_FILE, OLD, **{"connection.interface-name": A})
    assert f'"{OLD_UUID}": "set-aside", "{OLD_UUID[:-1]}f": "set-aside"' in refusal(ready).cure


@pytest.mark.parametrize("there", [True, False])
def test_a_definition_of_an_uncabled_netdev_waits(host: Host, there: bool) -> None:
    if there:
        host.ports[A] = host.ports[B] = "p0 0"
    else:
        host.unplug(A, B)
    host.netplan[CX7] = CABLED
    assert host.plan(paired=False).uncabled == (A, B)


# --- set-aside


def test_a_file_by_any_name(ready: Host) -> None:
    def holds(key: str) -> None:
        ready.netplan[CX7] = CABLED
        assert ready.plan(adopt={key: "set-aside"}).move == (CX7,)

    each_row(["40-cx7.yaml", CX7, "40-*.yaml", "/etc/netplan/*", "*"], holds)


@pytest.mark.parametrize("key", [OLD, OLD_UUID, "Wired connection *", "Wired connection [12]"])
def test_a_profile_by_any_name(ready: Host, key: str) -> None:
    ready.foreign(OLD_UUID, OLD_FILE, OLD, **{"connection.interface-name": A})
    made = ready.plan(adopt={key: "set-aside"})
    assert made.remove == ((OLD_UUID, OLD),) and made.changes == () and made


def test_an_exact_name_goes_before_a_pattern(ready: Host) -> None:
    ready.netplan[CX7] = SAME
    assert ready.plan(adopt={"*": "leave", "40-cx7.yaml": "set-aside"}).move == (CX7,)


def test_a_word_for_what_is_not_there_is_fine(ready: Host) -> None:
    assert not ready.plan(adopt={"40-cx7.yaml": "set-aside", OLD: "adopt", "98-*": "leave"})


def test_what_goes_and_is_ours_and_stale_goes_once(ready: Host) -> None:
    ready.ours(A1, "192.168.102.11/24", **{"match.interface-name": A})
    made = ready.plan(adopt={f"sparkrig-{A1}": "set-aside"})
    assert made.remove == ((uuid(A1), f"sparkrig-{A1}"),)


def test_one_word_too_few_is_refused(synced: Host) -> None:
    no = refusal(synced, adopt={"40-cx7.yaml": "set-aside"})
    assert OLD in no.what and "40-cx7" not in no.what


BESIDE = {
    "the management netdev": ("enP7s7: {dhcp4: true}", MANAGEMENT),
    "it, by its MAC": ("lan: {match: {macaddress: '4C:BB:47:00:00:07'}}", MANAGEMENT),
    "it, by a pattern": ("lan: {match: {name: 'enP7*'}}", MANAGEMENT),
    "a netdev that is not there": ("enx0050b6: {dhcp4: true}", "enx0050b6"),
    "a MAC that is not there": ("dock: {match: {macaddress: '02:00:00:00:00:99'}}", "dock"),
    "one that has no cable just now": ("enx0050b7: {dhcp4: true}", "enx0050b7"),
    "a cage in use": (f"{A1}: {{addresses: [10.1.1.1/24]}}", A1),
}


def test_a_file_that_defines_more_is_never_moved(ready: Host) -> None:
    ready.ports[A1] = "p1 1 mlx5_core 0000:01:00.1"
    ready.entry(A1).update(v4("10.1.1.1/24"))
    ready.addr.append(link("enx0050b7", "00:50:b7:00:00:01", 1500))

    def holds(body: str, named: str) -> None:
        ready.netplan[CX7] = CABLED + f"    {body}\n"
        for adopt in ({"40-cx7.yaml": "set-aside"}, {"40-cx7.yaml": "adopt"}, {}):
            no = refusal(ready, adopt=adopt)
            assert f"cannot be set aside, as it also defines {named}" in no.what
            assert f"take {A}, {B} out of {CX7} by hand, then: sudo netplan generate" in no.cure
        assert '"adopt": {"40-cx7.yaml": "leave"}' in no.cure

    each_row(BESIDE, holds)


@pytest.mark.parametrize(
    "more", ["  wifis: {wlP9s9: {}}", "  bonds: {bond0: {interfaces: [enp1s0f0np0]}}", "  vlans: {v7: {id: 7}}"]
)
def test_a_file_that_defines_more_than_ethernets_is_never_moved(ready: Host, more: str) -> None:
    ready.netplan[CX7] = f"{CABLED}{more}\n"
    assert "it also defines " + more.partition(":")[0].strip() in refusal(ready, adopt={"*": "set-aside"}).what


def test_a_profile_that_binds_more_is_never_deleted(ready: Host) -> None:
    ready.foreign(OLD_UUID, OLD_FILE, OLD, **{"match.interface-name": "enp* enP*"})
    no = refusal(ready, adopt={OLD: "set-aside"})
    assert f"it also binds {MANAGEMENT}" in no.what and f"nmcli connection edit {OLD_UUID}" in no.cure


@pytest.mark.parametrize("there", [True, False])
def test_the_other_cage_that_nobody_uses_is_no_reason(ready: Host, there: bool) -> None:
    """NVIDIA's file names a netdev of each cage, and one that has no cable leaves the PCI bus."""
    ready.netplan[CX7] = NETPLAN["NVIDIA's 40-cx7.yaml"]
    if there:
        ready.ports[A1] = "p1 1 mlx5_core 0000:01:00.1"
        ready.entry(A1).update(v4("169.254.3.4/16"))
    else:
        ready.unplug(A1, B1)
    assert ready.plan(adopt={"40-cx7.yaml": "set-aside"}).move == (CX7,)


@pytest.mark.parametrize("over", [{"master": "bond0"}, {}], ids=["in a bond", "carries SSH"])
def test_the_other_cage_in_use_without_an_address(ready: Host, over: dict[str, str]) -> None:
    ready.entry(A1).update(over)
    if not over:
        ready.addr.append(link("vlan7", "02:00:00:00:00:01", 1500, "192.168.9.9/24", link=A1))
        ready.ssh = "192.168.9.9"
    ready.netplan[CX7] = NETPLAN["NVIDIA's 40-cx7.yaml"]
    assert f"it also defines {A1}" in refusal(ready, adopt={"40-cx7.yaml": "set-aside"}).what


@pytest.mark.parametrize("folder", ["/run/netplan", "/lib/netplan"])
def test_only_files_in_etc_are_moved(ready: Host, folder: str) -> None:
    ready.netplan[f"{folder}/40-cx7.yaml"] = CABLED
    no = refusal(ready, adopt={"40-cx7.yaml": "set-aside"})
    assert f"netplan file {folder}/40-cx7.yaml" in no.what and "only files in /etc/netplan are moved" in no.what


def test_a_file_in_run_replaces_the_one_in_etc(ready: Host) -> None:
    """netplan-generate(8); a file replaces another also by defining nothing."""
    ready.netplan[CX7] = CABLED
    ready.netplan["/run/netplan/40-cx7.yaml"] = ""
    assert not ready.plan()
    ready.netplan["/run/netplan/40-cx7.yaml"] = SAME
    no = refusal(ready)
    assert "/run/netplan/40-cx7.yaml" in no.what and CX7 not in no.what


def test_a_file_that_hides_another_is_not_moved(ready: Host) -> None:
    ready.netplan[CX7] = CABLED
    ready.netplan["/lib/netplan/40-cx7.yaml"] = ""
    assert "/lib/netplan/40-cx7.yaml would take its place" in refusal(ready, adopt={"*": "set-aside"}).what


LAN = "network: {ethernets: {enP7s7: {dhcp4: true}}}"
RENDERED = f"network: {{renderer: NetworkManager, ethernets: {{{A}: {{mtu: 9000}}}}}}"


@pytest.mark.parametrize(
    "rest",
    [
        {"/etc/netplan/50-cloud-init.yaml": LAN},
        {"/etc/netplan/10-first.yaml": "network: {renderer: networkd}", "/etc/netplan/50-x.yaml": LAN},
        {
            "/lib/netplan/90-all.yaml": "network: {renderer: networkd}",
            "/etc/netplan/90-all.yaml": "",
            "/etc/netplan/50-x.yaml": LAN,
        },
    ],
    ids=["none other says", "another says otherwise", "one that is replaced says"],
)
def test_a_file_that_keeps_the_others_with_networkmanager_is_not_moved(ready: Host, rest: dict[str, str]) -> None:
    ready.netplan = {CX7: RENDERED, **rest}
    no = refusal(ready, adopt={"40-cx7.yaml": "set-aside"})
    heir = list(rest)[-1]
    assert f"without {CX7} netplan would hand {heir} from NetworkManager to networkd" in no.what
    assert no.cure == f"write renderer: NetworkManager into {heir}"


@pytest.mark.parametrize(
    "rest",
    [
        {},
        {
            "/lib/netplan/00-network-manager-all.yaml": "network: {renderer: NetworkManager}",
            "/etc/netplan/5.yaml": LAN,
        },
        {"/etc/netplan/50.yaml": LAN.replace("dhcp4: true", "renderer: NetworkManager")},
        {f"/etc/netplan/90-NM-{WIRED}.yaml": f"network: {{ethernets: {{NM-{WIRED}: {{}}}}}}"},
    ],
    ids=["alone", "as on Ubuntu", "its own renderer", "NetworkManager's own file"],
)
def test_a_renderer_that_nobody_else_needs_may_go(ready: Host, rest: dict[str, str]) -> None:
    ready.netplan = {CX7: RENDERED, **rest}
    assert ready.plan(adopt={"40-cx7.yaml": "set-aside"}).move == (CX7,)


# --- netplan and NetworkManager in one


def test_networkmanagers_own_netplan_files_are_seen_as_its_profiles(ready: Host) -> None:
    """Ubuntu's NetworkManager keeps every profile in /etc/netplan; removing one goes through it."""
    label = f"NM-{OLD_UUID}"
    body = f"network: {{ethernets: {{{label}: {{match: {{name: {A}}}}}}}}}"
    ready.netplan[f"/etc/netplan/90-NM-{OLD_UUID}.yaml"] = body
    file = f"/run/NetworkManager/system-connections/netplan-{label}.nmconnection"
    ready.foreign(OLD_UUID, file, OLD, **{"connection.interface-name": A})
    no = refusal(ready)
    assert "netplan file" not in no.what and OLD in no.what
    made = ready.plan(adopt={OLD: "set-aside"})
    assert made.remove == ((OLD_UUID, OLD),) and made.move == ()


def test_an_edit_of_a_rendered_profile_is_a_file_of_its_own(ready: Host) -> None:
    """`nmcli connection modify netplan-enp1s0f0np0` wrote a second file for it, and both addresses were live."""
    edit = f"/etc/netplan/90-NM-{WIRED}.yaml"
    ready.netplan = {CX7: CABLED, edit: f"network: {{ethernets: {{{A}: {{addresses: [10.0.0.1/24]}}}}}}"}
    rendered(ready, OLD_UUID, A)
    made = ready.plan(adopt={"40-cx7.yaml": "set-aside", f"90-NM-{WIRED}.yaml": "set-aside"})
    assert made.move == (CX7, edit) and made.remove == ()


def test_what_was_rendered_from_a_file_that_is_gone(ready: Host) -> None:
    rendered(ready, OLD_UUID, A)
    assert ready.plan(adopt={f"netplan-{A}": "set-aside"}).remove == ((OLD_UUID, f"netplan-{A}"),)


# --- adopt


def test_adopting_the_address_that_stands_there(synced: Host) -> None:
    fabric = {A: IPv4Interface("192.168.177.11/24"), B: IPv4Interface("192.168.178.11/24")}
    made = synced.plan(fabric, adopt={"40-cx7.yaml": "adopt", OLD: "set-aside"})
    assert made.move == (CX7,) and made.remove == ((OLD_UUID, OLD),)
    assert [(change.verb, change.address) for change in made.changes] == [("add", ip) for ip in fabric.values()]


def test_adopting_another_address_is_refused_with_the_entry_to_write(synced: Host) -> None:
    no = refusal(synced, adopt={"40-cx7.yaml": "adopt", OLD: "set-aside"})
    assert f"{A} (192.168.177.11/24, MTU 9000; the inventory says 192.168.100.11/24)" in no.what
    assert f'"fabric": {{"{A}": "192.168.177.11/24", "{B}": "192.168.178.11/24"}}' in no.cure


def test_adopting_what_has_no_address_is_refused(synced: Host) -> None:
    no = refusal(synced, adopt={"40-cx7.yaml": "set-aside", OLD: "adopt"})
    assert f"{A} (DHCP; the inventory says" in no.what
    assert no.cure == f'"adopt": {{"{OLD}": "set-aside"}}'


def test_adopting_a_profile(ready: Host) -> None:
    values = {"connection.interface-name": A, "ipv4.addresses": str(FABRIC[A]), "ipv4.method": "manual"}
    ready.foreign(OLD_UUID, OLD_FILE, OLD, **values)
    assert ready.plan(adopt={OLD: "adopt"}).remove == ((OLD_UUID, OLD),)


# --- leave


@pytest.fixture
def kept(host: Host) -> Host:
    """A pair's half whose fabric stands in a file of its owner's, as the inventory says."""
    host.netplan[CX7] = SAME
    for number, (netdev, address) in enumerate(FABRIC.items(), 1):
        identifier = f"{WIRED[:-1]}{number}"
        rendered(host, identifier, netdev)
        host.devices[netdev] = ("connected", identifier)
        host.entry(netdev).update(mtu=9000, **v4(str(address)))
    return host


LEAVE = {"40-cx7.yaml": "leave"}


def test_what_is_left_in_charge_needs_nothing(kept: Host) -> None:
    made = kept.plan(adopt=LEAVE)
    assert not made and made.uncabled == ()


def test_a_netdev_that_nobody_defines_is_still_ours(kept: Host) -> None:
    kept.netplan[CX7] = f"network: {{ethernets: {{{A}: {{}}}}}}"
    kept.profiles.pop()
    made = kept.plan(adopt=LEAVE)
    assert verbs(made) == [(B, "add")]


def test_networkd_may_be_left_in_charge(kept: Host) -> None:
    kept.devices[A] = kept.devices[B] = ("unmanaged", "")
    assert not kept.plan(adopt=LEAVE)
    kept.nm = ""
    assert "NetworkManager does not run" in refusal(kept, adopt=LEAVE).what, "as the preflight has it"


@pytest.mark.parametrize(
    ("change", "there"),
    [
        ({"mtu": 1500}, "192.168.100.11/24 and MTU 1500"),
        (v4("192.168.100.11/16"), "192.168.100.11/16 and MTU 9000"),
        (v4(), "no address and MTU 9000"),
    ],
)
def test_a_link_that_is_not_as_declared_is_refused(kept: Host, change: dict[str, Any], there: str) -> None:
    kept.entry(A).update(change)
    no = refusal(kept, adopt=LEAVE)
    assert f"left in charge of {A} gives its link {there}, and the inventory says" in no.what


def test_a_link_may_have_more_than_the_declared_address(kept: Host) -> None:
    kept.entry(A).update(v4("10.1.1.1/24", str(FABRIC[A])))
    assert not kept.plan(adopt=LEAVE)


def test_left_in_charge_beside_a_profile_of_ours_is_refused(ready: Host) -> None:
    ready.netplan[CX7] = SAME
    no = refusal(ready, adopt=LEAVE)
    assert f"{CX7} is left in charge of {A}, {B}, and a profile of sparkrig's is there too" in no.what
    assert f"nmcli connection delete {uuid(A)} {uuid(B)}" in no.cure


@pytest.mark.parametrize("word", ["set-aside", "adopt"])
def test_two_words_for_one_netdev_are_refused(kept: Host, word: str) -> None:
    kept.foreign(OLD_UUID, OLD_FILE, OLD, **{"connection.interface-name": A})
    no = refusal(kept, adopt={**LEAVE, OLD: word})
    assert f"{A}: another definition is left in charge" in no.what
    assert not kept.plan(adopt={**LEAVE, OLD: "leave"})


def test_a_netdev_that_is_left_and_uncabled_waits(kept: Host) -> None:
    kept.ports[A] = "p0 0"
    made = kept.plan(paired=False, adopt=LEAVE)
    assert not made and made.uncabled == (A,)


# --- what only gives a netdev to NetworkManager

HANDOVER = "/etc/netplan/90-sparkrig-fabric.yaml"


def given(host: Host, more: str = "") -> None:
    """The file that the refusal of an unmanaged port prints, and what netplan renders from it."""
    host.netplan[HANDOVER] = f"network: {{ethernets: {{{A}: {{renderer: NetworkManager{more}}}}}}}"
    rendered(host, f"{WIRED[:-1]}7", A)


def test_a_file_that_only_gives_a_port_to_networkmanager_is_no_second_definition(ready: Host) -> None:
    given(ready)
    assert not ready.plan()


def test_anything_more_in_it_is_one(ready: Host) -> None:
    def holds(more: str, said: str) -> None:
        given(ready, f", {more}")
        no = refusal(ready)
        assert f"second definition: netplan file {HANDOVER} defines {A} ({said})" in no.what
        assert "profile" not in no.what, "what netplan renders from it goes with it"

    each_row(
        [
            ("addresses: [10.0.0.7/24]", "10.0.0.7/24"),
            ("dhcp4: true", "DHCP"),
            ("mtu: 9000", "no fixed address, MTU 9000"),
            ("optional: true", "no fixed address"),
            (f"match: {{name: {A}}}", "no fixed address"),
        ],
        holds,
    )


def test_another_renderer_or_none_is_one(ready: Host) -> None:
    def holds(body: str) -> None:
        ready.netplan[HANDOVER] = f"network: {{renderer: NetworkManager, ethernets: {{{A}: {body}}}}}"
        assert f"netplan file {HANDOVER} defines {A}" in refusal(ready).what

    each_row(["{}", "{renderer: networkd}"], holds)


def test_what_another_file_says_of_a_port_that_was_given_is_one(ready: Host) -> None:
    given(ready)
    ready.netplan[CX7] = CABLED
    no = refusal(ready)
    assert f"netplan file {CX7} defines {A}" in no.what and HANDOVER not in no.what
    assert ready.plan(adopt={"40-cx7.yaml": "set-aside"}).move == (CX7,)


def test_a_profile_beside_the_rendered_one_is_one(ready: Host) -> None:
    given(ready)
    ready.foreign(OLD_UUID, OLD_FILE, f"netplan-{A}", **{"connection.interface-name": A})
    assert f"NetworkManager profile 'netplan-{A}' ({OLD_FILE}) defines {A}" in refusal(ready).what


def test_a_file_with_any_name_is_seen_shown_in_one_line_and_moved(ready: Host) -> None:
    """A blank, a newline, a code for the terminal, and a byte that is no UTF-8."""

    def holds(name: str, key: str) -> None:
        made = Host()
        made.ours(A)
        made.ours(B)
        path = f"/etc/netplan/{name}"
        made.netplan[path] = CABLED
        no = refusal(made)
        assert json.dumps({key: "set-aside"}) in no.cure and no.what.isprintable() and no.cure.isprintable()
        assert made.plan(adopt={key: "set-aside"}).move == (path,)

    each_row(
        {
            "a copy": ("40-cx7 (copy).yaml", "40-cx7 (copy).yaml"),
            "a newline": ("40\nnm stopped\n[x].yaml", "40?nm stopped?[[]x].yaml"),
            "a code": ("40-\x1b[31m.yaml", "40-?[[]31m.yaml"),
            "Latin-1": ("40-\udce9.yaml", "40-?.yaml"),
        },
        holds,
    )
