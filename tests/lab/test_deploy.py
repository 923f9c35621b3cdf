"""T3: the cluster deploy on the virtual pair, run as a user runs it."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import NODES, pair
from sparkrig import programs
from sparkrig.facts.resources import Network
from sparkrig.host import gpu
from sparkrig.host.nvidia_smi import Gpu
from tests.faults.record import Seen
from tests.lab.commands import LAB, ROOT, SOLO, Done, assert_state, deploy, drift, mend, planned, run, wrong
from tests.lab.guests import Guest, Pair
from tests.lab.links import wait_for_rails

CONTAINERS = "deploys/containers.py"


def refusal(done: Done) -> str:
    """The first refusal of a run, with its host."""
    return next(line.strip() for line in done.stderr.splitlines() if "Refused: " in line)


@pytest.mark.main
def test_the_final_state_is_what_the_inventory_says(deployed: Pair) -> None:
    assert_state()


@pytest.mark.main
@pytest.mark.promise(3)
def test_a_second_run_has_nothing_to_do(deployed: Pair, seen: Seen) -> None:
    assert planned() == {}
    seen("the plan of the second run is empty")


def test_the_index_of_the_pair_is_not_3(deployed: Pair) -> None:
    """A constant 3 anywhere would be wrong here; what is right is asserted on sysfs by tests/state."""
    for guest in deployed:
        told = guest.output("sed -n s/^NCCL_IB_GID_INDEX=//p /etc/nccl.conf")
        assert told.isdigit() and told != "3"


INPUTS = shlex.join(["sh", "-c", programs.text("facts/apt_inputs.sh") + '\napt_inputs; echo "$inputs"'])
KEPT = shlex.join(["sudo", "-H", "sh", "-c", f"{programs.text('facts/apt_simulation.sh')}\nkept_simulation"])
SWITCHED = (
    "apt-mark unhold nvidia-driver-580-open",
    "apt-mark hold nvidia-driver-580-open",
    "dpkg --add-architecture armel",
    "dpkg --remove-architecture armel",
    "apt-mark auto openssh-server",
    "sh -c 'echo >>/etc/apt/preferences.d/zz-test'",
    "sh -c 'echo >/etc/apt/apt.conf.d/zz-test'",
    "touch /etc/apt/sources.list",
)


def test_what_apt_simulates_is_kept_until_apt_would_look_again(deployed: Pair) -> None:
    """What real apt and dpkg write, and where, for holds, marks, pins and sources: T0 has stand-ins."""
    kept, other = (guest.output(KEPT).splitlines() for guest in deployed)
    asked = deployed.a.output("sudo apt-get -s -o Debug::NoLocking=1 dist-upgrade | grep ^Inst").splitlines()
    assert kept == [*asked, "simulated 0", "kept"] == other, "the deploy left it; nothing has changed since"
    steps = "; ".join(f"{each} >/dev/null; {INPUTS} | sha256sum" for each in SWITCHED)
    seen = deployed.a.output(f"sudo -H bash -c {shlex.quote(steps)}").splitlines()
    assert len(seen) == len(set(seen)) == len(SWITCHED), seen
    assert deployed.a.run(KEPT).rc == 1, "no such record is believed any more"
    deployed.b.output("sudo date --set='-1 day'")
    assert deployed.b.run(KEPT).rc == 1, "nor one of the future"


def test_the_look_at_networkmanager_is_what_nmcli_prints(deployed: Pair) -> None:
    """One question on D-Bus in place of three to nmcli: the same netdevs, states and profiles, and their files."""
    look = f"sudo -H sh -c {shlex.quote(Network().command())}"
    for guest in deployed:
        rows = guest.output(look).splitlines()
        devices = guest.output("nmcli -t -f DEVICE,STATE,CON-UUID device").splitlines()
        states = {row.removeprefix("device ") for row in rows if row.startswith("device ")}
        assert states == {row.replace(" (externally)", "") for row in devices}, "the product reads the first word"
        profiles = guest.output("sudo nmcli -t -f UUID,TYPE,FILENAME connection show").splitlines()
        found = sorted(row.removeprefix("profile ") for row in rows if row.startswith("profile "))
        assert found == sorted(row for row in profiles if ":802-3-ethernet:" in row) != []
        for uuid in (row.split(":")[0] for row in found):
            fields = "connection.uuid,connection.id,802-3-ethernet.mtu,ipv4.method,ipv4.addresses"
            for row in guest.output(f"sudo nmcli -t -f {fields} connection show {uuid}").splitlines():
                assert f"property {row}" in rows, row


@pytest.mark.fault(35)
def test_neither_an_upgrade_nor_a_name_brings_590(deployed: Pair, seen: Seen) -> None:
    for guest in deployed:
        guest.output("sudo apt-get update")
        moved = guest.run("apt-get -s dist-upgrade | grep ^Inst").stdout.splitlines()
        # a library of nvidia-settings, which is neither driver nor kernel, and at 610 on each recorded Spark
        assert [row.split()[1] for row in moved] == ["libxnvctrl0"], moved
        for later in ("nvidia-driver-590-open", "nvidia-driver-open"):
            refused = guest.run(f"sudo apt-get -s install {later}")
            assert refused.rc == 100, refused.stdout
            assert "no installation candidate" in refused.stderr
    seen("a simulated dist-upgrade moves no driver and no kernel; asked for by name, 590 has no candidate")


@pytest.mark.main
@pytest.mark.promise(10)
def test_a_live_link_that_lost_its_mtu_is_found_and_mended(deployed: Pair, seen: Seen) -> None:
    """By hand on one half; found by drift, and mended by the command that it prints."""
    deployed.b.output("sudo ip link set enp1s0f0np0 mtu 1500")
    found = drift()
    assert (found.code, wrong(found)) == (2, {("spark-b", "net.enp1s0f0np0.mtu"): "host"}), found.stderr
    assert planned()["Network | profiles and live links"] == {"spark-b"}
    commands = mend()
    assert deployed.b.output("cat /sys/class/net/enp1s0f0np0/mtu") == "9000"
    after = drift()
    assert (after.code, wrong(after)) == (0, {}), after.stderr
    seen(f"MTU 1500: found, and mended by: {'; '.join(commands)}")


@pytest.mark.fault(21, 22)
def test_the_files_follow_an_index_that_moves(deployed: Pair, seen: Seen) -> None:
    """Other addresses take the slots before the wanted one comes back, on one device of two."""
    netdev, own = "enP2p1s0f0np0", "192.168.101.11/24"
    add = f"sudo ip addr add {{}} dev {netdev} && sleep 1"
    steps = [
        add.format("10.99.0.1/24"),
        f"sudo ip addr del {own} dev {netdev}",
        add.format("10.99.0.2/24"),
        add.format(own),
        f"sudo nmcli device reapply {netdev}",
    ]
    deployed.a.output(" && ".join(steps))
    at = deployed.a.output("grep -l ffff:c0a8:650b /sys/class/infiniband/roceP2p1s0f0/ports/1/gids/*").rsplit(
        "/", 1
    )[1]
    assert at != "1", "the index did not move, so this test would show nothing"
    wait = "for i in $(seq 60); do grep -q ADDR_FAMILY /etc/nccl.conf && exit 0; sleep 1; done; exit 1"
    assert deployed.a.run(wait, timeout=180).rc == 0, deployed.a.output("cat /etc/nccl.conf")
    for path in ("/etc/nccl.conf", "/etc/sparkrig/container.env"):
        text = deployed.a.output(f"cat {path}")
        assert "NCCL_IB_GID_INDEX" not in text
        assert f"roceP2p1s0f0 has its GID at {at}" in text
        assert "NCCL_IB_ADDR_RANGE=192.168.100.0/23" in text
    assert planned() == {}, "what the host's own script wrote is what the deploy wants"
    seen("no index is written any more, but NCCL_IB_ADDR_RANGE, on the host, within a minute of the move")


@pytest.mark.exhaustive
@pytest.mark.promise(10)
def test_a_torn_upgrade_is_refused_and_mended_by_the_printed_cure(deployed: Pair, seen: Seen) -> None:
    """apt and dpkg themselves: the set is held, and the kernel that boots next has lost its modules."""
    kernel = deployed.b.output("uname -r")  # the one that GRUB boots: NVIDIA's are packages without a kernel here
    module = f"linux-modules-nvidia-580-open-{kernel}"
    deployed.b.output(f"sudo apt-mark unhold {module}; sudo dpkg --remove --force-depends {module}")
    done = deploy()
    assert done.code == 1
    said = refusal(done)
    assert f"[spark-b] Refused: kernel {kernel} boots next, and no nvidia.ko of driver 580 fits it" in said
    cure = said.partition("Try: ")[2].rstrip(".")
    typed(deployed.b, cure)
    assert module in deployed.b.output("apt-mark showhold").split(), "what came is held with the others"
    assert planned() == {}
    seen(f"refused, and mended by: {cure}")


def typed(guest: Guest, cure: str) -> None:
    """A printed cure, as a person types it who answers apt with yes."""
    command = cure.removesuffix("; and reboot").replace("apt-get install", "apt-get -y install")
    guest.output(f"bash -c {shlex.quote(command)}")


@pytest.mark.exhaustive
@pytest.mark.promise(10)
def test_what_doctor_prints_against_a_broken_driver_gets_past_the_hold(deployed: Pair, seen: Seen) -> None:
    """Each cure that touches the held set, with apt itself; the files come back, and all is held again."""
    held = deployed.b.output("apt-mark showhold")
    deployed.b.output("sudo dpkg --remove --force-depends nvidia-utils-580")
    cures = {
        "Install: nvidia-utils-580": gpu.answers(Gpu(trouble="nvidia-smi is not installed")).cure,
        "Reinstall: libnvidia-compute-580": gpu.answers(Gpu(trouble="couldn't find libnvidia-ml.so")).cure,
        "Reinstall: nvidia-firmware-580-580.173.02": gpu.gsp(Gpu(gsp="580.159.03", driver="580.173.02")).cure,
    }
    for act, cure in cures.items():
        typed(deployed.b, cure)
        assert act in deployed.b.output("tail -n 6 /var/log/apt/history.log")
        assert deployed.b.output("apt-mark showhold") == held
    deployed.b.output("nvidia-smi -L")
    seen(f"{len(cures)} printed cures, each past the hold and held again")


@pytest.mark.fault(12)
def test_a_foreign_profile_is_refused_and_nothing_is_changed(deployed: Pair, seen: Seen) -> None:
    add = "sudo nmcli connection add type ethernet ifname enp1s0f0np0 con-name cx7 autoconnect no"
    deployed.a.output(add)
    before = deployed.b.output(
        "sudo sh -c 'sync; find /etc /var/lib/sparkrig -newer /proc/1/cmdline -type f | wc -l'"
    )
    done = deploy()
    seen(refusal(done))
    assert done.code == 1
    second = "fabric netdevs have a second definition: NetworkManager profile 'cx7'"
    assert f"[spark-a] Refused: {second}" in done.stderr
    assert "Traceback" not in done.stderr
    after = deployed.b.output(
        "sudo sh -c 'sync; find /etc /var/lib/sparkrig -newer /proc/1/cmdline -type f | wc -l'"
    )
    assert before == after


@pytest.mark.fault(32, 33)
@pytest.mark.promise(7)
def test_running_containers_are_not_stopped_without_leave(deployed: Pair, seen: Seen) -> None:
    rootfs = "tar -chf - /usr/bin/sleep /lib64/ld-linux-x86-64.so.2 /lib/x86_64-linux-gnu/libc.so.6 2>/dev/null"
    deployed.b.output(
        f"{rootfs} | sudo docker import - idle >/dev/null && sudo docker run -d --name idle idle sleep 3600"
    )
    deployed.b.output("""sudo sh -c 'echo "{\\"log-driver\\": \\"json-file\\"}" >/etc/docker/daemon.json'""")
    started = deployed.b.output("sudo docker inspect -f {{.State.StartedAt}} idle")
    done = run("pyinfra", "-y", LAB, CONTAINERS)
    assert done.code == 0, done.stderr[-3000:]
    document = json.loads(deployed.b.output("cat /etc/docker/daemon.json"))
    assert document["log-driver"] == "json-file", "what was there is merged, not replaced"
    assert "nvidia" in document["runtimes"]
    assert deployed.b.output("sudo docker inspect -f {{.State.StartedAt}} idle") == started, (
        "it has the runtime live"
    )

    deployed.b.output(
        """sudo sh -c 'echo "{\\"log-driver\\": \\"json-file\\"}" >/etc/docker/daemon.json'"""
        " && sudo systemctl restart docker && sudo docker start idle"
    )
    done = run("pyinfra", "-y", LAB, CONTAINERS)
    seen(refusal(done))
    assert done.code == 1
    assert "1 container(s) are running" in done.stderr
    assert deployed.b.output("sudo docker ps -q | wc -l") == "1"
    assert deployed.b.output("cat /etc/docker/daemon.json") == '{"log-driver": "json-file"}'

    assert run("pyinfra", "-y", "--data", "restart_docker=True", LAB, CONTAINERS).code == 0
    document = json.loads(deployed.b.output("cat /etc/docker/daemon.json"))
    assert document["log-driver"] == "json-file" and "nvidia" in document["runtimes"]


@pytest.fixture
def inventory(tmp_path: Path) -> Iterator[Path]:
    """A copy of the lab's inventory, to be spoiled."""
    shutil.copytree(ROOT / "inventories", tmp_path / "inventories")
    yield tmp_path / "inventories" / "lab.py"


def spoil(inventory: Path, old: str, new: str) -> Path:
    text = inventory.read_text()
    assert old in text
    inventory.write_text(text.replace(old, new))
    return inventory


def refused(inventory: Path, *sentences: str) -> str:
    """The first line of a run that has one of these sentences; all have to be there, and nothing to be done."""
    done = deploy(inventory=str(inventory))
    assert done.code not in (0, 2)
    for sentence in sentences:
        assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert "Starting operation" not in done.stderr
    return next(line.strip() for line in done.stderr.splitlines() if sentences[0] in line)


def test_a_wrong_ssh_key_stops_before_any_change(deployed: Pair, inventory: Path) -> None:
    key = inventory.parent / "wrong"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    refused(
        spoil(inventory, "**_host_data(name)}", f"**_host_data(name), 'ssh_key': {str(key)!r}}}"),
        "Authentication error (username=nvidia",
        "--> Error: spark-",
        "Try: ssh-copy-id",
    )


@pytest.mark.fault(41)
def test_a_changed_host_key_stops_before_any_change(deployed: Pair, inventory: Path, seen: Seen) -> None:
    other = inventory.parent / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    public = " ".join(other.with_suffix(".pub").read_text().split()[:2])
    known = inventory.parent / "known_hosts"
    known.write_text("".join(f"[127.0.0.1]:{port} {public}\n" for port in _ports()))
    said = refused(
        spoil(inventory, "**_host_data(name)}", f"**_host_data(name), 'ssh_known_hosts_file': {str(known)!r}}}"),
        "Host key for",
        "does not match",
    )
    seen(said)


def _ports() -> list[int]:
    from lab.nodes import ssh_port

    return [ssh_port(node) for node in NODES]


@pytest.mark.fault(3)
def test_an_unknown_host_stops_the_pair(deployed: Pair, inventory: Path, seen: Seen) -> None:
    said = refused(
        spoil(
            inventory,
            "**_host_data(name)}",
            "**_host_data(name), **({'ssh_hostname': 'no-such-spark.invalid'} if last == 12 else {})}",
        ),
        "[spark-b] Could not resolve hostname",
        "--> Error: spark-b: Could not resolve no-such-spark.invalid",
    )
    seen(said)


@pytest.mark.fault(38)
def test_sudo_refused_is_said_in_words(deployed: Pair, seen: Seen) -> None:
    rule = "/etc/sudoers.d/nvidia"
    deployed.b.output(f"sudo rm {rule}")
    done = deploy()
    assert done.code == 1
    assert "[spark-b] Refused: the host cannot be read as root" in done.stderr
    assert "sudo password:" not in done.stdout + done.stderr
    assert "sudo without a password is expected for nvidia" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Starting operation" not in done.stderr
    seen(refusal(done))


@pytest.mark.promise(3, 6)
def test_it_all_survives_a_reboot_of_both_hosts(deployed: Pair, seen: Seen) -> None:
    """A power cut of both right after the deploy, with all that was not yet written back.

    The rails are not known then, which only a kernel that really booted again shows; the deploy measures them, and
    that is no change.
    """
    pair.cut_power(*NODES)
    for guest in deployed:
        assert guest.output("cat /proc/cmdline").startswith("BOOT_IMAGE=/boot/vmlinuz-"), "its own GRUB booted it"
        wait_for_rails(guest)
    assert planned() == {}
    found = drift()
    rails = {(node, f"bandwidth.{netdev}") for node in NODES for netdev in ("enp1s0f0np0", "enP2p1s0f0np0")}
    assert (found.code, set(wrong(found))) == (3, rails), found.stderr
    assert {row["found"] for row in rows(found, "bandwidth")} == {
        "not measured since the boot of spark-a and spark-b",
        "not measured since the boot of spark-b and spark-a",
    }
    before = [measured_at(guest) for guest in deployed]
    done = deploy("--json")
    assert done.code == 0, done.stderr[-3000:]
    assert json.loads(done.stdout)["results"]["totals"]["success"] == 0, "a measurement is no change"
    assert not set(before) & {measured_at(guest) for guest in deployed}, "it was measured anew"
    assert_state()
    assert drift().code == 0, "and is known, so the next deploy does not measure"
    seen(
        "power cut right after the deploy: rails not known, measured by a deploy of zero changes; the state holds"
    )


def rows(report: Done, noun: str) -> list[dict[str, str]]:
    """The rows of a drift report about one noun, of all hosts."""
    found = [row for host in json.loads(report.stdout)["hosts"] for row in host["rows"]]
    return [row for row in found if row["id"].startswith(f"{noun}.")]


def measured_at(guest: Guest) -> str:
    """When the rails of a guest were measured last, as it keeps it."""
    return guest.output("sudo grep measured_at /var/lib/sparkrig/bandwidth.json")


def test_a_lone_spark_deploys_without_rdma(alone: Guest) -> None:
    assert alone.output("ls /sys/class/infiniband 2>/dev/null | wc -l") == "0"
    assert planned(SOLO) == {}
    assert_state(SOLO)
    assert "NCCL_IB" not in alone.output("cat /etc/nccl.conf /etc/sparkrig/container.env")
