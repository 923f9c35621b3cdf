"""T3: three virtual Sparks, in a ring and on a switch, whatever is wrong with one of them.

No test on `@fake` shows these claims: that a Spark which loses its power inside the guard's window takes the
others back and comes back as it was, or comes back changed where all had confirmed; that real cables and a real
bridge's ports look to the survey as its tables of rows have them; and that one command takes three on a switch
from out of the box to as declared.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab import CABLED, pair
from lab.layout import cluster
from tests.faults.deploying import deploying
from tests.faults.record import Seen
from tests.lab.commands import assert_state, deploy, lab, planned, run
from tests.lab.guests import Guest
from tests.lab.links import addresses

pytestmark = pytest.mark.exhaustive

RING, SWITCH = "inventories/lab_ring.py", "inventories/lab_switch.py"
NETWORK = "deploys/network.py"
WINDOW = ("--data", "rollback_seconds=60")
GUESTS = tuple(Guest(node) for node in CABLED[:3])
A, B, C = GUESTS
ALL = "it was to change on all of spark-a, spark-b and spark-c, or on none"
ON_SWITCH = cluster("switch", 3)
DEPLOYED = "tests-switch-deployed"
LOOKING = ("topology", "doctor", "bandwidth")


def fabric() -> list[set[str]]:
    return [addresses(guest) for guest in GUESTS]


def named(verb: str, inventory: str) -> str:
    """What one of the verbs that look has to say, which must not be that all is well."""
    done = run("sparkrig", verb, inventory)
    assert done.code != 0, f"{verb}: {done.stdout[-2000:]}"
    return words(done.stdout + done.stderr)


def words(text: str) -> str:
    """Without its line breaks, which are the screen's."""
    return " ".join(text.split())


# --- a Spark that dies under the guard


@pytest.mark.promise(2)
@pytest.mark.usefixtures("ring")
def test_one_that_dies_before_the_commit_leaves_all_three_as_they_were(seen: Seen) -> None:
    before = fabric()
    with deploying(*WINDOW, inventory=RING, file=NETWORK) as running:
        running.until("applied; a new ssh connection gets in")
        pair.power("spark-c", on=False)
        assert running.wait(300), running.said[-2000:]
    said = words(running.said)
    assert running.code == 1 and "confirmed on" not in said, said[-2000:]
    assert ALL in said and "spark-c" in said.partition("putting the network back")[2], said[-2000:]
    pair.power("spark-c", on=True)
    assert fabric() == before
    seen("spark-c lost its power inside the window; all three as before, and the sentence names all")


@pytest.mark.promise(2)
@pytest.mark.usefixtures("ring")
def test_one_that_dies_after_the_commit_comes_back_changed_as_the_others_are(seen: Seen) -> None:
    with deploying(*WINDOW, inventory=RING, file=NETWORK) as running:
        running.until("confirmed on spark-a, spark-b and spark-c; rollback disarmed")
        pair.power("spark-c", on=False)
        assert running.wait(300), running.said[-2000:]
    pair.power("spark-c", on=True)
    assert [len(each) for each in fabric()] == [4, 4, 4]
    again = deploy(inventory=RING, file=NETWORK)
    assert again.code == 0 and "rollback armed" not in again.stderr, again.stderr[-2000:]
    seen("spark-c lost its power once all had confirmed; it came back changed, and nothing was left to do")


# --- plugs in the wrong cages, and in none


@pytest.mark.usefixtures("ring_once")
@pytest.mark.parametrize(
    ("topology", "inventory", "said"),
    [
        ("ring", RING, "neither p0 of spark-b nor p1 of spark-c has a carrier"),
        ("switch", SWITCH, "p0 of spark-b has no carrier"),
    ],
)
def test_a_cable_that_is_out_is_named(topology: str, inventory: str, said: str) -> None:
    pair.restore(cluster(topology, 3))
    assert lab("cable", "spark-b", "p0", "unplug").returncode == 0
    for verb in LOOKING:
        shown = named(verb, inventory)
        assert said in shown, f"{verb}: {shown[-3000:]}"


@pytest.mark.usefixtures("ring_once")
def test_two_crossed_cables_are_named_and_refused_before_the_first_change() -> None:
    wired = lab("rewire", "spark-a:p0=spark-b:p0", "spark-b:p1=spark-c:p1", "spark-c:p0=spark-a:p1")
    assert wired.returncode == 0, wired.stderr
    crossed = "p0 of spark-a reaches p0 of spark-b, and wanted is p1 of spark-b"
    for verb in LOOKING:
        shown = named(verb, RING)
        assert crossed in shown, f"{verb}: {shown[-3000:]}"
        assert "swap the two plugs of spark-b" in shown or "swap the plugs in" in shown, f"{verb}: {shown[-3000:]}"
    before = fabric()
    refused = deploy(inventory=RING)
    assert refused.code == 1 and crossed in words(refused.stderr), refused.stderr[-2000:]
    assert fabric() == before


# --- a switch, and what may be wrong with a port of it


@pytest.fixture(scope="module")
def deployed_once(ring_once: None) -> None:
    """Three on a switch, taken from out of the box to as declared by one command."""
    pair.restore(ON_SWITCH)
    done = deploy(inventory=SWITCH)
    assert done.code == 0, done.stderr[-3000:]
    pair.save(ON_SWITCH.nodes, DEPLOYED)


@pytest.fixture
def deployed(deployed_once: None) -> None:
    pair.restore(ON_SWITCH, DEPLOYED)


@pytest.mark.usefixtures("deployed")
def test_three_on_a_switch_are_as_declared_and_undone(seen: Seen) -> None:
    assert planned(SWITCH) == {}
    assert_state(SWITCH)
    for verb in ("drift", "topology", "doctor", "status"):
        done = run("sparkrig", verb, SWITCH)
        assert done.code == 0, done.stdout[-2000:] + done.stderr[-2000:]
    undone = run("sparkrig", "undo", SWITCH, "--yes")
    assert undone.code == 0, undone.stdout + undone.stderr
    assert fabric() == [set(), set(), set()]
    seen("one command, nothing left to do, tests/state green, drift empty, undone on all three")


def twins_in_one_subnet() -> None:
    B.output("sudo ip addr flush dev enP2p1s0f0np0 && sudo ip addr add 192.168.100.99/24 dev enP2p1s0f0np0")


def at_port(*words: str) -> Callable[[], None]:
    def change() -> None:
        done = lab("port", "spark-b", *words)
        assert done.returncode == 0, done.stderr

    return change


PORTS = {
    "speed": (at_port("--speed", "100"), "p0 of spark-b and its port of the switch negotiated 100 Gb/s"),
    "mtu": (at_port("--mtu", "1500"), "p0 of spark-b gets no frame of 9000 bytes from any other, and small ones"),
    "vlan": (at_port("--vlan", "20"), "p0 of spark-b reaches none of p0 of spark-a and p0 of spark-c"),
    "bridge": (at_port("--bridge", "2"), "p0 of spark-b reaches none of p0 of spark-a and p0 of spark-c"),
    "subnet": (
        twins_in_one_subnet,
        "on p0 of spark-b, as from the switch's DHCP: NCCL cannot tell such twins apart",
    ),
}


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize("what", PORTS)
def test_a_port_that_is_not_as_it_must_be_is_named_and_no_other(what: str) -> None:
    fault, said = PORTS[what]
    fault()
    for verb in LOOKING:
        shown = named(verb, SWITCH)
        assert said in shown, f"{verb}: {shown[-3000:]}"


@pytest.mark.usefixtures("deployed")
def test_a_port_that_is_slow_is_named_by_what_is_measured_then_by_its_losses_and_no_other() -> None:
    at_port("--rate", "20")()
    measured = named("bandwidth", SWITCH)
    assert "spark-b enp1s0f0np0 and enP2p1s0f0np0: port-slow: all 4 edges are slow" in measured, measured[-3000:]
    assert measured.count("port-slow") == 1, measured[-3000:]
    for verb in ("topology", "doctor"):  # the port has dropped something by now
        shown = named(verb, SWITCH)
        assert "packets came out of order to p0 of spark-b" in shown, f"{verb}: {shown[-3000:]}"
        assert "of spark-a since" not in shown and "of spark-c since" not in shown, f"{verb}: {shown[-3000:]}"
