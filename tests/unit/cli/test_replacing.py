"""`sparkrig onboard --replace` whole: one host of a pair out of the box again, and the other as it was left."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from sparkrig import inventory, inventory_file
from sparkrig.cli.onboard import onboard
from sparkrig.drift.drift import Host, Report, Row
from sparkrig.onboarding.io import kept_files
from sparkrig.onboarding.kept import Kept, Served
from sparkrig.resources import trust
from tests.plan.conftest import FABRIC
from tests.plan.trusting import trusting
from tests.schemas import complaints
from tests.tables import tabled
from tests.unit.desks import SUDOERS, Desk, Terminal, finished
from tests.unit.factory import PASSWORD, look
from tests.unit.shells import well
from tests.unit.sshd import fingerprint, free_port, keygen

OLD_USER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGoldAK6OhEwKzKIHUlbmYWlhfGqPGBLoKwvJlNFgC1m"
OLD_HOST = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHoldAK6OhEwKzKIHUlbmYWlhfGqPGBLoKwvJlNFgC1m"
MINE = "# mine\ngithub.com ssh-rsa AAAA"  # what else stands in known_hosts, without an end of its last line


@dataclass(frozen=True)
class Replaced:
    """A pair of which spark-b was installed anew, and the desk that knows the old one."""

    desk: Desk
    stale: str

    @property
    def known(self) -> Path:
        return self.desk.home / ".ssh" / "known_hosts"

    @property
    def report(self) -> Path:
        (found,) = (self.desk.folder / "state" / "sparkrig" / "drift").iterdir()
        return found

    def kept(self) -> dict[Path, bytes]:
        """Everything on this machine, and of both Sparks, that a run could change."""
        files = [self.known, self.desk.file, self.report]
        files += [file for spark in self.desk.sparks.values() for file in spark.home.rglob("*") if file.is_file()]
        return {file: file.read_bytes() for file in files}

    def run(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        file = str(self.desk.file)
        return self.desk.command("onboard", "--replace", "spark-b", "--inventory", file, *words, **env)

    def scripted(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        applied = finished(self.desk, trusting)
        return self.run("--yes", *self.desk.trusted("spark-b"), *words, APPLIED=applied, **env)

    def entry(self, name: str) -> str:
        return f"[127.0.0.1]:{self.desk.sparks[name].port}"

    def knows(self, name: str, public: Path) -> str:
        kind, encoded, _ = public.read_text().split()
        return f"{self.entry(name)} {kind} {encoded}\n"


def seen_of(text: str) -> str:
    """What a look prints of a host, with its NICs."""
    return f"{text.rstrip()}\n\n#sparkrig:end nics 0\n"


@pytest.fixture
def replaced(with_a: Desk, monkeypatch: pytest.MonkeyPatch) -> Replaced:
    desk = with_a
    monkeypatch.setenv("XDG_STATE_HOME", str(desk.folder / "state"))
    monkeypatch.setenv("SPARKRIG_WAIT_S", "0")
    text = inventory_file.new(desk.file)
    for name, spark in desk.sparks.items():
        login = {"ssh_hostname": "127.0.0.1", "ssh_port": spark.port, "ssh_user": "nvidia"}
        ours = {"pair": "sparks", **login, "fabric": FABRIC[f"@fake/{name}"], "node_ssh": True}
        text = inventory_file.with_host(text, name, ours)
    desk.file.write_text(inventory_file.stopped_together(text))
    desk.sparks["spark-a"].becomes(seen_of(trusting("a", key=OLD_USER, host_key=OLD_HOST)))
    made = Replaced(desk, "")
    stale = made.knows("spark-b", keygen(desk.folder / "old").with_suffix(".pub"))
    made = Replaced(desk, stale)
    made.known.write_text(made.knows("spark-a", desk.sparks["spark-a"].public) + stale + MINE)
    row = Row(id="driver.hold", status="drift", want="held", found="not held")
    hosts = [Host(name=name, exit=2, rows=[row]) for name in desk.sparks]
    report = Report(version="0", inventory="", started=datetime.now(UTC), seconds=1, exit=2, hosts=hosts)
    monkeypatch.setattr("platformdirs.user_state_path", lambda name: desk.folder / "state" / name)
    from sparkrig.drift.io import drift_files

    drift_files.keep(desk.file, report)
    return made


def assert_in_its_place(made: Replaced) -> None:
    desk = made.desk
    fleet, data = inventory.fleet(desk.file)
    assert list(fleet) == ["spark-a", "spark-b"] and fleet.peers("spark-b") == ("spark-a",)
    assert data["spark-b"]["ssh_port"] == desk.sparks["spark-b"].port
    ours = [made.knows(name, desk.sparks[name].public) for name in ("spark-a", "spark-b")]
    assert made.known.read_text() == f"{ours[0]}{MINE}\n{ours[1]}"
    report = Report.model_validate_json(made.report.read_text())
    assert [host.name for host in report.hosts] == ["spark-a"] and report.counts.drift == 1
    for spark in desk.sparks.values():
        assert len(spark.authorized) == 1 and spark.sudoers == SUDOERS


# --- it takes its place


@pytest.mark.slow  # a whole onboarding
def test_it_takes_its_place_and_what_is_left_is_said(replaced: Replaced) -> None:
    accepted = replaced.desk.file.with_name("mine.accepted.yaml")
    until = date.today() + timedelta(days=3)
    text = f"- {{id: driver.hold, host: spark-b, until: {until}, why: x}}\n- {{id: a, until: {until}, why: x}}\n"
    accepted.write_text(text)
    history = replaced.desk.folder / "state" / "sparkrig" / "bandwidth" / "sparks.jsonl"
    history.parent.mkdir()
    history.write_text("{}\n")
    before = replaced.desk.file.read_text()
    done = well(replaced.scripted())
    assert f"the host key of {replaced.entry('spark-b')}, in the place of the old one:" in done.stdout
    assert "the last drift report: spark-b begins anew" in done.stdout
    assert "Done: spark-a and spark-b are a pair, and as declared." in done.stdout
    assert_in_its_place(replaced)
    assert replaced.desk.file.read_text() == before and accepted.read_text() == text
    assert history.read_text() == "{}\n" and "The bandwidth history of sparks stays" in done.stdout
    assert f"driver.hold is still accepted on spark-b until {until}" in done.stdout
    assert "a is still accepted" not in done.stdout
    assert PASSWORD not in done.stdout + done.stderr
    again = replaced.run("--yes")
    assert again.returncode == 1 and "nothing was replaced" in again.stderr


@pytest.mark.slow  # a whole onboarding each time
@pytest.mark.parametrize("step", ["know", "_let_in", "_apply"])
def test_killed_anywhere_the_same_again_goes_on(replaced: Replaced, step: str) -> None:
    killed = replaced.scripted(DIES=step)
    assert killed.returncode == -9, killed.stdout + killed.stderr
    well(replaced.scripted())
    assert_in_its_place(replaced)


@pytest.mark.slow  # a whole onboarding
def test_killed_once_all_is_done_the_same_again_says_so(replaced: Replaced) -> None:
    assert replaced.scripted(DIES="_verified").returncode == -9
    done = replaced.scripted()
    assert done.returncode == 1 and "nothing was replaced" in done.stderr
    cure = f"Try: sparkrig onboard spark-b --inventory {replaced.desk.file}, which does what is missing"
    assert cure in done.stderr
    plainly = replaced.desk.command("onboard", "spark-b", "--inventory", str(replaced.desk.file), "--yes")
    assert plainly.returncode == 0 and "Nothing is to be done: spark-a and spark-b are a pair" in plainly.stdout
    assert_in_its_place(replaced)


def test_json_without_yes_is_a_plan_and_writes_nothing(replaced: Replaced) -> None:
    before = replaced.kept()
    done = well(replaced.run("--json", *replaced.desk.trusted("spark-b")))
    assert replaced.kept() == before
    told = json.loads(done.stdout)
    assert complaints("onboard", told) == []
    assert (told["name"], told["peer"], told["data"], told["peer_data"]) == ("spark-b", "spark-a", {}, {})
    old = fingerprint(replaced.desk.folder / "old.pub")
    assert told["replaced"]["host_keys"] == [{"kind": "ssh-ed25519", "fingerprint": old}]
    assert told["hosts"]["spark-a"] == {
        "login": [],
        "steps": ["Trust: this host and its peer", "Bandwidth: ib_write_bw on each rail", "close the run"],
        "refusals": [],
        "reboots": 0,
        "container_restarts": 0,
        "network_reverts_s": None,
    }, "the other host is not touched but for that"
    assert len(told["hosts"]["spark-b"]["login"]) == 2
    assert "Driver: hold the installed 580 set" in told["hosts"]["spark-b"]["steps"]


def test_its_name_is_an_address_too(replaced: Replaced) -> None:
    """So that a user can be typed with it."""
    done = well(replaced.run("nvidia@spark-b", "--json", *replaced.desk.trusted("spark-b")))
    assert json.loads(done.stdout)["data"] == {}


def test_what_is_left_after_the_deploy_is_done_without_the_option(replaced: Replaced) -> None:
    done = replaced.run("--yes", *replaced.desk.trusted("spark-b"))  # pyinfra's part is that it does nothing
    assert done.returncode == 2 and "Something is still to be done." in done.stdout, done.stderr
    command = f"sparkrig onboard spark-b --inventory {replaced.desk.file}"
    assert f"The same again goes on from there: {command}\n" in done.stdout


def test_the_plan_shows_which_keys_of_the_other_half_go(replaced: Replaced) -> None:
    done = replaced.scripted(DIES="know")
    shown = " ".join(done.stdout.split())
    theirs = shown.partition(" spark-a Trust: ")[2].partition(" Bandwidth: ")[0]
    assert theirs.startswith(
        "this host and its peer ~nvidia/.ssh/authorized_keys: 1 of ours → one line for the peer's key "
        f"{trust.KNOWN_HOSTS}: 1 line more (spark-b,"
    )


@pytest.mark.slow  # a whole onboarding
def test_at_another_address_the_inventory_follows(replaced: Replaced) -> None:
    """DHCP knew the old one by its MAC address; known_hosts forgets the old address, too."""
    gone, port = free_port(), replaced.desk.sparks["spark-b"].port
    replaced.desk.file.write_text(replaced.desk.file.read_text().replace(str(port), str(gone)))
    replaced.known.write_text(replaced.known.read_text().replace(f":{port} ", f":{gone} "))
    done = replaced.scripted(f"nvidia@127.0.0.1:{port}", DIES="_apply")
    assert done.returncode == -9, done.stdout + done.stderr
    done = well(replaced.scripted(f"nvidia@127.0.0.1:{port}"))
    assert_in_its_place(replaced)


@pytest.mark.slow  # a whole onboarding
def test_one_on_its_own_takes_its_place(replaced: Replaced) -> None:
    desk = replaced.desk
    spark = desk.sparks["spark-b"]
    data = {"ssh_hostname": "127.0.0.1", "ssh_port": spark.port, "ssh_user": "nvidia"}
    desk.file.write_text(inventory_file.with_host(inventory_file.new(desk.file), "spark-b", data))
    done = replaced.scripted()
    assert done.returncode in (0, 2), done.stdout + done.stderr  # what is left is the recorded one's fabric
    assert replaced.knows("spark-b", spark.public) in replaced.known.read_text()


def test_a_report_that_cannot_be_read_is_left_with_a_warning(replaced: Replaced) -> None:
    replaced.report.write_text("no report")
    done = replaced.scripted(CODE="1")
    assert "no report that sparkrig drift --json wrote. Try: rm " in done.stderr
    assert "The deploy did not get to its end" in done.stdout
    assert replaced.report.read_text() == "no report"


# --- it serves what the one before served

SERVED = Served("", "Qwen/Qwen3-8B", "a" * 40, settings={"model": "qwen3-8b"})
GIVEN = f"served {{'serve_revision': '{'a' * 40}', 'model': 'qwen3-8b'}}"


def keeps(made: Replaced, *servers: Served) -> Path:
    facts = {"maker": "a maker", "DGX OS": "7.5.0", "kernel": "6.17.0-1", "driver": "580.1"}
    kept_files.keep(made.desk.file, Kept("spark-b", "2026-11-29T10:00Z", facts, servers=servers))
    return kept_files.path(made.desk.file, "spark-b")


@pytest.mark.slow  # a whole onboarding
def test_it_serves_again_and_each_part_is_timed(replaced: Replaced) -> None:
    keeps(replaced, SERVED)
    done = well(replaced.scripted("--json"))
    assert done.stderr.count("served {") == 1 and GIVEN in done.stderr
    told = json.loads(done.stdout)
    assert complaints("onboard", told) == []
    assert told["replaced"]["servers"] == [f"Qwen/Qwen3-8B at {'a' * 12}"]
    assert told["replaced"]["before"]["driver"] == "580.1"
    assert [*told["seconds"]] == ["look", "deploy", "serve", "verify"]
    assert f"Serve: Qwen/Qwen3-8B at {'a' * 12}" in told["hosts"]["spark-b"]["steps"]


@pytest.mark.slow  # whole onboardings
def test_killed_while_it_serves_the_same_again_does_that_alone(replaced: Replaced) -> None:
    keeps(replaced, SERVED)
    killed = replaced.scripted(DIES="serve")
    assert killed.returncode == -9, killed.stdout + killed.stderr
    failed = replaced.scripted(SERVED="1")
    assert failed.returncode == 1 and "does not serve Qwen/Qwen3-8B" in failed.stdout, failed.stderr
    assert "The same again goes on from there: sparkrig onboard --replace spark-b" in failed.stdout
    done = replaced.scripted()
    assert done.returncode == 0 and GIVEN in done.stderr, done.stdout + done.stderr
    assert_in_its_place(replaced)


def test_what_is_kept_of_it_and_makes_no_sense_changes_nothing(replaced: Replaced) -> None:
    file = keeps(replaced, replace(SERVED, settings={"ssh_user": "root"}))
    before = replaced.kept()
    line = unchanged(replaced, replaced.scripted(), before)
    assert f"{file}: a server cannot be served again: ssh_user is no setting of a server" in line
    file.write_text("{")
    line = unchanged(replaced, replaced.scripted(), before)
    assert f"{file} is not as sparkrig keeps a Spark. Try: mv " in line


# --- what is refused, with nothing changed


def unchanged(
    made: Replaced, done: subprocess.CompletedProcess[str], before: dict[Path, bytes], code: int = 1
) -> str:
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert made.kept() == before
    line = done.stderr.splitlines()[-1]
    assert line.startswith("Error: ") and line.count("Try: ") == 1
    return line


Fault = Callable[[Replaced], None]


def known_already(made: Replaced) -> None:
    desk = made.desk
    desk.sparks["spark-b"].becomes(seen_of(trusting("b")))
    made.known.write_text(
        made.known.read_text().replace(made.stale, made.knows("spark-b", desk.sparks["spark-b"].public))
    )


def other_one(made: Replaced) -> None:
    shown = made.knows("spark-b", made.desk.sparks["spark-b"].public).split()[1:]
    made.known.write_text(f"{made.entry('spark-a')} {' '.join(shown)}\n{made.known.read_text()}")


def other_one_by_another_key(made: Replaced) -> None:
    """known_hosts has spark-a by one kind of key, and what answers shows another kind."""
    spark = made.desk.sparks["spark-a"]
    shown = " ".join(made.desk.sparks["spark-b"].public.read_text().split()[:2])
    text = (spark.state / "look").read_text()
    spark.becomes(text.replace("\n#sparkrig:end trust 0", f"host {shown}\n\n#sparkrig:end trust 0"))


def other_one_by_its_boot(made: Replaced) -> None:
    text = look("fresh-b")
    here, there = (text.splitlines()[4:6], look("fresh-a").splitlines()[4:6])
    assert [each.partition("=")[0] for each in here] == ["boot_id", "machine_id"]
    made.desk.sparks["spark-b"].becomes(text.replace(here[0], there[0]).replace(here[1], there[1]))


REFUSED: dict[str, tuple[Fault, str, str]] = {
    "nothing was replaced": (
        known_already,
        "with the host key that is known: nothing was replaced",
        "Try: sparkrig onboard spark-b --inventory ",
    ),
    "another of the inventory": (
        other_one,
        "shows the host key of spark-a, which is in the inventory under that name",
        "Try: sparkrig onboard USER@ADDRESS --replace spark-b",
    ),
    "another, by another key": (
        other_one_by_another_key,
        "shows the host key of spark-a",
        "Try: sparkrig onboard USER@ADDRESS --replace spark-b",
    ),
    "another, by its boot": (
        other_one_by_its_boot,
        "shows the host key of spark-a",
        "Try: sparkrig onboard USER@ADDRESS --replace spark-b",
    ),
}


@pytest.mark.parametrize(("fault", "what", "cure"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_the_replaced_one_is_refused(replaced: Replaced, fault: Fault, what: str, cure: str) -> None:
    fault(replaced)
    before = replaced.kept()
    line = unchanged(replaced, replaced.scripted(), before)
    assert what in line and cure in line


def test_a_name_that_the_inventory_does_not_have(replaced: Replaced) -> None:
    before = replaced.kept()
    file = str(replaced.desk.file)
    done = replaced.desk.command("onboard", "--replace", "sparkb", "--inventory", file, "--yes")
    line = unchanged(replaced, done, before)
    assert f"there is no sparkb in {file}" in line and "Try: sparkrig onboard --replace spark-b" in line
    assert replaced.desk.sparks["spark-b"].commands == ""
    done = replaced.desk.command("onboard", "--replace", "spark-b", "--inventory", f"{file[:-3]}2.py", "--yes")
    line = unchanged(replaced, done, before)
    assert "Try: sparkrig onboard USER@ADDRESS, which adds a new Spark" in line


def test_the_address_of_another(replaced: Replaced) -> None:
    before = replaced.kept()
    for address in ("spark-a", f"me@127.0.0.1:{replaced.desk.sparks['spark-a'].port}"):
        line = unchanged(replaced, replaced.run(address, "--yes"), before)
        assert "is the address of spark-a, and not of spark-b. Try: sparkrig onboard --replace spark-a" in line


def test_the_other_half_that_does_not_answer_ends_it_before_the_question(replaced: Replaced) -> None:
    port = replaced.desk.sparks["spark-a"].port
    replaced.desk.file.write_text(replaced.desk.file.read_text().replace(str(port), str(free_port())))
    before = replaced.kept()
    line = unchanged(replaced, replaced.run("--yes"), before, 3)  # no fingerprint: it was not asked for yet
    assert "spark-a, the other host of its pair, cannot be read: " in line and "Nothing was changed." in line
    assert f"Try: sparkrig doctor {replaced.desk.file} access" in line


def test_a_new_key_is_not_taken_unseen(replaced: Replaced) -> None:
    before = replaced.kept()
    line = unchanged(replaced, replaced.run("--yes"), before)
    assert "is not the one that is known here, and is not taken unseen. Try: --fingerprint" in line
    assert fingerprint(replaced.desk.sparks["spark-b"].public) not in line
    line = unchanged(replaced, replaced.run("--yes", "--fingerprint", "SHA256:" + "a" * 43), before)
    assert "not the one that was given" in line


def test_one_that_still_answers_at_its_old_address_was_not_replaced(replaced: Replaced) -> None:
    """spark-a plays it: its key is what known_hosts has of spark-b's old address."""
    a, b = (replaced.desk.sparks[name] for name in ("spark-a", "spark-b"))
    gone = free_port()
    text = replaced.desk.file.read_text().replace(str(b.port), str(a.port)).replace(str(a.port), str(gone), 1)
    replaced.desk.file.write_text(text)
    before = replaced.kept()
    line = unchanged(replaced, replaced.scripted(f"nvidia@127.0.0.1:{b.port}"), before)
    assert f"spark-b still answers at [127.0.0.1]:{a.port} with the host key that is known" in line
    assert "Try: sparkrig onboard 127.0.0.1" in line


def test_the_same_one_at_another_address_was_not_replaced(replaced: Replaced) -> None:
    port, gone = replaced.desk.sparks["spark-b"].port, free_port()
    replaced.desk.file.write_text(replaced.desk.file.read_text().replace(str(port), str(gone)))
    now = replaced.knows("spark-b", replaced.desk.sparks["spark-b"].public).replace(f":{port} ", f":{gone} ")
    replaced.known.write_text(replaced.known.read_text().replace(replaced.stale, now))
    before = replaced.kept()
    line = unchanged(replaced, replaced.scripted(f"nvidia@127.0.0.1:{port}"), before)
    assert 'nothing was replaced. Try: say in the inventory: "ssh_hostname": "127.0.0.1"' in line


def test_what_the_deploy_refuses_leaves_everything(replaced: Replaced) -> None:
    spark = replaced.desk.sparks["spark-b"]
    spark.becomes(look("fresh-b").replace("gpu=NVIDIA GB10", "gpu=NVIDIA RTX 5090"))
    before = replaced.kept()
    done = replaced.scripted()
    assert done.returncode == 1 and "refused: this host is no DGX Spark" in done.stdout
    assert replaced.kept() == before


def test_a_changed_key_of_a_spark_of_the_inventory_names_this_way_on(replaced: Replaced) -> None:
    before = replaced.kept()
    line = unchanged(replaced, replaced.desk.scripted("spark-b"), before)
    assert "is not the one that is known here" in line
    assert f"after a re-install: sparkrig onboard --replace spark-b --inventory {replaced.desk.file}" in line


@tabled(__file__, "its place is the one that it had")
def test_its_place_is_the_one_that_it_had(words: list[str], said: str) -> None:
    done = CliRunner().invoke(onboard, ["--replace", "spark-b", *words])
    assert done.exit_code == 1 and said in done.stderr


# --- at a terminal


@pytest.mark.slow  # a program of its own on a terminal
@pytest.mark.parametrize("answers", [("n",), ("y", "n")], ids=["another key", "not now"])
def test_whoever_says_no_finds_nothing_changed(replaced: Replaced, answers: tuple[str, ...]) -> None:
    desk = replaced.desk
    before = replaced.kept()
    words = ["onboard", "--replace", "spark-b", "--inventory", str(desk.file)]
    terminal = Terminal([*desk.words("spark-b")[:3], *words], desk.environ())
    terminal.answer("Is it the same there? [y/N]:", answers[0])
    if len(answers) > 1:
        terminal.answer("Password of nvidia@127.0.0.1:", PASSWORD)
        terminal.answer("Apply? [y/N]:", answers[1])
    assert terminal.end() == 1, terminal.seen
    assert "is known here by another key. It shows this ed25519 host key:" in terminal.seen
    assert replaced.kept() == before
