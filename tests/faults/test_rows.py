"""Faults of the matrix that no other test injects, each on the pair in a state restored for it."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from lab.machine import Machine
from lab.waiting import wait_until
from sparkrig.resources.containers import KEYRING
from tests.faults import endstate
from tests.faults.deploying import deploying
from tests.faults.endstate import State
from tests.faults.record import Seen
from tests.lab.commands import LAB, ROOT, Done, deploy, planned, run
from tests.lab.guests import Pair

CONTAINERS = "deploys/containers.py"
TOOLKIT_STEP = "Containers | nvidia-container-toolkit"
SITE = "/srv/libnvidia-container"
REPOSITORY = f"{SITE}/stable/deb/amd64"
LIMIT_S = 240


def containers(*flags: str) -> Done:
    """The containers' deploy alone, which is quick, on both hosts."""
    return run("pyinfra", "-y", *flags, LAB, CONTAINERS)


def bandwidth(*flags: str) -> tuple[Done, dict[str, Any]]:
    """A measurement of the pair: how the command ended, and its document."""
    done = run("sparkrig", "bandwidth", LAB, "--json", "--quick", *flags, timeout=LIMIT_S)
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    return done, json.loads(done.stdout)["pairs"][0]


def line(done: Done, words: str) -> str:
    """The first line of a run that has these words."""
    assert "Traceback" not in done.stderr
    found = [each.strip() for each in done.stderr.splitlines() if words in each]
    assert found, done.stderr[-3000:]
    return found[0]


def verdict(document: dict[str, Any], rail: int) -> tuple[str, str]:
    """Level and cause of a rail."""
    found = document["rails"][rail]["verdict"]
    return found["level"], found["cause"]


def evidence(document: dict[str, Any], rail: int) -> str:
    return f"rail {rail}: {verdict(document, rail)[1]}: {document['rails'][rail]['verdict']['evidence']}"


# --- netdevs and links


@pytest.mark.fault(13)
def test_a_declared_netdev_that_is_not_there_stops_the_deploy(pristine: Pair, seen: Seen) -> None:
    pristine.b.output(
        "basename $(readlink /sys/class/net/enP2p1s0f0np0/device)"
        " | sudo tee /sys/bus/virtio/drivers/virtio_net/unbind"
    )
    done = deploy()
    assert done.code == 1
    said = line(done, "[spark-b] Refused: ")
    assert "enP2p1s0f0np0" in said and "Starting operation" not in done.stderr
    seen(said)


@pytest.mark.fault(13)
def test_netdevs_that_changed_places_are_seen_below_ip(deployed: Pair, seen: Seen) -> None:
    """As when a kernel names them anew: what was rail 0 is rail 1 by its name, on one host."""
    one, other = "enp1s0f0np0", "enP2p1s0f0np0"
    deployed.b.output(
        f"for n in {one} {other}; do sudo ip link set $n down; done;"
        f" sudo ip link set {one} name swap0 && sudo ip link set {other} name {one}"
        f" && sudo ip link set swap0 name {other};"
        f" for n in {one} {other}; do sudo ip link set $n up; done; sleep 5"
    )
    done = run("sparkrig", "topology", LAB, "--json", timeout=LIMIT_S)
    document = json.loads(done.stdout)
    findings = document["groups"][0]["findings"]
    assert done.code == 2, findings
    told = [each["verdict"] for each in findings if each["verdict"]["level"] == "fault"]
    assert told and all(each["cure"] for each in told)
    seen(f"{told[0]['cause']}: {told[0]['evidence']}")


@pytest.mark.fault(14)
def test_one_twin_without_carrier_leaves_its_rail_missing(deployed: Pair, seen: Seen) -> None:
    Machine("spark-b").set_carriers({"enP2p1s0f0np0": False})
    done, document = bandwidth()
    assert done.code == 2
    assert verdict(document, 0) == ("healthy", "")
    assert verdict(document, 1)[0] == "fault"
    seen(evidence(document, 1))


@pytest.mark.fault(18)
def test_a_fabric_in_dockers_subnet_is_refused(deployed: Pair, tmp_path: Path, seen: Seen) -> None:
    shutil.copytree(ROOT / "inventories", tmp_path / "inventories")
    inventory = tmp_path / "inventories" / "lab.py"
    text = inventory.read_text()
    assert "192.168.100." in text
    inventory.write_text(text.replace("192.168.100.", "172.17.5."))
    done = deploy(inventory=str(inventory))
    assert done.code == 1 and "Starting operation" not in done.stderr
    said = line(done, "Refused: ")
    assert "172.17.5." in said and "docker0" in said
    seen(said)


@pytest.mark.fault(20)
def test_a_switch_at_1500_is_no_healthy_link_though_both_ends_are_at_9000(deployed: Pair, seen: Seen) -> None:
    for guest in deployed:
        for netdev in ("enp1s0f0np0", "enP2p1s0f0np0"):
            guest.output(f"sudo iptables -t raw -A PREROUTING -i {netdev} -m length --length 1501:65535 -j DROP")
            assert guest.output(f"cat /sys/class/net/{netdev}/mtu") == "9000"
    done, document = bandwidth()
    assert done.code == 2
    assert {verdict(document, rail) for rail in (0, 1)} == {("fault", "short-frames")}
    seen(evidence(document, 0))


@pytest.mark.fault(26)
def test_two_versions_of_perftest_are_named(deployed: Pair, seen: Seen) -> None:
    wrapper = (
        '#!/bin/sh\\nif [ "$1" = --version ]; then echo "Version: 6.20"; else exec ib_write_bw.real "$@"; fi\\n'
    )
    deployed.b.output(
        "cd /usr/bin && sudo mv ib_write_bw ib_write_bw.real"
        f" && printf '{wrapper}' | sudo tee ib_write_bw >/dev/null && sudo chmod 755 ib_write_bw"
    )
    done, document = bandwidth()
    found = [each["verdict"] for each in document["health"] if each["verdict"]["cause"] == "versions-differ"]
    assert done.code == 0, "background: it is shown, and the link is healthy"
    assert len(found) == 1 and "6.20 on spark-b" in found[0]["evidence"]
    assert verdict(document, 0) == ("healthy", ""), "they measure all the same"
    seen(f"{found[0]['evidence']}; try: {found[0]['cure']}")


# --- the toolkit's repository


GPG = "sudo gpg --homedir /root/keys --batch --quiet --yes --passphrase ''"


def signed_anew(guests: Pair, *, publish: bool, expired: bool = False) -> str:
    """Signs the repository with a new key, on both guests, and returns the key's fingerprint.

    publish: whether the key is put at its URL; expired: whether it is one whose owner has made it last longer
    since, which whoever has the old copy does not know.
    """
    made = f"{GPG} {'--faked-system-time 20240101T000000' if expired else ''} --quick-gen-key other ed25519 sign"
    guests.a.output(f"sudo mkdir -pm 700 /root/keys && {made} {'1y' if expired else 'never'}")
    listed = guests.a.output(f"{GPG} --with-colons --list-keys")
    fingerprint = next(row.split(":")[9] for row in listed.splitlines() if row.startswith("fpr:"))
    steps = [
        f"{GPG} --armor --output {SITE}/gpgkey --export" if publish else "true",
        f"{GPG} --quick-set-expire {fingerprint} 0" if expired else "true",
        f"{GPG} --clearsign --output {REPOSITORY}/InRelease {REPOSITORY}/Release",
    ]
    guests.a.output(" && ".join(steps))
    on_the_other(guests)
    return fingerprint


def assert_nothing_installed(guests: Pair) -> None:
    for guest in guests:
        assert guest.run("dpkg-query -W -f '${Status}\n' nvidia-container-toolkit").stdout.strip() in (
            "",
            "unknown ok not-installed",
        )
        assert guest.run("dpkg --audit").stdout == ""


@pytest.mark.fault(30)
def test_a_repository_key_that_is_not_the_pinned_one_is_refused(pristine: Pair, seen: Seen) -> None:
    new = signed_anew(pristine, publish=True)
    done = containers()
    assert done.code == 1
    said = line(done, "was pinned")
    assert new in said and "nothing was installed" in said
    assert_nothing_installed(pristine)
    seen(said)


def signed_by_one_that_adopted(guests: Pair) -> tuple[str, str]:
    """A key that took another one as its subkey is published and signs the repository: both fingerprints.

    A key that becomes a subkey keeps its fingerprint only with the time of its making.
    """
    on_day = "--faked-system-time '20260101T000000!'"
    guests.a.output("sudo mkdir -pm 700 /root/keys")
    for name in ("good", "evil"):
        guests.a.output(f"{GPG} {on_day} --quick-gen-key {name} ed25519 sign never")
    rows = {
        name: guests.a.output(f"{GPG} --with-colons --with-keygrip --list-keys {name}").splitlines()
        for name in ("good", "evil")
    }
    good, evil = (next(row.split(":")[9] for row in rows[name] if row.startswith("fpr:")) for name in rows)
    keygrip = next(row.split(":")[9] for row in rows["good"] if row.startswith("grp:"))
    edit = f"--expert --pinentry-mode loopback {on_day} --command-fd 0 --no-tty --edit-key {evil}"
    guests.a.output(f"printf 'addkey\\n13\\n{keygrip}\\nE\\nQ\\n0\\nsave\\n' | {GPG} {edit}")
    guests.a.output(f"{GPG} --armor --output {SITE}/gpgkey --export evil")
    guests.a.output(f"{GPG} -u {evil} --clearsign --output {REPOSITORY}/InRelease {REPOSITORY}/Release")
    on_the_other(guests)
    return good, evil


def on_the_other(guests: Pair) -> None:
    """What is published on spark-a, on spark-b, too."""
    for name in (f"{REPOSITORY}/InRelease", f"{SITE}/gpgkey"):
        text = guests.a.output(f"sudo base64 -w0 {name}")
        guests.b.output(f"echo {text} | base64 -d | sudo tee {name} >/dev/null")


@pytest.mark.fault(30)
def test_a_repository_key_that_adopted_the_pinned_one_is_refused(pristine: Pair, seen: Seen) -> None:
    """gpg gives out the hostile primary key for the pinned fingerprint, and apt takes what that one signs."""
    good, evil = signed_by_one_that_adopted(pristine)
    done = containers("--data", f"toolkit_key_fingerprint={good}")
    assert done.code == 1
    said = line(done, "was pinned")
    assert evil in said and "nothing was installed" in said
    assert_nothing_installed(pristine)
    for guest in pristine:
        guest.output(f"test ! -e {KEYRING}")
    ring = "/etc/apt/keyrings/other.gpg"
    pristine.a.output(f"sudo mkdir -p /etc/apt/keyrings && {GPG} --output {ring} --export {good}")
    source = f"deb [signed-by={ring}] file:{REPOSITORY} /"
    pristine.a.output(f"sudo chmod 644 {ring} && echo '{source}' >/tmp/other.list")
    only = "-o Dir::Etc::sourcelist=/tmp/other.list -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0"
    taken = pristine.a.run(f"sudo apt-get {only} update")
    assert taken.rc == 0 and "not signed" not in taken.stdout + taken.stderr, "then it is no attack"
    seen(f"{said}; by itself apt takes that key for the pinned one")


@pytest.mark.fault(30)
def test_a_repository_signed_by_another_key_is_refused(pristine: Pair, seen: Seen) -> None:
    """The key at its URL is the pinned one, and the index is signed by a new one."""
    signed_anew(pristine, publish=False)
    done = containers()
    assert done.code == 1
    said = line(done, "E: ")
    assert "not signed" in done.stderr or "NO_PUBKEY" in done.stderr or "issing key" in done.stderr
    assert_nothing_installed(pristine)
    seen(said)


@pytest.mark.fault(30)
def test_a_repository_key_that_has_expired_is_refused(pristine: Pair, seen: Seen) -> None:
    new = signed_anew(pristine, publish=True, expired=True)
    done = containers("--data", f"toolkit_key_fingerprint={new}")
    assert done.code == 1
    said = line(done, "xpired")
    assert_nothing_installed(pristine)
    seen(said)


@pytest.mark.fault(31)
@pytest.mark.parametrize(
    ("spoil", "mend"),
    [
        pytest.param(f"mv {REPOSITORY} /srv/away", f"mv /srv/away {REPOSITORY}", id="offline"),
        pytest.param(
            f"cp -p {REPOSITORY}/Packages /srv/kept && sed -i s/1.19.0/1.19.1/ {REPOSITORY}/Packages",
            f"cp -p /srv/kept {REPOSITORY}/Packages",
            id="half-way",
        ),
    ],
)
def test_a_broken_mirror_installs_nothing_and_the_next_run_does(
    pristine: Pair, seen: Seen, spoil: str, mend: str
) -> None:
    for guest in pristine:
        guest.output(f"sudo sh -c '{spoil}'")
    done = containers()
    assert done.code == 1
    said = line(done, "E: ")
    assert_nothing_installed(pristine)
    for guest in pristine:
        guest.output(f"sudo sh -c '{mend}'")
    assert containers().code == 0
    for guest in pristine:
        guest.output("nvidia-ctk --version")
    seen(f"{said}; nothing is installed, and the next run installs it")


# --- docker


@pytest.mark.fault(33)
def test_a_daemon_json_that_is_no_json_is_refused(deployed: Pair, seen: Seen) -> None:
    deployed.b.output("""sudo sh -c 'echo "{ \\"runtimes\\": {}," >/etc/docker/daemon.json'""")
    done = deploy()
    assert done.code == 1 and "Starting operation" not in done.stderr
    said = line(done, "[spark-b] Refused: ")
    assert "/etc/docker/daemon.json is not valid JSON" in said
    assert deployed.b.output("cat /etc/docker/daemon.json") == '{ "runtimes": {},'
    seen(said)


# --- the controller


@pytest.mark.fault(40)
@pytest.mark.promise(4)
def test_ctrl_c_in_mid_deploy_leaves_nothing_that_the_next_run_does_not_finish(
    undisturbed: State, pristine: Pair, seen: Seen
) -> None:
    with deploying() as running:
        where = running.in_step(TOOLKIT_STEP, "spark-b")
        running.signal(signal.SIGINT)
        assert running.wait(60), "Ctrl-C is not heeded"
        assert "Traceback" not in running.said
        seen(f"Ctrl-C {where}: {running.lines[-1].strip()}, exit code {running.code}")
    for guest in pristine:
        wait_until(
            lambda guest=guest: guest.run("pgrep -f '^timeout -k 5 '").rc == 1,  # type: ignore[misc]
            120,
            happened=f"a command of the broken-off run still runs on {guest.node}",
            attempt="pgrep -af timeout",
        )
    assert deploy().code == 0
    assert endstate.differences(undisturbed, endstate.of(pristine)) == []
    seen("the next run ends in the same state")


# --- old results


@pytest.mark.fault(42)
def test_a_record_of_another_link_counts_for_nothing(deployed: Pair, seen: Seen) -> None:
    path = "/var/lib/sparkrig/bandwidth.json"
    assert planned() == {}
    deployed.b.output(f"sudo sed -i 's/192.168.101.11/192.168.101.99/' {path}")
    plan = planned()  # the half that is looked at first knows nothing of the other's record yet
    assert list(plan) == ["Bandwidth | ib_write_bw on each rail"] and "spark-b" in plan.popitem()[1]
    deployed.b.output(f"sudo sed -i 's/192.168.101.99/192.168.101.11/' {path}")
    assert planned() == {}
    seen("a record of another peer's address on one host: both rails are due again, and are not with its own")
