"""`sparkrig onboard` of a third Spark: two of the inventory, and one out of the box, which hear each other."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from sparkrig import inventory, inventory_file
from sparkrig.resources import trust
from sparkrig.resources.trust import TRUST
from tests.plan.clustered import Cluster
from tests.plan.conftest import joined, sections
from tests.schemas import complaints
from tests.unit.desks import SUDOERS, Desk, Terminal
from tests.unit.factory import PASSWORD, Spark, out_of_the_box
from tests.unit.shells import well
from tests.unit.sshd import free_port

RING, SWITCH = Cluster(3, "ring"), Cluster(3, "switch")
A, B, C = RING.names
MEASURED = "Bandwidth: ib_write_bw on each rail"


@dataclass(frozen=True)
class Third:
    """Three Sparks that are cabled as a cluster, of which the inventory has two; and the desk."""

    desk: Desk
    cluster: Cluster

    @property
    def text(self) -> str:
        return self.desk.file.read_text()

    def heard(self, name: str, *rows: str) -> None:
        self.desk.sparks[name].hears(*rows)

    def deaf(self) -> None:
        """No probe can run."""
        for name in self.desk.sparks:
            self.heard(name, "trouble python3 is not installed")

    def planned(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.desk.run(C, "--json", *self.desk.trusted(C), *words)

    def scripted(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.desk.scripted(C, *words, APPLIED=self.applied)

    @property
    def applied(self) -> str:
        """What pyinfra's run leaves of all."""
        pairs = []
        for place, (name, spark) in enumerate(self.desk.sparks.items()):
            made = self.desk.folder / f"converged-{name}"
            made.write_text(_with_nics(self.cluster.converged(place)))
            pairs.append(f"{made}>{spark.state / 'look'}")
        return ",".join(pairs)

    def unchanged(self, before: str, done: subprocess.CompletedProcess[str], code: int = 1) -> str:
        """What is said of a run that changed nothing."""
        assert done.returncode == code and "Traceback" not in done.stderr, done.stdout + done.stderr
        assert self.text == before and self.desk.sparks[C].authorized == []
        assert self.desk.sparks[C].sudoers == []
        return " ".join((done.stdout + done.stderr).split())


def _with_nics(text: str) -> str:
    return f"{text.rstrip()}\n\n#sparkrig:end nics 0\n"


def _let_in(desk: Desk, spark: Spark) -> None:
    """As onboarding leaves one."""
    (spark.home / ".ssh").mkdir()
    key = (desk.home / ".ssh" / "id_ed25519.pub").read_text()
    (spark.home / ".ssh" / "authorized_keys").write_text(key)
    (spark.state / "sudoers.d" / "sparkrig").write_text("".join(f"{line}\n" for line in SUDOERS))
    kind, encoded, _ = spark.public.read_text().split()
    with (desk.home / ".ssh" / "known_hosts").open("a") as known:
        known.write(f"[127.0.0.1]:{spark.port} {kind} {encoded}\n")


def _third(desk: Desk, spark: Spark, cluster: Cluster, settings: dict[str, Any]) -> Third:
    made = Third(Desk(desk.folder, {**desk.sparks, C: spark}), cluster)
    text = inventory_file.new(desk.file)
    for place, (name, each) in enumerate(made.desk.sparks.items()):
        each.becomes(_with_nics(cluster.printed(place, "fresh-a").replace("uid=1000", "uid=0")))
        each.hears(*cluster.heard(place))
        if name != C:
            _let_in(made.desk, each)
            login = {"ssh_hostname": "127.0.0.1", "ssh_port": each.port, "ssh_user": "nvidia"}
            text = inventory_file.with_host(text, name, {**settings, **login})
    made.desk.file.write_text(inventory_file.stopped_together(text))
    return made


RULE = {"cluster": "lab-0", "topology": "cable", "fabric_network": "10.20.0.0/16"}


@pytest.fixture(params=[RING, SWITCH], ids=["ring", "switch"])
def third(desk: Desk, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Third]:
    monkeypatch.setenv("SPARKRIG_WAIT_S", "0")
    cluster: Cluster = request.param
    with out_of_the_box(desk.folder / "c", "") as spark:
        yield _third(desk, spark, cluster, RULE)


only_ring = pytest.mark.parametrize("third", [RING], indirect=True)
only_switch = pytest.mark.parametrize("third", [SWITCH], indirect=True)


def test_frames_show_what_joins_them_and_the_addresses_are_shown_before(third: Third) -> None:
    before = third.text
    done = well(third.planned())
    told = json.loads(done.stdout)
    assert complaints("onboard", told) == []
    form = third.cluster.topology
    assert (told["name"], told["peer"], told["peer_data"], told["topology"]) == (C, None, {}, form)
    assert told["others"] == {A: {"topology": form}, B: {"topology": form}}
    assert {key: told["data"][key] for key in RULE} == {**RULE, "topology": form}
    wanted = {netdev: str(address) for netdev, address in third.cluster.fabric(2).items()}
    assert told["moves"][C] == {netdev: {"before": None, "after": each} for netdev, each in wanted.items()}
    kept = {each["before"] == each["after"] for each in told["moves"][A].values() if each["before"]}
    assert kept == {True}
    assert set(told["hosts"]) == {A, B, C}
    assert not any(each["refusals"] for each in told["hosts"].values())
    third.unchanged(before, done, 0)


@pytest.mark.slow  # a whole onboarding each time
def test_the_third_joins_and_all_of_it_again_changes_nothing(third: Third) -> None:
    done = well(third.scripted())
    shown = " ".join(done.stdout.split())
    assert f"Done: {A}, {B} and {C} are a cluster, and as declared." in shown
    assert f"{C} is added, as one of lab-0 with {A} and {B}" in shown
    assert "as before" in shown and "Fabric" in shown
    fleet, _ = inventory.fleet(third.desk.file)
    assert fleet.group(A) == (A, B, C)
    assert all(fleet[name].fabric == third.cluster.fabric(place) for place, name in enumerate(fleet))
    text = third.text
    again = third.desk.run(C, "--yes")
    assert again.returncode == 0 and "Nothing is to be done" in again.stdout, again.stdout + again.stderr
    assert third.text == text


@pytest.mark.slow  # a whole onboarding each time
@pytest.mark.parametrize("step", ["_let_in", "_write", "_apply"])
@only_ring
def test_killed_anywhere_the_same_again_goes_on(third: Third, step: str) -> None:
    killed = third.desk.scripted(C, DIES=step, APPLIED=third.applied)
    assert killed.returncode == -9, killed.stdout + killed.stderr
    well(third.scripted())
    assert inventory.fleet(third.desk.file)[0].group(C) == (A, B, C)


def test_what_no_frame_shows_takes_the_option_in_a_pipe(third: Third) -> None:
    third.deaf()
    before = third.text
    said = third.unchanged(before, third.planned("--peer", B))
    assert (
        f"{C} joins {A} and {B}, as a ring or on a switch: no frame shows what its cable leads to. Try: " in said
    )
    assert "--topology ring or --topology switch" in said
    done = third.planned("--topology", third.cluster.topology)
    assert json.loads(done.stdout)["topology"] == third.cluster.topology
    done = third.planned()
    assert json.loads(done.stdout)["others"] == {}, "its cable may lead anywhere"


@only_switch
def test_what_the_new_one_hears_by_itself_is_enough(third: Third) -> None:
    for name in (A, B):
        third.heard(name, "trouble python3 is not installed")
    assert json.loads(third.planned().stdout)["topology"] == "switch"


@pytest.mark.slow  # a program of its own on a terminal
@only_ring
def test_at_a_terminal_it_is_asked(third: Third) -> None:
    third.deaf()
    words = [*third.desk.words(C), "--peer", A]
    terminal = Terminal(words, third.desk.environ())
    terminal.answer("Is it the same there? [y/N]:", "y")
    terminal.answer("Password of nvidia@127.0.0.1:", PASSWORD)
    terminal.answer("Which (ring, switch):", "ring")
    terminal.answer("Apply? [y/N]:", "n")
    assert terminal.end() == 1
    assert "10.20.2.13/24" in terminal.seen and "Declined; nothing was changed" in terminal.seen


@only_ring
def test_cables_that_make_no_ring_are_refused_before_anything_is_written(third: Third) -> None:
    """By the rule each p0 leads to the next one's p1; the third's plugs have changed places."""
    rows = {place: third.cluster.heard(place) for place in range(3)}
    swap = {"enp1s0f0np0": "enp1s0f1np1", "enP2p1s0f0np0": "enP2p1s0f1np1"}
    swap |= {there: here for here, there in swap.items()}
    macs = {third.cluster.mac(C, here): third.cluster.mac(C, there) for here, there in swap.items()}
    moved = [" ".join(swap.get(word, word) for word in row.split()) for row in rows[2]]
    third.heard(C, *moved)
    for place, name in enumerate((A, B)):
        third.heard(name, *(" ".join(macs.get(word, word) for word in row.split()) for row in rows[place]))
    before = third.text
    said = third.unchanged(before, third.scripted())
    assert f"refused: p0 of {A} reaches p1 of {B}" not in said
    assert f"refused: p1 of {A} reaches p1 of {C}, and wanted is p0 of {C}" in said
    assert f"swap the plugs in p0 of {C} and p1 of {C}" in said and "Refused; nothing was changed." in said


@only_switch
def test_a_port_in_another_bridge_is_refused_before_anything_is_written(third: Third) -> None:
    third.heard(C, *third.cluster.heard(2, {A, B}))
    for place, name in enumerate((A, B)):
        third.heard(name, *third.cluster.heard(place, {C}))
    before = third.text
    said = third.unchanged(before, third.scripted("--topology", "switch"))
    assert f"refused: p0 of {C} reaches none of" in said and "another VLAN or bridge" in said


@only_switch
def test_one_that_is_away_stops_nothing_where_it_is_named_alone(third: Third) -> None:
    third.deaf()
    gone = str(third.desk.sparks[B].port)
    third.desk.file.write_text(third.text.replace(gone, str(free_port())))
    before = third.text
    said = third.unchanged(before, third.planned(), 3)
    assert f"{B}, to which its cable may lead (--solo leaves it on its own), cannot be read" in said
    done = third.planned("--solo")
    assert done.returncode == 0 and json.loads(done.stdout)["others"] == {}, done.stderr


def test_a_file_that_cannot_be_edited_shows_the_lines(third: Third) -> None:
    """Hosts that a call makes, as in inventories/ring.py, keep their pair."""
    head = third.text.partition("sparks = ")[0]
    ports = [third.desk.sparks[name].port for name in (A, B)]
    body = f"""

def _spark(name, port):
    return name, {{**{RULE!r}, "ssh_hostname": "127.0.0.1", "ssh_port": port, "ssh_user": "nvidia"}}


sparks = _checked([_spark("{A}", {ports[0]}), _spark("{B}", {ports[1]})], __file__)
"""
    third.desk.file.write_text(head + body)
    before = third.text
    said = third.unchanged(before, third.scripted())
    assert f"the data of {A} is made by a call" in said and "write it there yourself:" in said
    wanted = third.cluster.topology
    assert f'in the data of {A}: "topology": "{wanted}"' in said
    third.desk.file.write_text(before.replace("'cable'", repr(wanted)))
    if wanted == "switch":
        done = third.planned()
        assert done.returncode == 0 and json.loads(done.stdout)["others"] == {A: {}, B: {}}, done.stderr


@only_switch
def test_what_is_one_thing_for_all_comes_with_it(third: Third) -> None:
    text = third.text
    for name in (A, B):
        text = inventory_file.with_data(text, name, {"mtu": 4200, "node_ssh": True})
    third.desk.file.write_text(text)
    told = json.loads(third.planned().stdout)
    assert (told["data"]["mtu"], told["data"]["node_ssh"]) == (4200, True)


# --- one of three that was installed anew

OLD = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGoldAK6OhEwKzKIHUlbmYWlhfGqPGBLoKwvJlNFgC1m"
OWN = [OLD.replace("Gold", f"G{letter}ld") for letter in "abc"]


def trusting(cluster: Cluster, place: int, former: str = "") -> str:
    """A converged host that lets its peers in. former: the key by which it knows the last one, if an old one."""
    seen = [TRUST.parse(sections(cluster.converged(each))["trust"].splitlines()) for each in range(cluster.count)]
    keys = [*OWN[:2], former or OWN[2]]
    hosts = [(*each.host_keys[:1],) for each in seen]
    peers = [
        trust.Peer(
            name,
            cluster.fleet.addresses(cluster.names[place], name),
            replace(seen[other], key=keys[other], host_keys=(former,) if former and other == 2 else hosts[other]),
        )
        for other, name in enumerate(cluster.names)
        if other != place
    ]
    parts = sections(cluster.converged(place))
    lines = "".join(f"authorized {trust.line(peer)}\n" for peer in peers)
    own = f"host {hosts[place][0]}\nprivate 600 nvidia\npublic {OWN[place]} {trust.MARK}\n{lines}"
    parts["trust"] = f"user nvidia\n{own}"
    rows = [
        f"{file.path} 644 root:root {base64.b64encode(file.content.encode()).decode()}"
        for file in trust.files("nvidia", peers)
    ]
    parts["files"] = "\n".join([parts["files"].rstrip(), *rows, ""])
    return _with_nics(joined(parts))


@pytest.fixture
def anew(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Third]:
    """Three in a ring that let each other in, of which the last one was installed anew."""
    monkeypatch.setenv("SPARKRIG_WAIT_S", "0")
    with out_of_the_box(desk.folder / "c", "") as spark:
        made = _third(desk, spark, RING, {**RULE, "topology": "ring", "node_ssh": True})
        login = {"ssh_hostname": "127.0.0.1", "ssh_port": spark.port, "ssh_user": "nvidia"}
        data = {**RULE, "topology": "ring", "node_ssh": True, **login}
        made.desk.file.write_text(inventory_file.with_host(made.text, C, data))
        for place, name in enumerate((A, B)):
            made.desk.sparks[name].becomes(trusting(RING, place, OLD))
        with (desk.home / ".ssh" / "known_hosts").open("a") as known:
            known.write(f"[127.0.0.1]:{spark.port} {OLD}\n")
        yield made


def replaced(made: Third, *words: str) -> subprocess.CompletedProcess[str]:
    file = str(made.desk.file)
    return made.desk.command("onboard", "--replace", C, "--inventory", file, *made.desk.trusted(C), *words)


def test_one_of_three_takes_its_place_and_both_others_are_put_right(anew: Third) -> None:
    before = anew.text
    done = well(replaced(anew, "--json"))
    told = json.loads(done.stdout)
    assert complaints("onboard", told) == []
    assert (told["data"], told["others"], told["moves"]) == ({}, {A: {}, B: {}}, {})
    assert [each["kind"] for each in told["replaced"]["host_keys"]] == ["ssh-ed25519"]
    for name in (A, B):
        steps = [step for step in told["hosts"][name]["steps"] if step != "close the run"]
        assert steps == ["Trust: this host and its peers", MEASURED], "and their rails to the new one are measured"
    anew.unchanged(before, done, 0)


@pytest.mark.slow  # a whole onboarding
def test_the_replaced_one_of_three_is_as_declared_and_its_old_key_is_gone(anew: Third) -> None:
    pairs = []
    for place, (name, spark) in enumerate(anew.desk.sparks.items()):
        made = anew.desk.folder / f"converged-{name}"
        made.write_text(trusting(RING, place))
        pairs.append(f"{made}>{spark.state / 'look'}")
    file = str(anew.desk.file)
    words = ("onboard", "--replace", C, "--inventory", file, "--yes", *anew.desk.trusted(C))
    done = well(anew.desk.command(*words, APPLIED=",".join(pairs)))
    assert f"Done: {A}, {B} and {C} are a cluster, and as declared." in " ".join(done.stdout.split())
    known = "".join(anew.desk.known)
    assert OLD.split()[1] not in known and anew.desk.sparks[C].public.read_text().split()[1] in known


def test_a_peer_that_is_away_ends_it_before_the_question(anew: Third) -> None:
    anew.desk.file.write_text(anew.text.replace(str(anew.desk.sparks[B].port), str(free_port())))
    before = anew.text
    said = anew.unchanged(before, replaced(anew, "--yes"), 3)
    assert f"{B}, one of its cluster, cannot be read: " in said and "Nothing was changed." in said
