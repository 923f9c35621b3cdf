"""T3: the wheel on a Spark itself takes it and its peer to a pair: deployed, no drift, undone, all typed there.

What no other test proves: that subprocesses of pyinfra's carry a whole deploy of a real host (sudo, systemd units,
the guard, docker's restart under the controller), that the other half sees this one's ssh server over a management
network, and that what is written is what another machine declares. The guests have no internet, so all wheels are
carried there. `sparkrig lab up --lan` gives both one management network.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest

from lab import ssh
from lab.inventory import settings
from sparkrig.resources.login import DROP_IN
from tests.faults.record import Seen
from tests.lab.carried import INSTALL, archive
from tests.lab.commands import CLUSTER, LAB, run
from tests.lab.guests import Guest, Pair

pytestmark = [pytest.mark.exhaustive]  # pip installs thirty wheels under emulation

HERE, OTHER = "10.0.2.11", "10.0.2.12"  # spark-a and spark-b in the LAN of the lab
SPARKS = "inventories/sparks.py"
INVENTORY = """
from sparkrig.inventory import checked as _checked
from sparkrig.inventory import stop_together as _stop_together

_stop_together()


def _spark(last):
    fabric = {"enp1s0f0np0": f"192.168.100.{last}/24", "enP2p1s0f0np0": f"192.168.101.{last}/24"}
    return {"pair": "lab", "memory_gib": 121.7, "fabric": fabric, **SETTINGS}


_way = {"ssh_hostname": "OTHER", "ssh_user": "nvidia"}
sparks = _checked([("@here/spark-a", _spark(11)), ("spark-b", {**_spark(12), **_way})], __file__)
"""
LONE = """
from sparkrig.inventory import checked as _checked

sparks = _checked([("@here/spark-s", {"memory_gib": 121.7, **SETTINGS})], __file__)
"""
# what can shut out who is not at its screen, and what cannot
DECLARED = {"login_passwords": False, "firewall_allow": ["ssh"], "headless": True, "docker_users": ["nvidia"]}
CONSENT = {"allow_unwitnessed": True}
OFF, ON = "sudo systemctl stop ssh.socket ssh.service", "sudo systemctl start ssh.service"
PROFILES = "nmcli -g NAME connection show | grep sparkrig"


@pytest.fixture(scope="module")
def carried() -> bytes:
    """The wheel, those of all that it asks for, pip's own, and the inventory, as a tar archive."""
    return archive({"sparks.py": INVENTORY.replace("SETTINGS", repr(settings())).replace("OTHER", OTHER)})


@pytest.fixture
def both(lab_pair: Pair) -> Iterator[Pair]:
    """The pair as it first booted, with one management network."""
    for words in (("up", "--lan"), ("reset",)):
        done = run("sparkrig", "lab", *words)
        assert done.code == 0, done.stderr
    lab_pair.a.output(f"ping -c 2 -W 5 {OTHER}")
    yield lab_pair
    run("sparkrig", "lab", "up")


@pytest.fixture
def here(both: Pair, carried: bytes) -> Guest:
    """spark-a with sparkrig on it, and a key that spark-b lets in."""
    a, b = both
    subprocess.run(ssh.command(a.node, "tar x"), input=carried, check=True, capture_output=True, timeout=600)
    a.output(INSTALL.replace("EXTRA", ""), 1200)
    key = a.output("ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519 && cat ~/.ssh/id_ed25519.pub")
    b.output(f"echo '{key}' >>~/.ssh/authorized_keys")
    known = b.output("cat /etc/ssh/ssh_host_ed25519_key.pub")
    a.output(f"echo '{OTHER} {known}' >>~/.ssh/known_hosts")
    return a


@pytest.fixture
def lone(solo: Guest) -> Guest:
    """The lone Spark with sparkrig on it, and an inventory with the consent beside one without."""
    files = {"sparks.py": DECLARED, "consent.py": {**DECLARED, **CONSENT}}
    packed = archive(
        {name: LONE.replace("SETTINGS", repr({**settings(), **data})) for name, data in files.items()}
    )
    subprocess.run(ssh.command(solo.node, "tar x"), input=packed, check=True, capture_output=True, timeout=600)
    solo.output(INSTALL.replace("EXTRA", "").replace("spark-a", solo.node), 1200)
    solo.output("mv consent.py sparks/inventories/consent.py")
    return solo


def typed(here: Guest, line: str) -> ssh.Result:
    return here.run(f"cd sparks && PYINFRA_PROGRESS=off NO_COLOR=1 ../venv/bin/{line}", 1200)


def test_a_pair_is_deployed_watched_and_undone_from_one_of_its_own(both: Pair, here: Guest) -> None:
    done = typed(here, f"pyinfra -y {SPARKS} {CLUSTER}")
    assert done.rc == 0, done.stderr[-3000:]
    assert "applied; another member sees the ssh server of spark-a; reverts in" in done.stderr
    done = typed(here, f"pyinfra --json --dry {SPARKS} {CLUSTER}")
    assert done.rc == 0, done.stderr[-3000:]
    plan = json.loads(done.stdout)["plan"]
    assert len(plan) >= 7, "an empty deploy proves nothing"
    assert not any(op["hosts_with_change"] or op["hosts_with_conditional_change"] for op in plan)
    for line in (f"drift {SPARKS}", f"doctor {SPARKS} access", f"status {SPARKS}"):
        done = typed(here, f"sparkrig {line}")
        assert done.rc == 0, f"{line}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    # another machine, which reaches both over ssh, declares the same, and finds nothing to do
    far = run("pyinfra", "--json", "--dry", LAB, CLUSTER)
    assert far.code == 0 and far.plan == {}, far.stderr[-3000:]
    done = typed(here, f"sparkrig undo {SPARKS} --yes")
    assert done.rc == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for guest in both:
        assert guest.run(PROFILES).rc != 0
        assert guest.run("sudo test -e /run/sparkrig/lock").rc != 0, "no lock is left"


def test_another_machine_is_refused_while_the_spark_itself_works_on_the_pair(both: Pair, here: Guest) -> None:
    deploy = f"setsid ../venv/bin/pyinfra -y {SPARKS} {CLUSTER} >../log 2>&1 </dev/null; echo $? >../end"
    waits = "for i in $(seq 600); do if sudo test -e /run/sparkrig/lock; then exit 0; fi; sleep 1; done; exit 1"
    here.output(f"(cd sparks && {{ {deploy}; }}) >/dev/null 2>&1 & {waits}", 700)
    far = run("pyinfra", "-y", LAB, CLUSTER)
    assert far.code != 0 and "nvidia@" in far.stderr and "locked" in far.stderr, far.stderr[-3000:]
    here.output("for i in $(seq 900); do if test -e end; then exit 0; fi; sleep 1; done; exit 1", 1000)
    assert here.output("cat end") == "0", here.output("tail -n 30 log")


def test_what_the_other_half_cannot_see_changes_nothing(both: Pair, here: Guest) -> None:
    """The ssh server of this Spark is off, which a user at its own screen need not notice."""
    deploy = f"(cd sparks && ../venv/bin/pyinfra -y {SPARKS} {CLUSTER} 2>&1)"
    done = here.run(f"{OFF}; {deploy}; {ON}", 1200)  # what is connected already stays connected
    said = " ".join(done.stdout.split())
    assert f"no ssh server answers spark-b at {HERE} port 22" in said, said[-3000:]
    for guest in both:
        assert guest.run(PROFILES).rc != 0
        assert guest.run("ls -d /var/lib/sparkrig/runs/*").rc != 0, "no run has begun"


def test_a_lone_spark_deploys_itself_where_its_owner_consents(lone: Guest, seen: Seen) -> None:
    left = f"sudo ls -d {DROP_IN} /etc/sparkrig /var/lib/sparkrig/runs/* 2>/dev/null; sudo nft list tables"
    before = lone.output(f"{left}; true")
    done = typed(lone, f"pyinfra -y {SPARKS} {CLUSTER}")
    assert done.rc != 0 and "no other member of a cluster is there to prove" in done.stderr, done.stderr[-3000:]
    assert lone.output(f"{left}; true") == before, "before the first change"
    consent = "inventories/consent.py"
    done = typed(lone, f"pyinfra -y {consent} {CLUSTER}")
    assert done.rc == 0, done.stderr[-3000:]
    assert "not proven from outside of spark-s" in done.stderr
    ssh.hang_up(lone.node)  # a new connection, through the firewall and by key
    assert lone.output("sudo nft list tables | grep sparkrig")
    assert "passwordauthentication no" in lone.output("sudo sshd -T")
    done = typed(lone, f"pyinfra --json --dry {consent} {CLUSTER}")
    assert done.rc == 0, done.stderr[-3000:]
    assert not any(
        op["hosts_with_change"] or op["hosts_with_conditional_change"] for op in json.loads(done.stdout)["plan"]
    )
    done = typed(lone, f"sparkrig drift {consent}")
    assert done.rc == 0, done.stdout[-3000:]
    done = typed(lone, f"sparkrig undo {SPARKS} --yes")
    assert done.rc != 0 and "allow_unwitnessed set to True" in done.stdout + done.stderr, done.stdout + done.stderr
    assert lone.output("sudo nft list tables | grep sparkrig"), "nothing is undone without the consent"
    done = typed(lone, f"sparkrig undo {consent} --yes")
    assert done.rc == 0, done.stdout[-3000:] + done.stderr[-3000:]
    ssh.hang_up(lone.node)
    assert "passwordauthentication yes" in lone.output("sudo sshd -T")
    assert lone.run("sudo nft list tables | grep sparkrig").rc != 0
    seen("refused without consent; with it deployed from itself, an empty second run, and undone")
