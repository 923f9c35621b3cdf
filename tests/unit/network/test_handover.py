"""A fabric netdev that NetworkManager does not manage: the netplan file that gives it to NetworkManager."""

from __future__ import annotations

import base64
import shlex
import subprocess
from pathlib import Path

import pytest

from sparkrig.network import handover, netplan
from sparkrig.refusal import Refusal
from tests.tables import each_row
from tests.unit.network_host import MANAGEMENT, A, B, Host, link
from tests.unit.shells import tool

CLOUD = "/etc/netplan/50-cloud-init.yaml"
NETWORKD = f"network: {{ethernets: {{{A}: {{dhcp4: true}}, {B}: {{dhcp4: true}}}}}}"
WHOLE = (
    f"network: {{version: 2, ethernets: {{{A}: {{renderer: NetworkManager}}, {B}: {{renderer: NetworkManager}}}}}}"
)
UDEV = "sudo udevadm control --reload && sudo udevadm trigger --action=move --subsystem-match=net --settle"
RELOAD = "sudo nmcli general reload && sudo nmcli connection reload"


@pytest.fixture
def host() -> Host:
    """A Spark with both ports unmanaged, as noble's NetworkManager has an Ethernet netdev that nobody names."""
    host = Host()
    host.devices |= {A: ("unmanaged", ""), B: ("unmanaged", "")}
    return host


def refusal(host: Host) -> Refusal:
    with pytest.raises(Refusal) as caught:
        host.plan()
    return caught.value


def managed(*netdevs: str) -> str:
    return " && ".join(f"sudo nmcli device set {netdev} managed yes" for netdev in netdevs)


def test_the_whole_file_and_the_commands_for_all_ports_at_once(host: Host) -> None:
    no = refusal(host)
    assert no.cure == (
        f"printf '%s\\n' '{WHOLE}' | sudo install -m 600 /dev/stdin /etc/netplan/90-sparkrig-fabric.yaml"
        f" && sudo netplan generate && {UDEV} && {RELOAD} && {managed(A, B)}"
    )
    assert no.what == (
        f"NetworkManager does not manage {A} and {B}, and no netplan file gives them to it; "
        "sparkrig docs adopting#netdevs-of-networkd says what each command does"
    )


def test_the_file_names_a_port_that_is_managed_already(host: Host) -> None:
    """Else the second use of the cure would take back what the first one gave."""
    host.devices[A] = ("connected", "x")
    no = refusal(host)
    assert shlex.quote(WHOLE) in no.cure and no.cure.endswith(managed(B)) and managed(A) not in no.cure


def test_networkd_is_named_and_has_to_let_go(host: Host) -> None:
    host.netplan[CLOUD] = NETWORKD
    no = refusal(host)
    assert f": netplan gives {A} and {B} to networkd ({CLOUD})" in no.what and "Warning" not in no.what
    assert f"sudo netplan generate && {UDEV} && sudo networkctl reload && sudo nmcli general reload" in no.cure


def test_what_is_printed_is_a_file_that_defines_nothing(host: Host, tmp_path: Path) -> None:
    """The printed command runs; netplan's file is private, and no second definition of the ports."""
    tool(tmp_path / "bin", "sudo", f'shift; exec install "$1" "$2" "$3" {tmp_path}/"${{4##*/}}"')
    write = refusal(host).cure.partition(" && ")[0]
    done = subprocess.run(
        ["bash", "-c", write], env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}, capture_output=True, text=True
    )
    file = tmp_path / "90-sparkrig-fabric.yaml"
    assert (done.returncode, file.stat().st_mode & 0o777) == (0, 0o600), done.stderr
    [read] = netplan.parse([f"{handover.FILE} {base64.b64encode(file.read_bytes()).decode()}"])
    assert [(each.label, each.handover, each.renderer) for each in read.netdefs] == [
        (A, True, "NetworkManager"),
        (B, True, "NetworkManager"),
    ]


def test_a_label_of_another_file_is_given_too(host: Host) -> None:
    """Two netplan entries of one netdev would be rendered apart: the one with a match by networkd, still."""
    mac = host.entry(A)["address"]
    host.netplan[CLOUD] = f"network: {{ethernets: {{cage: {{match: {{macaddress: '{mac}'}}, dhcp4: true}}}}}}"
    assert f"{{cage: {{renderer: NetworkManager}}, {A}: {{renderer: NetworkManager}}, {B}: " in refusal(host).cure


def test_a_management_network_of_networkd_is_warned_of(host: Host) -> None:
    host.devices[MANAGEMENT] = ("unmanaged", "")
    host.netplan["/etc/netplan/01-lan.yaml"] = f"network: {{ethernets: {{{MANAGEMENT}: {{dhcp4: true}}}}}}"
    said = f"; {MANAGEMENT}, which SSH or the default route is on, is not NetworkManager's either, and stays so"
    assert f"{said}; `netplan try` would take down more; " in refusal(host).what
    assert "conf.d" not in refusal(host).cure, "netplan itself keeps it away from NetworkManager"
    host.netplan[CLOUD] = NETWORKD
    no = refusal(host)
    assert f"{said}, but networkd sets it up anew at its reload: have another way in; `netplan try`" in no.what
    assert MANAGEMENT not in no.cure


def test_a_management_network_that_netplan_does_not_know_is_kept_as_it_is(host: Host) -> None:
    """Netplan lifts the restriction for all at once, and keeps only those away that it gives to networkd."""
    host.devices.update({MANAGEMENT: ("unmanaged", ""), "bond0": ("unmanaged", "")})
    host.addr.append(link("bond0", "4c:bb:47:00:00:08", 1500))
    host.entry(MANAGEMENT)["master"] = "bond0"
    host.routes.append({"dst": "default", "gateway": "192.168.1.1", "dev": "bond0", "metric": 50, "flags": []})
    no = refusal(host)
    assert f"; {MANAGEMENT} and bond0, which SSH" in no.what
    keep = f"'[keyfile]' 'unmanaged-devices+=interface-name:{MANAGEMENT};interface-name:bond0'"
    assert no.cure.startswith(f"printf '%s\\n' {keep} | sudo install -m 644 /dev/stdin {handover.KEPT} && ")


def test_what_a_file_of_ours_cannot_overrule_is_edited_by_hand(host: Host) -> None:
    def holds(path: str, text: str, said: str) -> None:
        host.netplan = {path: text}
        no = refusal(host)
        assert no.cure.startswith(f"{said}, then: sudo netplan generate"), no.cure
        assert "printf" not in no.cure

    every = "network: {ethernets: {all: {match: {name: 'en*'}, dhcp4: true}}}"
    last = f"network: {{ethernets: {{{A}: {{renderer: networkd}}}}}}"
    odd = f"network: {{ethernets: {{'a b': {{match: {{name: {A}}}}}}}}}"
    each_row(
        {
            "an entry that is also the management netdev's": (
                CLOUD,
                every,
                f"give {A} and {B} each an entry of its own with renderer: NetworkManager in {CLOUD}, where all "
                f"is also {MANAGEMENT}, enp1s0f1np1 and enP2p1s0f1np1",
            ),
            "a later file": (
                "/etc/netplan/99-last.yaml",
                last,
                f"give {A} renderer: NetworkManager in /etc/netplan/99-last.yaml",
            ),
            "a label that needs quotes": (CLOUD, odd, f"give {A} renderer: NetworkManager in {CLOUD}"),
            "a file that is not understood": (
                CLOUD,
                f"network: [{A}, {B}",
                f"give {A} and {B} renderer: NetworkManager in {CLOUD}",
            ),
        },
        holds,
    )


def test_each_twin_is_named_wherever_it_is_defined(host: Host) -> None:
    """The twins of a cage stand in one netplan file, or in two, and each needs its cure."""
    first, second = "/etc/netplan/98-p0.yaml", "/etc/netplan/99-p1.yaml"
    mine = {netdev: f"{netdev}: {{renderer: networkd}}" for netdev in (A, B)}
    shared = "all: {match: {name: 'enp*'}}"

    def holds(files: dict[str, str], *said: str) -> None:
        host.netplan = {path: f"network: {{ethernets: {{{text}}}}}" for path, text in files.items()}
        no = refusal(host)
        assert no.cure.startswith(f"{'; '.join(said)}, then: sudo netplan generate"), no.cure

    word = "renderer: NetworkManager"
    each_row(
        {
            "one file": ({second: f"{mine[A]}, {mine[B]}"}, f"give {A} and {B} {word} in {second}"),
            "two files": (
                {first: mine[A], second: mine[B]},
                f"give {A} {word} in {first}",
                f"give {B} {word} in {second}",
            ),
            "each in both": (
                {first: f"{mine[A]}, {mine[B]}", second: f"{mine[A]}, {mine[B]}"},
                f"give {A} and {B} {word} in {first}",
                f"give {A} and {B} {word} in {second}",
            ),
            "one twice in a file": (
                {second: f"{mine[A]}, again: {{match: {{name: {A}}}, renderer: networkd}}, {mine[B]}"},
                f"give {A} and {B} {word} in {second}",
            ),
            "one of each kind in a file": (
                {second: f"{shared}, {mine[B]}"},
                f"give {A} an entry of its own with {word} in {second}, where all is also enp1s0f1np1",
                f"give {B} {word} in {second}",
            ),
        },
        holds,
    )


def test_a_file_that_does_not_count_yet_is_loaded(host: Host) -> None:
    host.netplan[handover.FILE] = WHOLE
    no = refusal(host)
    assert no.what == f"NetworkManager does not manage {A} and {B}, although netplan says that it does"
    assert no.cure.startswith(
        f"sudo netplan generate && {UDEV} && {RELOAD} && {managed(A, B)}; where that changes nothing: "
    )


def test_what_renders_a_netdev() -> None:
    host = Host()
    port = host.found().links[A]

    def holds(files: dict[str, str], expected: str | None) -> None:
        host.netplan = {f"/etc/netplan/{name}.yaml": f"network: {{{text}}}" for name, text in files.items()}
        assert netplan.renderer(host.found().netplan, port) == expected

    mine, others = f"ethernets: {{{A}: {{dhcp4: true}}}}", f"ethernets: {{{B}: {{}}}}"
    each_row(
        [
            ({}, None),
            ({"1": others}, None),
            ({"1": mine}, "networkd"),
            ({"1": "renderer: NetworkManager", "2": mine}, "NetworkManager"),
            ({"1": "renderer: NetworkManager", "2": f"ethernets: {{{A}: {{renderer: networkd}}}}"}, "networkd"),
            ({"1": f"ethernets: {{{A}: {{renderer: networkd}}}}", "2": mine}, "networkd"),
            ({"1": mine, "2": f"ethernets: {{{A}: {{renderer: NetworkManager}}}}"}, "NetworkManager"),
        ],
        holds,
    )
