"""T3: who logs in, on the virtual pair with a real sshd: nobody is locked out, seen from the other guest."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lab import pair, ssh
from lab.nodes import ssh_port
from lab.waiting import wait_until
from sparkrig.resources.login import DROP_IN, KEYS
from tests.faults.deploying import deploying
from tests.faults.record import Seen
from tests.lab.commands import assert_state, deploy, planned, run, wrong
from tests.lab.guests import Pair
from tests.lab.inventories import inventory_with

pytestmark = pytest.mark.exhaustive

FILE = "deploys/login.py"
WINDOW = ("--data", "rollback_seconds=60")
BACK_S = 120  # window, dead-man, and what emulated hosts take on top
A = "192.168.100.11"  # of spark-a on the fabric, by which the other guest sees its sshd
# what sshd offers to a client without any key: its refusal names the ways in
OFFERS = f"ssh -o StrictHostKeyChecking=no -o PreferredAuthentications=none -o ConnectTimeout=10 nvidia@{A} 2>&1"
BOTH, KEYS_ALONE = "(publickey,password)", "(publickey)"


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key pair that is on no guest yet."""
    file = tmp_path_factory.mktemp("key") / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "new@laptop", "-f", file], check=True)
    return file


@pytest.fixture(scope="module")
def inventory(tmp_path_factory: pytest.TempPathFactory, key: Path) -> str:
    public = key.with_suffix(".pub").read_text().strip()
    return inventory_with(
        tmp_path_factory.mktemp("login"), f"'login_passwords': False, 'login_keys': [{public!r}]"
    )


def offers(pair: Pair) -> str:
    """By which ways spark-a lets in, as the other guest is told; its sshd's words where it tells none."""
    text = pair.b.run(OFFERS, 60).stdout.strip()
    return text[text.rfind("(") :].rstrip(".")


def gets_in(key: Path) -> bool:
    """Whether that key alone logs in to spark-a."""
    words = ["-F", "none", "-i", str(key), "-p", str(ssh_port("spark-a")), "-o", "IdentitiesOnly=yes"]
    words += ["-o", f"UserKnownHostsFile={ssh.known_hosts()}", "-o", "BatchMode=yes"]
    done = subprocess.run(
        ["ssh", *words, "nvidia@127.0.0.1", "true"], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode == 0


def as_before(pair: Pair) -> bool:
    left = pair.a.run(f"ls {DROP_IN} {KEYS}", 20)
    return left.rc == 2 and not left.stdout and offers(pair) == BOTH


def comes_back(pair: Pair) -> None:
    wait_until(lambda: as_before(pair), BACK_S, happened="not as before", attempt="sparkrig lab ssh spark-a")


@pytest.fixture
def open_pair(deployed: Pair) -> Pair:
    """The pair, which takes keys and passwords."""
    assert offers(deployed) == BOTH
    return deployed


def test_keys_alone_get_in_a_hand_is_named_and_the_undo_gives_passwords_back(
    open_pair: Pair, inventory: str, key: Path, seen: Seen
) -> None:
    assert not gets_in(key)
    done = deploy(inventory=inventory)  # the whole, which keeps what was declared
    assert done.code == 0, done.stderr[-3000:]
    assert offers(open_pair) == KEYS_ALONE and gets_in(key) and open_pair.a.output("echo in") == "in"
    assert planned(inventory) == {}
    assert_state(inventory, "tests/state/test_login.py")
    open_pair.a.output(f"sudo sed -i 's/PasswordAuthentication no/PasswordAuthentication yes/' {DROP_IN}")
    found = wrong(run("sparkrig", "drift", inventory, "--json"))
    assert found == {("spark-a", "access.login"): "host"}, found
    done = deploy(inventory=inventory, file=FILE)
    assert done.code == 0 and offers(open_pair) == KEYS_ALONE, done.stderr[-3000:]
    for all_of_it in ((), ("--all",)):  # the run that mended it; then the first one, and the hand's row with it
        done = run("sparkrig", "undo", inventory, "--yes", *all_of_it)
        assert done.code == 0, done.stdout + done.stderr
    assert as_before(open_pair) and not gets_in(key)
    seen(
        "keys alone from outside, the new one too; a password by hand named and mended; both ways back by the undo"
    )


def put(name: str, rows: str) -> str:
    return f"printf '{rows}\\n' | sudo tee /etc/ssh/sshd_config.d/{name} >/dev/null"


# what somebody did before, and what a deploy says of it; the first three before any change
FAULTS = {
    "an earlier file takes passwords": (
        put("05-mine.conf", "PasswordAuthentication yes"),
        "05-mine.conf: PasswordAuthentication yes first",
    ),
    "a file that would keep the user out": (put("90-mine.conf", "DenyUsers nvidia"), "keep nvidia out"),
    "drop-ins are not read": ("sudo sed -i 's/^Include/#Include/' /etc/ssh/sshd_config", "does not read"),
    "another's file is broken": (put("90-mine.conf", "Nonsense yes"), "Nonsense"),
    "the reload fails": (
        "sudo mkdir -p /etc/systemd/system/ssh.service.d"
        " && printf '[Service]\\nExecReload=\\nExecReload=/bin/false\\n'"
        " | sudo tee /etc/systemd/system/ssh.service.d/x.conf >/dev/null && sudo systemctl daemon-reload",
        "could not be applied",
    ),
}


@pytest.mark.fault(57)
@pytest.mark.promise(2)
@pytest.mark.parametrize(("fault", "why"), FAULTS.values(), ids=FAULTS)
def test_what_fails_leaves_each_way_in(open_pair: Pair, inventory: str, seen: Seen, fault: str, why: str) -> None:
    open_pair.a.output(fault)
    done = deploy(*WINDOW, inventory=inventory, file=FILE)
    assert done.code == 1 and why in " ".join(done.stderr.split()), done.stderr[-3000:]
    comes_back(open_pair)
    seen(f"{why}; both ways in, and nothing of it left")


def test_a_member_alone_is_refused_and_both_stay_as_they_were(open_pair: Pair, inventory: str) -> None:
    done = deploy("--limit", "spark-b", inventory=inventory, file=FILE)
    assert done.code == 1 and "a pair is set up as a pair" in done.stderr, done.stderr[-3000:]
    assert as_before(open_pair) and open_pair.b.run(f"ls {DROP_IN}").rc == 2


@pytest.mark.fault(57)
@pytest.mark.promise(2, 6)
@pytest.mark.parametrize("cut", [False, True], ids=["controller killed", "power cut"])
def test_it_goes_back_by_itself(open_pair: Pair, inventory: str, seen: Seen, cut: bool) -> None:
    with deploying(*WINDOW, inventory=inventory, file=FILE) as running:
        running.until("applied; a new ssh connection gets in")
        running.kill()
    if cut:
        pair.cut_power("spark-a")
    comes_back(open_pair)
    seen(f"as before after {'a power cut' if cut else 'its controller died'} within the window")
