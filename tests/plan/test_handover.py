"""A pair whose ports networkd renders: refused with a netplan file, and deployed once that file is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from sparkrig.network import handover
from tests.plan.conftest import FABRIC, A, B, Deploy, converged, pair, recorded, well
from tests.plan.desk import Desk
from tests.plan.states import netplan

STEP = "Network | profiles and live links"
PORTS = list(FABRIC[A])
CLOUD = "network: {ethernets: {enp1s0f0np0: {dhcp4: true}, enP2p1s0f0np0: {dhcp4: true}}}"
UUID = "5e0d4d4e-77e2-3d1b-9d0c-0000000000"


def of_networkd(text: str) -> str:
    """NetworkManager leaves both ports alone, and has no profile for them."""
    text = re.sub(r"^(device en\w+f0np0):.*$", r"\1:unmanaged:", text, flags=re.M)
    return netplan("/etc/netplan/50-cloud-init.yaml", CLOUD)(text)


def given(text: str, *, active: bool, more: str = "") -> str:
    """After the cure: the file, what netplan renders from it, and on a fresh host that profile is active."""
    body = handover.text(PORTS)
    if more:
        body = body.replace("NetworkManager}", f"NetworkManager, {more}}}", 1)
    rows = []
    for number, netdev in enumerate(PORTS, 10):
        uuid = f"{UUID}{number}"
        file = f"/run/NetworkManager/system-connections/netplan-{netdev}.nmconnection"
        rows += [
            f"profile {uuid}:802-3-ethernet:{file}",
            f"property connection.uuid:{uuid}",
            f"property connection.id:netplan-{netdev}",
            f"property connection.interface-name:{netdev}",
            "property connection.autoconnect-priority:0",
            "property ipv4.method:link-local",
        ]
        if active:
            text = re.sub(rf"^device {netdev}:.*$", f"device {netdev}:connected:{uuid}", text, flags=re.M)
    text = netplan(handover.FILE, body)(text)
    return text.replace("nm running\n", "nm running\n" + "\n".join(rows) + "\n")


def test_ports_of_networkd_are_refused_with_the_file_that_gives_them_away(deploy: Deploy) -> None:
    run = deploy(pair(of_networkd(recorded("fresh-a")), recorded("fresh-b")), "-y")
    assert (run.code, run.changes) == (1, []) and "Traceback" not in run.stderr
    said = " ".join(run.stderr.split())
    assert "NetworkManager does not manage enp1s0f0np0 and enP2p1s0f0np0: netplan gives " in said
    cure = f"'{handover.text(PORTS)}' | sudo install -m 600 /dev/stdin {handover.FILE} && sudo netplan gen"
    assert shlex.quote(cure)[1:-1] in said, "as one word, for the shell of the Spark"


def test_after_the_cure_the_deploy_goes_through(deploy: Deploy) -> None:
    plain = deploy(pair(recorded("fresh-a"), recorded("fresh-b")), "--json", "--dry")
    cured = well(
        deploy(pair(*(given(recorded(f"fresh-{letter}"), active=True) for letter in "ab")), "--json", "--dry")
    )
    assert cured.plan == plain.plan and cured.plan[STEP] == {A, B}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "desk")


def test_the_second_run_is_empty_and_drift_finds_nothing(deploy: Deploy, desk: Desk) -> None:
    halves = pair(*(given(converged(letter), active=False) for letter in "ab"))
    run = deploy(halves, "-y")
    assert (run.code, run.changes) == (0, []), run.stderr[-3000:]
    done = desk.has(halves).drift()
    assert (done.code, done.wrong) == (0, {A: set(), B: set()}), done.said


def test_a_file_that_says_more_is_refused_and_drift_names_it(deploy: Deploy, desk: Desk) -> None:
    halves = pair(given(converged("a"), active=False, more="mtu: 1500"), converged("b"))
    run = deploy(halves, "-y")
    assert run.code == 1
    said = f"second definition: netplan file {handover.FILE} defines enp1s0f0np0 (no fixed address, MTU 1500)"
    assert said in " ".join(run.stderr.split())
    done = desk.has(halves).drift()
    assert done.out, done.said
    assert (done.code, done.wrong) == (2, {A: {"net.enp1s0f0np0.others"}, B: set()})
