"""T3: promise P8. Only a compared host key is taken, no key is copied, and a secret is in one place alone."""

from __future__ import annotations

import base64
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

import pytest

from lab import NODES, pair
from lab.nodes import FACTORY_NAMES
from tests.faults.record import Seen
from tests.lab.commands import BIN, CLUSTER, ROOT, STATE, Done, deploy, planned, run
from tests.lab.guests import Guest, Pair
from tests.lab.inventories import inventory_with
from tests.lab.states import DEPLOYED

SECURED = "secured"
FILE = "/etc/sparkrig/secrets.env"


# --- host keys


@pytest.fixture(scope="module", params=["unknown", "changed"])
def stranger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, Path]:
    """An inventory whose known_hosts has no key of the guests, or another; what is said of it; that file."""
    folder = tmp_path_factory.mktemp(request.param)
    known = folder / "known_hosts"
    known.write_text("")
    if request.param == "changed":
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"], check=True)
        public = (folder / "key.pub").read_text()
        known.write_text("".join(f"[127.0.0.1]:{port} {public}" for port in range(2201, 2300)))
    said = {"unknown": "Its host key is not known here", "changed": "a factory re-install makes a new one"}
    return inventory_with(folder, f"'ssh_known_hosts_file': {str(known)!r}"), said[request.param], known


@pytest.mark.fault(41)
@pytest.mark.parametrize(
    ("program", "words", "code"),
    [
        ("pyinfra", ("-y", "{}", CLUSTER), 1),
        ("sparkrig", ("status", "{}"), 3),
        ("sparkrig", ("topology", "{}"), 3),
        ("pytest", ("-q", "-p", "no:cacheprovider", "tests/state/test_driver.py", "--inventory", "{}"), 1),
    ],
    ids=["pyinfra", "status", "topology", "tests/state"],
)
def test_a_host_key_that_was_not_compared_is_refused(
    lab_pair: Pair, stranger: tuple[str, str, Path], program: str, words: tuple[str, ...], code: int, seen: Seen
) -> None:
    inventory, said, known = stranger
    before = known.read_text()
    done = run(program, *(word.format(inventory) for word in words))
    text = re.sub(r"[│\s]+", " ", done.stdout + done.stderr)
    assert done.code == code, text
    assert said in text
    assert "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub" in text
    assert "Traceback" not in text and "Starting operation" not in text
    assert known.read_text() == before, "no key was taken"
    seen(f"refused, and no key was taken: {said}")


# --- a pair with secrets and trust


@pytest.fixture(scope="module")
def canary() -> Iterator[str]:
    """A secret that is nowhere else, in the environment of whatever this module starts."""
    value = f"hf_{token_hex(20)}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARKRIG_CANARY", value)
        yield value


@pytest.fixture(scope="module")
def inventory(tmp_path_factory: pytest.TempPathFactory) -> str:
    more = "'secrets': {'HF_TOKEN': 'env:SPARKRIG_CANARY'}, 'node_ssh': True"
    return inventory_with(tmp_path_factory.mktemp("secured"), more)


@pytest.fixture(scope="module")
def secured_once(deployed_once: Pair, canary: str, inventory: str) -> Pair:
    pair.reset(NODES, DEPLOYED)
    for guest in deployed_once:
        guest.output("printf '# mine\\nssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA me' >>.ssh/authorized_keys")
    done = deploy(inventory=inventory)
    assert done.code == 0, done.stderr[-3000:]
    pair.save(NODES, SECURED)
    return deployed_once


@pytest.fixture
def secured(secured_once: Pair) -> Pair:
    """The pair with one secret, whose halves log in to one another."""
    pair.reset(NODES, SECURED)
    return secured_once


@pytest.mark.exhaustive
def test_a_second_run_has_nothing_to_do(secured: Pair, inventory: str) -> None:
    assert planned(inventory) == {}


@pytest.mark.exhaustive
def test_each_half_logs_in_to_the_other_over_the_fabric_by_its_name(secured: Pair) -> None:
    for guest, peer, last in ((secured.a, "spark-b", 11), (secured.b, "spark-a", 12)):
        came = guest.output(f"ssh -o BatchMode=yes {peer} 'hostname; id -un; echo $SSH_CONNECTION'").splitlines()
        assert came[:2] == [FACTORY_NAMES[peer], "nvidia"]
        assert came[2].split()[0] == f"192.168.100.{last}"
        assert guest.output(f"ssh -o BatchMode=yes 192.168.101.{23 - last} hostname") == FACTORY_NAMES[peer]


@pytest.mark.exhaustive
def test_from_another_address_the_key_opens_nothing(secured: Pair) -> None:
    secured.a.output("sudo ip addr add 192.168.100.77/24 dev enp1s0f0np0")
    refused = secured.a.run("ssh -b 192.168.100.77 -o BatchMode=yes spark-b true")
    assert refused.rc == 255 and "Permission denied" in refused.stderr
    secured.a.output("ssh -b 192.168.100.11 -o BatchMode=yes spark-b true")


@pytest.mark.exhaustive
def test_another_key_in_the_peers_place_is_refused(secured: Pair) -> None:
    """The host key was read on the peer; whoever answers at its address with another is not the peer."""
    secured.a.output(
        "sudo sed -i 's/ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI./&x/; /rsa\\|ecdsa/d' /etc/sparkrig/known_hosts"
    )
    refused = secured.a.run("ssh -o BatchMode=yes spark-b true")
    assert refused.rc == 255 and "Host key verification failed" in refused.stderr


@pytest.mark.exhaustive
def test_neither_host_has_the_private_key_of_the_other(secured: Pair) -> None:
    public = [guest.output("cut -d' ' -f2 .ssh/id_ed25519_sparkrig.pub") for guest in secured]
    assert public[0] != public[1]
    lines = (
        "sudo grep -rlaE 'BEGIN [A-Z ]*PRIVATE KEY' /home /root /etc /var/lib/sparkrig /tmp /run 2>/dev/null | "
        "while read -r f; do sudo ssh-keygen -y -P '' -f $f 2>/dev/null | cut -d' ' -f2; done"
    )
    for guest, own, other in zip(secured, public, reversed(public), strict=True):
        found = guest.output(lines).split()
        assert own in found and other not in found
        assert guest.output("stat -c '%a %U' .ssh/id_ed25519_sparkrig") == "600 nvidia"


@pytest.mark.exhaustive
def test_what_others_wrote_in_authorized_keys_stays_and_off_means_off(secured: Pair) -> None:
    before = [guest.output("cat .ssh/authorized_keys").splitlines() for guest in secured]
    for lines in before:
        assert lines[-3:-1] == ["# mine", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA me"]
        assert lines[-1].startswith('restrict,pty,from="192.168.100.') and lines[-1].endswith(
            " sparkrig-node-trust"
        )
    done = deploy()
    assert done.code == 0, done.stderr[-3000:]
    for guest, lines in zip(secured, before, strict=True):
        assert guest.output("cat .ssh/authorized_keys").splitlines() == lines[:-1]
        left = f"sudo find {FILE} /etc/sparkrig/known_hosts /etc/ssh/ssh_config.d .ssh -type f 2>/dev/null; true"
        assert guest.output(left).split() == [".ssh/authorized_keys"]
    assert planned() == {}


# --- the secret


@pytest.mark.promise(8)
@pytest.mark.exhaustive
def test_only_root_reads_the_secret(secured: Pair, canary: str) -> None:
    for guest in secured:
        assert guest.output(f"stat -c '%a %U:%G' {FILE}") == "600 root:root"
        assert guest.run(f"cat {FILE}").rc == 1
        assert guest.run("ls /var/lib/sparkrig").rc == 2
        assert guest.output(f"sudo tail -n 1 {FILE}") == f"HF_TOKEN={canary}"


@pytest.mark.exhaustive
def test_systemd_and_docker_read_the_same_value(secured: Pair, canary: str) -> None:
    unit = f"sudo systemd-run -q --wait --pipe -p EnvironmentFile={FILE} printenv HF_TOKEN"
    rootfs = "tar -chf - /usr/bin/printenv /lib64/ld-linux-x86-64.so.2 /lib/x86_64-linux-gnu/libc.so.6 2>/dev/null"
    docker = (
        f"{rootfs} | sudo docker import - env >/dev/null && "
        f"sudo docker run --rm --network none --env-file {FILE} env printenv HF_TOKEN"
    )
    assert secured.a.output(unit) == secured.a.output(docker) == canary


# All arguments and environments of all processes, five times a second, until it is told to end.
SAMPLER = r"""
import glob, signal, sys, time
seen, going = set(), [1]
signal.signal(signal.SIGTERM, lambda *_: going.clear())
while going:
    for name in glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(name, "rb") as file:
                seen.update(file.read().split(b"\0"))
        except OSError:
            pass
    time.sleep(0.2)
sys.stdout.buffer.write(b"\n".join(seen))
"""


@dataclass
class Watch:
    """What is looked for, and all that was said while it was."""

    needles: list[str]
    said: list[str] = field(default_factory=list)

    def run(self, program: str, *words: str, codes: tuple[int, ...] = (0,)) -> Done:
        done = run(program, *words)
        self.said.append(f"{program} {' '.join(words)}\n{done.stdout}\n{done.stderr}")
        assert done.code in codes, done.stderr[-3000:]
        return done

    def leaks(self, text: str) -> list[str]:
        """The lines that hold the secret, by their beginnings."""
        return [line[:200] for line in text.splitlines() if any(needle in line for needle in self.needles)]

    @property
    def pattern(self) -> str:
        """For grep, and not found in its own command line."""
        return "|".join(f"[{needle[0]}]{re.escape(needle[1:])}" for needle in self.needles)


def needles(value: str) -> list[str]:
    """A secret as it is, backwards, in hex, and in base64 wherever it begins in what is encoded."""
    encoded = [
        base64.b64encode(b"x" * shift + value.encode() + b"x" * 3).decode()[4 if shift else 0 : -8]
        for shift in range(3)
    ]
    return [value, value[::-1], value.encode().hex(), *encoded]


def forget(guests: Pair) -> None:
    """Without the file, the next run has to write it."""
    for guest in guests:
        guest.output(f"sudo rm -f {FILE}")


def killed_in_the_middle(inventory: str) -> str:
    """What a deploy said until the moment it was about to write the secret."""
    command = [str(BIN / "pyinfra"), "-y", "-vvv", "--debug", inventory, CLUSTER]
    env = {**os.environ, "PYINFRA_PROGRESS": "off", "XDG_STATE_HOME": STATE}
    with subprocess.Popen(
        command, cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as deploying:
        assert deploying.stdout
        said = ""
        for line in deploying.stdout:
            said += str(line)
            if "while read -r word name content" in line:
                break
        deploying.send_signal(signal.SIGKILL)
        return said + str(deploying.stdout.read())


@pytest.mark.promise(8)
@pytest.mark.exhaustive
def test_a_canary_is_found_where_it_belongs_and_nowhere_else(
    secured: Pair, canary: str, inventory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    watch = Watch(needles(canary))
    text = base64.b64encode(SAMPLER.encode()).decode()
    for guest in secured:
        guest.output(f"echo {text} | base64 -d | sudo tee /root/sampler.py >/dev/null")
        unit = "sudo systemd-run -q --unit=sampler -p Nice=19 -p StandardOutput=file:/root/sampled"
        guest.output(f"{unit} python3 /root/sampler.py")

    forget(secured)
    for flags in (("--dry", "--diff", "-vvv", "--debug"), ("--dry", "--json"), ("-y",)):
        watch.run("pyinfra", *flags, inventory, CLUSTER)
    forget(secured)
    watch.run("pyinfra", "-y", "-vvv", "--debug-all", "--diff", inventory, CLUSTER)
    watch.run("pyinfra", "-y", "-v", "--json", inventory, CLUSTER)
    forget(secured)
    watch.said.append(killed_in_the_middle(inventory))
    assert_whole_or_absent(secured, canary)
    readonly = "sudo mount --bind /etc/sparkrig /etc/sparkrig && sudo mount -o remount,bind,ro /etc/sparkrig"
    secured.b.output(f"sudo rm -f {FILE}; {readonly}")
    failed = watch.run("pyinfra", "-y", "-vvv", "--debug", inventory, CLUSTER, codes=(1,))
    assert "Read-only file system" in failed.stderr
    secured.b.output("sudo umount /etc/sparkrig")
    watch.run("pyinfra", "-y", inventory, CLUSTER)
    for verb, *more in (("topology",), ("status",), ("status", "--json"), ("undo", "--dry")):
        watch.run("sparkrig", verb, inventory, *more)
    pages = [word for page in ("html", "junit", "prom") for word in (f"--{page}", str(tmp_path / page))]
    watch.run("sparkrig", "drift", inventory, *pages)
    watch.run("sparkrig", "drift", inventory, "--all", "--json")
    watch.run("sparkrig", "doctor", inventory, codes=(0, 2))
    watch.run("sparkrig", "doctor", inventory, "--json", codes=(0, 2))
    watch.run("sparkrig", "bandwidth", inventory, codes=(0, 2))  # slow where the machine is busy
    (tmp_path / "paste").write_text("".join(watch.said))
    watch.run("sparkrig", "explain", str(tmp_path / "paste"), codes=(0, 1, 2, 3))
    watch.run("pytest", "-q", "-p", "no:cacheprovider", "-l", "tests/state", "--inventory", inventory)
    assert planned(inventory) == {}
    watch.run("sparkrig", "undo", inventory, "--yes")
    watch.run("pyinfra", "-y", inventory, CLUSTER)

    assert [leak for said in watch.said for leak in watch.leaks(said)] == []
    here = [file for folder in (tmp_path, Path(STATE)) for file in folder.rglob("*") if file.is_file()]
    here += [*ROOT.glob("*.log")]
    assert [str(file) for file in here if watch.leaks(file.read_text(errors="replace"))] == []
    for guest in secured:
        assert_nowhere_else(guest, watch)


def assert_whole_or_absent(guests: Pair, canary: str) -> None:
    for guest in guests:
        text = guest.output(f"sudo cat {FILE} 2>/dev/null || true")
        assert text == "" or text.endswith(f"HF_TOKEN={canary}")


def assert_nowhere_else(guest: Guest, watch: Watch) -> None:
    guest.output("sudo systemctl stop sampler")
    sampled = guest.output("sudo cat /root/sampled")
    assert "#sparkrig:end" in sampled, "the sampler saw nothing of the deploy"
    assert watch.leaks(sampled) == []
    places = "/tmp /var/tmp /run /var/log /etc /home /root /var/lib/sparkrig /dev/shm"
    found = guest.run(f"sudo grep -rlaE -D skip '{watch.pattern}' {places} 2>/dev/null", timeout=300)
    elsewhere = [path for path in found.stdout.split() if path != FILE]
    assert FILE in found.stdout.split(), "grep found nothing at all"
    assert [path for path in elsewhere if not path.startswith("/var/lib/sparkrig/runs/")] == []
    logged = guest.run(f"sudo journalctl -a --no-pager -o export | grep -acE '{watch.pattern}'", timeout=300)
    assert logged.stdout.strip() == "0"
