"""`sparkrig doctor nvidia@ADDRESS`: hosts that no inventory names, on a loopback that asks for a password."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from sparkrig.ssh import controller
from tests import warm
from tests.plan.examined import changed, examined
from tests.tables import each_row
from tests.unit.desks import Desk, Terminal
from tests.unit.factory import PASSWORD
from tests.unit.shells import well
from tests.unit.sshd import fingerprint

SPARKRIG = str(Path(sys.executable).with_name("sparkrig"))
SAME, ASKS = "Is it the same there? [y/N]:", "Password of nvidia@127.0.0.1:"


def addresses(desk: Desk) -> list[str]:
    return [f"nvidia@127.0.0.1:{spark.port}" for spark in desk.sparks.values()]


def written(desk: Desk) -> set[str]:
    """What lies in the home folders of both Sparks, and in that of who looks."""
    homes = [desk.home, *(spark.home for spark in desk.sparks.values())]
    return {str(file.relative_to(desk.folder)) for home in homes for file in home.rglob("*") if file.is_file()}


def lets_both_in(desk: Desk) -> None:
    """Both are as a doctor sees them, with a key and a host key that are known, and sudo asks nothing."""
    a, b = desk.sparks.values()
    shutil.copytree(a.home / ".ssh", b.home / ".ssh")
    shutil.copy(a.state / "sudoers.d" / "sparkrig", b.state / "sudoers.d")
    with (desk.home / ".ssh" / "known_hosts").open("a") as known:
        known.write(f"[127.0.0.1]:{b.port} {b.public.read_text()}")
    for name, spark in desk.sparks.items():
        spark.becomes(f"{examined(name[-1]).rstrip()}\n\n#sparkrig:end heard 0\n")


@pytest.fixture
def ready(desk: Desk) -> Desk:
    """Both as a doctor sees them, and who looks has no key that they know."""
    for name, spark in desk.sparks.items():
        spark.becomes(examined(name[-1]))
    return desk


@pytest.mark.slow  # a program of its own on a terminal
def test_a_password_is_typed_once_and_nothing_but_the_host_key_is_written(ready: Desk) -> None:
    before = written(ready)
    terminal = Terminal([SPARKRIG, "doctor", addresses(ready)[0]], ready.environ())
    terminal.answer(SAME, "y")
    terminal.answer(ASKS, PASSWORD)
    code = terminal.end()
    said = " ".join(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.seen).split())
    assert code == 0, said
    assert fingerprint(ready.sparks["spark-a"].public) in said
    assert re.search(r"Your Spark is ready \(\d+ checks, ", said), said
    assert f"more checks need an inventory: sparkrig onboard {addresses(ready)[0]}" in said
    assert written(ready) - before == {"me/.ssh/known_hosts"} and len(ready.known) == 1
    spark = ready.sparks["spark-a"]
    assert spark.sudoers == spark.authorized == [] and "sudo -k -S" in spark.commands
    files = [file for file in ready.folder.rglob("*") if file.is_file() and file.name != "password"]
    assert PASSWORD not in terminal.seen + "".join(file.read_text(errors="replace") for file in files)


@pytest.mark.slow  # a program of its own on a terminal
def test_two_are_compared_as_their_addresses_join_them(ready: Desk) -> None:
    small = changed("b", "network", (r'("ifname":"enp1s0f0np0".*?"mtu":)9000', r"\g<1>1500"))
    ready.sparks["spark-b"].becomes(examined("b", network=small))
    terminal = Terminal([SPARKRIG, "doctor", *addresses(ready), "pair", "--json"], ready.environ())
    for _ in addresses(ready):
        terminal.answer(SAME, "y")
        terminal.answer(ASKS, PASSWORD)
    terminal.end()
    report = json.loads(terminal.seen[terminal.seen.index("{\r\n") :])
    assert "Warning" not in terminal.seen, terminal.seen[:3000]
    rows = {row["id"]: row for host in report["hosts"] for row in host["rows"]}
    assert rows["pair.enP2p1s0f0np0.mtu"]["found"] == "9000 at both ends"
    assert "1500" in rows["pair.enp1s0f0np0.mtu"]["found"] and rows["pair.enp1s0f0np0.mtu"]["status"] == "drift"
    assert report["inventory"] == " ".join(addresses(ready)) and report["left_out"] == 0


def test_without_a_terminal_a_key_gets_in_and_nothing_is_asked(with_a: Desk) -> None:
    a, _ = addresses(with_a)
    with_a.sparks["spark-a"].becomes(examined("a"))
    done = well(warm.run("sparkrig", "doctor", a, "--json", cwd=with_a.folder, env=with_a.environ()))
    report = json.loads(done.stdout)
    judged = {row["id"] for host in report["hosts"] for row in host["rows"]}
    assert {"identity.spark", "driver.branch", "gpu.answers", "health.memory"} <= judged
    assert not judged & {"driver.hold", "driver.pin", "driver.upgrade", "net.enp1s0f0np0.profile"}
    assert report["left_out"] > 5 and report["next"] == f"Next: sparkrig onboard {a}"


def test_what_is_no_spark_is_said_and_read(with_a: Desk) -> None:
    other = re.sub("NVIDIA GB10", "NVIDIA A100", examined("a"))
    with_a.sparks["spark-a"].becomes(re.sub(r"10de:2e12", "10de:20b0", other))
    done = warm.run("sparkrig", "doctor", addresses(with_a)[0], cwd=with_a.folder, env=with_a.environ())
    assert done.returncode == 2, done.stdout + done.stderr
    assert "its GPU is NVIDIA A100" in " ".join(done.stdout.split()) and "✓ health" in done.stdout


REFUSED: dict[str, tuple[str, int, str]] = {
    "an unknown key": ("doctor B", 3, "Its host key is not known here, and is not taken unseen"),
    "no such name": ("doctor nvidia@no.invalid", 3, "type its IP address in the place of its name"),
    "of another verb": ("storage nvidia@no.invalid", 3, "Try: sparkrig doctor nvidia@no.invalid access"),
    "a file": (
        "doctor inventories/none.py",
        1,
        "there is no inventory file inventories/none.py; did you mean inventories/mine.py? Try: ",
    ),
    "a bare name": ("status spark-a", 1, "file spark-a; try: sparkrig status nvidia@spark-a,"),
    "two files": ("status a.py b.py", 1, "Got unexpected extra argument (b.py). Try: sparkrig status --help"),
    "a file and an address": ("status a.py nvidia@b", 1, "Got unexpected extra argument (nvidia@b)."),
    "twice": ("doctor nvidia@a nvidia@a", 1, "nvidia@a is given twice. Try: each host once"),
    "twice, by two users": ("doctor nvidia@127.0.0.1 me@127.0.0.1", 1, "me@127.0.0.1 is given twice"),
    "an update": ("update nvidia@a", 1, "needs an inventory, and nvidia@a is in none. Try: sparkrig onboard"),
    "an update of this machine": ("update here", 1, f"Try: sparkrig init sparks --here {controller.name()}"),
    "one for a rail": ("bandwidth nvidia@no.invalid", 1, "names no pair, and a Spark on its own has no rail"),
    "no verb of looking": ("drift nvidia@a", 1, "is an address; try: sparkrig init sparks --from nvidia@a"),
    "a port": ("status nvidia@a:99999", 1, "has port 99999; one from 1 to 65535 is expected"),
    "a host by another option": ("storage inventories/mine.py --host sprk", 1, "Try: the same with "),
    "no check": ("doctor nvidia@a nocheck", 1, "no check is called nocheck"),
}


def test_what_cannot_be_is_one_sentence_and_one_command(with_a: Desk) -> None:
    before = written(with_a)

    def holds(line: str, code: int, sentence: str) -> None:
        words = line.replace(" B", f" {addresses(with_a)[1]}").split()
        done = warm.run("sparkrig", *words, cwd=with_a.folder, env=with_a.environ())
        said = " ".join((done.stdout + done.stderr).split())
        assert (done.returncode, "Traceback" in said) == (code, False), said
        assert sentence in said

    each_row(REFUSED, holds)
    (with_a.folder / "nvidia@file").write_text("sparks = []\n")
    holds("doctor nvidia@file", 1, "the inventory names no host")
    (with_a.folder / "nvidia@file").unlink()
    (with_a.sparks["spark-a"].state / "sudoers.d" / "sparkrig").unlink()
    holds(f"doctor {addresses(with_a)[0]}", 3, "try the same at a terminal, which asks for sudo's password once")
    assert written(with_a) == before


# by verb: the looks at each of two; of doctor the second is what they show together
LOOKS = {"status": 1, "topology": 1, "doctor pair": 2, "storage": 1, "blackbox": 1}


def test_two_are_read_in_one_look_which_tells_what_joins_them(with_a: Desk) -> None:
    lets_both_in(with_a)
    both = addresses(with_a)
    printed: dict[str, str] = {}
    for line, looks in LOOKS.items():
        verb, *rest = line.split()
        for spark in with_a.sparks.values():
            (spark.state / "commands").unlink(missing_ok=True)
        done = warm.run("sparkrig", verb, *both, *rest, "--json", cwd=with_a.folder, env=with_a.environ())
        assert "Traceback" not in done.stderr and "Warning" not in done.stderr, done.stderr
        printed[line] = done.stdout
        counts = {len(re.findall("^sudo -H", spark.commands, re.MULTILINE)) for spark in with_a.sparks.values()}
        assert counts == {looks}, line
    rows = {row["id"] for host in json.loads(printed["doctor pair"])["hosts"] for row in host["rows"]}
    assert "pair.enp1s0f0np0.mtu" in rows
    (group,) = json.loads(printed["topology"])["groups"]
    assert len(group["hosts"]) == 2


def test_two_that_cannot_be_one_fabric_are_looked_at_alone(with_a: Desk) -> None:
    lets_both_in(with_a)
    odd = changed("b", "network", ("192.168.101.12", "192.168.100.22"))  # both twins in one subnet
    with_a.sparks["spark-b"].becomes(examined("b", network=odd))
    done = warm.run("sparkrig", "doctor", *addresses(with_a), "--json", cwd=with_a.folder, env=with_a.environ())
    said = " ".join(done.stderr.split())
    assert said.count("is looked at by itself, since") == 1 and "share a subnet" in said, said
    assert [host["read"] for host in json.loads(done.stdout)["hosts"]] == [True, True]
