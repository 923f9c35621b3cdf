"""T3: what the doctor says of the virtual pair, well and ill: the right line, its cause and cure, the exit code.

That it writes nothing there is tests/faults/test_looking.py's to show.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import NODES, pair
from lab.nodes import ssh_port
from tests.faults.record import Seen
from tests.lab.commands import LAB, ROOT, Done, run
from tests.lab.guests import Guest, Pair

pytestmark = pytest.mark.exhaustive  # make faults runs them

LIMIT_S = 300
NETDEV, TWIN = "enp1s0f0np0", "enP2p1s0f0np0"
APPLY = f"pyinfra {LAB} deploys/cluster.py"


def doctor(*words: str, inventory: str = LAB) -> Done:
    done = run("sparkrig", "doctor", inventory, *words, timeout=LIMIT_S)
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    return done


def examined(*words: str, inventory: str = LAB) -> tuple[int, dict[str, Any]]:
    """Exit code and report."""
    done = doctor("--json", *words, inventory=inventory)
    return done.code, json.loads(done.stdout)


def rows(report: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is wrong or not known, each with its host."""
    for host in report["hosts"]:
        yield from ((host["name"], row) for row in host["rows"] if row["status"] not in ("ok", "skipped"))


def roots(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By `host id`, what follows from nothing else."""
    return {f"{name} {row['id']}": row for name, row in rows(report) if row["follows"] is None}


def test_a_healthy_pair(deployed: Pair, seen: Seen) -> None:
    code, report = examined()
    assert (code, list(rows(report))) == (0, [])
    told = {row["id"] for host in report["hosts"] for row in host["rows"] if row["status"] == "ok"}
    assert {"pair.cabling", f"pair.{NETDEV}.ping", f"pair.{TWIN}.ping", "pair.name", "gpu.answers"} <= told
    last = doctor().stdout.splitlines()[-1]
    assert re.fullmatch(rf"✓ Your pair is ready \(\d+ checks, \d+ s\)\. Next: sparkrig bandwidth {LAB}", last)
    seen(last)


def test_one_that_was_never_deployed_wants_everything(pristine: Pair) -> None:
    code, report = examined()
    assert code == 2
    assert {"spark-a driver.hold", f"spark-a net.{NETDEV}.profile", "spark-b containers.toolkit"} <= set(
        roots(report)
    )
    assert report["next"] == f"Next: {APPLY}"


def typed_at(guest: Guest, cure: str) -> None:
    """A cure as a person types it here: ssh hands its last word to the host that it names."""
    program, *place, command = shlex.split(cure.partition("; then here")[0].removesuffix(", and reboot"))
    assert program == "ssh" and str(ssh_port(guest.node)) in place
    guest.output(command)


def test_two_sparks_with_one_machine_id(deployed: Pair, seen: Seen) -> None:
    its = deployed.a.output("cat /etc/machine-id")
    deployed.b.output(f"echo {its.strip()} | sudo tee /etc/machine-id")
    code, report = examined()
    assert (code, set(roots(report))) == (2, {"spark-a pair.machine-id", "spark-b pair.machine-id"})
    root = roots(report)["spark-b pair.machine-id"]
    assert root["found"] == "shared with spark-a, as on units made from one image"
    typed_at(deployed.b, root["cure"])
    assert examined()[0] == 0
    seen(root["cure"])


def test_two_sparks_with_one_set_of_host_keys(deployed: Pair, tmp_path: Path, seen: Seen) -> None:
    """As out of one image: this machine knows them by one key, and both of them show it."""
    known = tmp_path / "known_hosts"
    ports = {node: f"[127.0.0.1]:{ssh_port(node)}" for node in NODES}
    key = deployed.a.output("cat /etc/ssh/ssh_host_ed25519_key.pub")
    known.write_text("".join(f"{port} {key}\n" for port in ports.values()))
    shutil.copytree(ROOT / "inventories", tmp_path / "inventories")
    file = tmp_path / "inventories" / "lab.py"
    login = "**_host_data(name)}"
    assert login in file.read_text()
    file.write_text(file.read_text().replace(login, f'{login[:-1]}, "ssh_known_hosts_file": {str(known)!r}}}'))
    keys = deployed.a.output("sudo tar -C /etc/ssh -cz ssh_host_ed25519_key ssh_host_ed25519_key.pub | base64 -w0")
    deployed.b.output(f"echo {keys} | base64 -d | sudo tar -C /etc/ssh -xz && sudo systemctl restart ssh")
    code, report = examined(inventory=str(file))
    assert (code, set(roots(report))) == (2, {"spark-a pair.host-keys", "spark-b pair.host-keys"})
    root = roots(report)["spark-b pair.host-keys"]
    typed_at(deployed.b, root["cure"])
    assert examined(inventory=str(file))[0] == 3, "another key is no Spark that is known"
    own = deployed.b.output("cat /etc/ssh/ssh_host_ed25519_key.pub")
    known.write_text(f"{ports['spark-a']} {key}\n{ports['spark-b']} {own}\n")
    assert examined(inventory=str(file))[0] == 0
    seen(root["cure"])


@pytest.mark.fault(19)
def test_mtu_1500_on_one_side(deployed: Pair, seen: Seen) -> None:
    deployed.b.output(f"sudo ip link set {NETDEV} mtu 1500")
    code, report = examined()
    assert code == 2
    assert set(roots(report)) == {f"spark-b net.{NETDEV}.mtu"}
    root = roots(report)[f"spark-b net.{NETDEV}.mtu"]
    assert (root["found"], root["want"], root["cure"]) == ("1500", "9000", APPLY)
    following = {f"{name} {row['id']}" for name, row in rows(report) if row["follows"]}
    # a virtual NIC takes in frames that are longer than its MTU, so spark-a's pings are answered
    assert {f"spark-a pair.{NETDEV}.mtu", f"spark-b pair.{NETDEV}.ping"} <= following
    assert report["next"] == f"Next: {APPLY}"
    shown = doctor().stdout
    assert f"  ✗ net.{NETDEV}.mtu on spark-b\n    read      1500\n    expected  9000\n" in shown
    seen(shown.splitlines()[-1])


@pytest.mark.fault(20)
def test_a_switch_at_1500_in_between(deployed: Pair, seen: Seen) -> None:
    drop = f"sudo iptables -t raw -A PREROUTING -i {NETDEV} -m length --length 1501:65535 -j DROP"
    for guest in deployed:
        guest.output(drop)
    code, report = examined("pair")
    assert code == 2
    assert {row["cause"] for row in roots(report).values()} == {"short-frames"}
    assert {row["id"] for row in roots(report).values()} == {f"pair.{NETDEV}.ping"}
    seen(next(iter(roots(report).values()))["found"])


@pytest.mark.fault(15)
def test_cable_out(deployed: Pair, seen: Seen) -> None:
    pair.cable("spark-a", "p0", plugged=False)
    code, report = examined()
    assert code == 2
    assert set(roots(report)) == {"spark-a pair.cabling", "spark-b pair.cabling"}
    root = roots(report)["spark-a pair.cabling"]
    assert root["cause"] == "cable-out" and root["cure"].startswith("seat a QSFP cable in p0 of spark-a")
    assert {row["follows"]["id"] for _, row in rows(report) if row["follows"]} == {"pair.cabling"}
    seen(f"{root['cause']}: {root['found']}")


def test_docker_stopped(deployed: Pair, seen: Seen) -> None:
    deployed.b.output("sudo systemctl stop docker.socket docker.service")
    code, report = examined()
    assert code == 2
    root = roots(report)["spark-b containers.docker"]
    assert len(roots(report)) == 1
    assert root["cure"] == f"pyinfra {LAB} --limit spark-b -y exec -- systemctl start docker"
    assert run("pyinfra", LAB, "--limit", "spark-b", "-y", "exec", "--", "systemctl", "start", "docker").code == 0
    assert examined("containers")[0] == 0, "the command that it printed mends it"
    seen(root["found"])


@pytest.mark.fault(29)
def test_a_clock_that_is_wrong(deployed: Pair, seen: Seen) -> None:
    deployed.b.output("sudo date -s '+2 hours'")
    code, report = examined()
    assert code == 2
    assert set(roots(report)) == {"spark-b host.clock"}
    root = roots(report)["spark-b host.clock"]
    assert root["found"].startswith("the clock is 7") and "timedatectl" in root["cure"]
    assert report["next"] == f"Next: {root['cure']}" and root["cure"].startswith("ssh ")
    seen(root["found"])


@pytest.mark.fault(38)
def test_sudo_that_asks_for_a_password_hides_nothing_of_the_other(deployed: Pair, seen: Seen) -> None:
    deployed.b.output("sudo rm /etc/sudoers.d/nvidia")
    code, report = examined()
    assert code == 3
    assert {host["name"]: (host["exit"], host["read"]) for host in report["hosts"]} == {
        "spark-a": (0, True),
        "spark-b": (3, False),
    }
    assert set(roots(report)) == {"spark-b access.sudo"}
    seen(roots(report)["spark-b access.sudo"]["found"])


def test_one_check_alone(deployed: Pair) -> None:
    code, report = examined("identity.kernel")
    assert code == 0
    assert [row["id"] for host in report["hosts"] for row in host["rows"]] == ["identity.kernel"] * 2
    assert all(
        any("installed: linux-image-" in note for note in host["rows"][0]["notes"]) for host in report["hosts"]
    )
