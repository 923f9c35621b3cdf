"""What an undo plans, and its scripts run for real in a folder of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result

import sparkrig
from operations.remote import Lost
from sparkrig import trust, undo
from sparkrig.journal import Journal, Run, Step
from sparkrig.lock import Owner
from sparkrig.refusal import Refusal
from sparkrig.undo import Change, Plan
from tests.unit.shells import sh, tool

NCCL, DAEMON, PIN = (
    "file /etc/nccl.conf",
    "file /etc/docker/daemon.json",
    "file /etc/apt/preferences.d/00-sparkrig.pref",
)
HOLD, TOOLKIT = "hold nvidia-driver-580-open", "package nvidia-container-toolkit"
State = Mapping[str, str]
NOTHING: State = {}


def run(at: int, before: State, after: State | None, undoes: str = "", guard: str = "") -> Run:
    owner = Owner(run=f"R{at}", who="ann@laptop", why="pyinfra x.py", undoes=undoes, since=1000 * at)
    steps = (Step("one", 1000 * at, 1000 * at + 1, 0),)
    return Run(f"R{at}", owner, steps, before, after, None if after is None else 1000 * at + 2, guard)


def host(*runs: Run, now: State) -> Journal:
    """Runs as they came; the journal has the newest first."""
    return Journal(9000, None, tuple(reversed(runs)), now)


def acts(found: Journal, which: str, everything: bool = False) -> dict[str, str]:
    return {each.item: each.act for each in undo.plan(found, which, everything=everything).changes}


FIRST = {NCCL: "644 a", HOLD: "held", TOOLKIT: "1.17"}


def test_what_was_absent_is_removed_and_packages_stay() -> None:
    found = host(run(1, NOTHING, FIRST), now=FIRST)
    assert acts(found, "R1") == {NCCL: "remove", HOLD: "release", TOOLKIT: "stays"}


def test_what_was_there_is_put_back() -> None:
    before = {NCCL: "644 theirs", HOLD: "held"}
    found = host(run(1, before, {NCCL: "644 a"}), now={NCCL: "644 a"})
    assert acts(found, "R1") == {NCCL: "put back", HOLD: "hold"}


def test_a_later_change_of_the_same_item_goes_with_it_and_is_named() -> None:
    second = {**FIRST, NCCL: "644 b", PIN: "644 p"}
    found = host(run(1, NOTHING, FIRST), run(2, FIRST, second), now=second)
    plan = undo.plan(found, "R1", everything=False)
    assert [each for each in plan.changes if each.item == NCCL] == [Change(NCCL, "remove", ("R2",))]
    assert PIN not in {each.item for each in plan.changes}, "what R1 did not change is no business of its undo"
    assert acts(found, "R2") == {NCCL: "put back", PIN: "remove"}


def test_what_somebody_else_changed_since_is_left_alone_unless_asked_for() -> None:
    found = host(run(1, NOTHING, FIRST), now={**FIRST, NCCL: "644 edited"})
    assert acts(found, "R1")[NCCL] == "foreign"
    assert acts(found, "R1", everything=True)[NCCL] == "remove"


def test_what_is_back_already_is_left_as_it_is() -> None:
    found = host(run(1, NOTHING, FIRST), now={HOLD: "held", TOOLKIT: "1.17"})
    assert acts(found, "R1") == {NCCL: "already", HOLD: "release", TOOLKIT: "stays"}


def test_a_run_that_broke_off_goes_back_with_all_it_left() -> None:
    found = host(run(1, NOTHING, None), now={NCCL: "644 a"})
    assert acts(found, "R1") == {NCCL: "remove"}


def test_an_undo_that_broke_off_goes_on() -> None:
    half = {HOLD: "held", TOOLKIT: "1.17"}
    found = host(run(1, NOTHING, FIRST), run(2, FIRST, None, undoes="R1"), now=half)
    assert undo.target({"a": found}, None) == "R1"
    assert acts(found, "R1") == {NCCL: "already", HOLD: "release", TOOLKIT: "stays"}


def test_an_undo_can_be_undone() -> None:
    found = host(run(1, NOTHING, FIRST), run(2, FIRST, {TOOLKIT: "1.17"}, undoes="R1"), now={TOOLKIT: "1.17"})
    assert acts(found, "R2") == {NCCL: "put back", HOLD: "hold"}
    again = host(*reversed(found.runs), run(3, {TOOLKIT: "1.17"}, FIRST, undoes="R2"), now=FIRST)
    assert undo.target({"a": again}, None) == "R1", "it stands again"


TARGETS = {
    "the newest": ([run(1, NOTHING, FIRST), run(2, FIRST, {**FIRST, PIN: "p"})], "R2"),
    "not one that changed nothing": ([run(1, NOTHING, FIRST), run(2, FIRST, FIRST)], "R1"),
    "not one that only installed": ([run(1, NOTHING, FIRST), run(2, FIRST, {**FIRST, "package x": "1"})], "R1"),
    "one that moved the network alone": ([run(1, NOTHING, FIRST), run(2, FIRST, FIRST, guard="committed")], "R2"),
    "not one that was undone": ([run(1, NOTHING, FIRST), run(2, FIRST, NOTHING, undoes="R1")], None),
    "none": ([], None),
}


@pytest.mark.parametrize(("runs", "expected"), TARGETS.values(), ids=TARGETS)
def test_which_run_is_meant(runs: list[Run], expected: str | None) -> None:
    now = runs[-1].after if runs and runs[-1].after is not None else NOTHING
    assert undo.target({"a": host(*runs, now=now)}, None) == expected


def test_a_pair_takes_back_the_newest_of_either_half() -> None:
    a, b = host(run(1, NOTHING, FIRST), now=FIRST), host(run(2, NOTHING, FIRST), now=FIRST)
    assert undo.target({"a": a, "b": b}, None) == "R2"
    assert undo.plan(a, "R2", everything=False) == Plan("R2"), "what it did not do there is not taken back there"


def test_a_run_that_nobody_knows_or_that_is_undone_is_refused() -> None:
    found = host(run(1, NOTHING, FIRST), run(2, FIRST, NOTHING, undoes="R1"), now=NOTHING)
    with pytest.raises(Refusal, match="no run R7 is kept on a"):
        undo.target({"a": found}, "R7")
    with pytest.raises(Refusal, match="R1 is undone already"):
        undo.target({"a": found}, "R1")


def test_the_network_goes_back_where_the_run_kept_a_change_of_it() -> None:
    runs = run(1, NOTHING, NOTHING, guard="committed"), run(2, NOTHING, NOTHING, guard="rolled-back x")
    found = host(*runs, now=NOTHING)
    assert undo.plan(found, "R1", everything=False).network
    assert not undo.plan(found, "R2", everything=False).network
    broken = run(3, NOTHING, None, undoes="R1", guard="committed")
    assert not undo.plan(host(*runs, broken, now=NOTHING), "R1", everything=False).network, "that part was done"


def test_docker_is_not_restarted_under_containers_without_leave() -> None:
    plan = Plan("R1", (Change(DAEMON, "remove"),))
    with pytest.raises(Refusal, match="a: docker must restart, and 2 container"):
        undo.judge({"a": plan}, {"a": 2}, restart_docker=False)
    undo.judge({"a": plan}, {"a": 2}, restart_docker=True)
    undo.judge({"a": replace(plan, changes=(Change(DAEMON, "already"),))}, {"a": 2}, restart_docker=False)


def test_the_login_between_the_halves_goes_with_its_file() -> None:
    client = f"file {trust.CLIENT}"
    assert Plan("R1", (Change(client, "remove"),)).login
    assert not Plan("R1", (Change(client, "put back"), Change(NCCL, "remove"))).login


def test_the_words_of_the_scripts() -> None:
    changes = (
        Change(NCCL, "put back"),
        Change(DAEMON, "remove"),
        Change(HOLD, "release"),
        Change("hold x", "hold"),
    )
    plan = Plan("R1", (*changes, Change(PIN, "foreign")))
    assert plan.files(docker=False) == "put /etc/nccl.conf\n"
    assert plan.files(docker=True) == "remove /etc/docker/daemon.json\n"
    assert plan.holds() == ["nvidia-driver-580-open", "--", "x"]


# the verb


@pytest.fixture
def pair(tmp_path: Path) -> str:
    file = tmp_path / "pair.py"
    halves = [
        (f"spark-{half}", {"pair": "p", "fabric": {"enp1s0f0np0": f"192.168.1.{last}/24"}})
        for last, half in ((1, "a"), (2, "b"))
    ]
    file.write_text(f"sparks = {halves!r}\n")
    return str(file)


def typed(monkeypatch: pytest.MonkeyPatch, pair: str, b: Journal | Lost, *words: str) -> tuple[Result, list[str]]:
    """`sparkrig undo` on hosts that are only made up, and the hosts that something was done to."""
    from operations import undo
    from sparkrig.command.undo import undo as verb

    touched: list[str] = []
    a = host(run(1, NOTHING, FIRST), now=FIRST)
    # the real one patches the standard library of the whole process
    session = SimpleNamespace(
        connected=lambda data: nullcontext(dict.fromkeys(data)),
        ask=lambda hosts, *_: dict(zip(hosts, (a, b), strict=True)) if hosts else {},
    )
    monkeypatch.setattr(sparkrig, "session", session, raising=False)
    monkeypatch.setattr(undo, "carry_out", lambda _, hosts, *__, **___: touched.extend(hosts))
    return CliRunner().invoke(verb, [pair, *words]), touched


SETTLED = host(run(1, NOTHING, FIRST), now=FIRST)


def test_a_pair_is_undone_together(monkeypatch: pytest.MonkeyPatch, pair: str) -> None:
    done, touched = typed(monkeypatch, pair, SETTLED, "--yes", "--json")
    assert (done.exit_code, touched) == (0, ["spark-a", "spark-b"])
    (group,) = json.loads(done.stdout)["groups"]
    assert group["outcome"].startswith("undone, as run 20")
    assert {each["act"] for each in group["plans"]["spark-b"]["changes"]} == {"remove", "release", "stays"}


def test_where_one_half_is_away_nothing_is_undone(monkeypatch: pytest.MonkeyPatch, pair: str) -> None:
    done, touched = typed(monkeypatch, pair, Lost("no route to host"), "--yes")
    assert (done.exit_code, touched) == (3, [])
    assert "spark-b cannot be read: no route to host; nothing is undone" in " ".join(done.output.split())


def test_a_dry_undo_does_nothing_and_needs_no_answer(monkeypatch: pytest.MonkeyPatch, pair: str) -> None:
    done, touched = typed(monkeypatch, pair, SETTLED, "--dry")
    assert (done.exit_code, touched) == (0, [])
    assert "release  hold of nvidia-driver-580-open" in done.output


def test_a_run_that_is_not_there_is_an_error_of_the_input(monkeypatch: pytest.MonkeyPatch, pair: str) -> None:
    done, touched = typed(monkeypatch, pair, SETTLED, "R9", "--yes")
    assert (done.exit_code, touched) == (1, [])
    assert "no run R9 is kept on spark-a or spark-b" in done.output


# the scripts


def test_files_go_back_with_their_mode_and_what_was_absent_goes(tmp_path: Path) -> None:
    kept, etc = tmp_path / "kept", tmp_path / "etc/sparkrig"
    file, made = tmp_path / "etc/nccl.conf", etc / "container.env"
    etc.mkdir(parents=True)
    file.write_text("ours\n")
    made.write_text("ours\n")
    before = Path(f"{kept}{file}")
    before.parent.mkdir(parents=True)
    before.write_text("theirs\n")
    before.chmod(0o640)
    for _ in range(2):  # one that broke off is done again
        done = sh(undo.RESTORE, str(kept), stdin=f"put {file}\nremove {made}\nremove /no/such/folder/file\n")
        assert done.returncode == 0, done.stderr
        assert file.read_text() == "theirs\n" and file.stat().st_mode & 0o777 == 0o640
        assert [each.name for each in file.parent.iterdir()] == ["nccl.conf"], "our empty folder goes too"


def test_holds_go_and_come(tmp_path: Path) -> None:
    tool(tmp_path / "bin", "apt-mark", f'echo "$@" >>{tmp_path}/said')
    assert sh(undo.HOLDS, "a", "b", "--", "c", path=tmp_path / "bin").returncode == 0
    assert (tmp_path / "said").read_text().splitlines() == ["unhold a", "unhold b", "hold c"]


@pytest.mark.parametrize(
    ("running", "leave", "code"), [("", "no", 0), ("one\n", "no", 1), ("one\n", "yes", 0)], ids=str
)
def test_docker_restarts_only_with_leave(tmp_path: Path, running: str, leave: str, code: int) -> None:
    tool(tmp_path / "bin", "docker", f"printf '{running}'")
    tool(tmp_path / "bin", "systemctl", f'echo "$@" >>{tmp_path}/said')
    file = tmp_path / "daemon.json"
    file.write_text("{}")
    done = sh(undo.DOCKER, leave, str(tmp_path), path=tmp_path / "bin", stdin=f"remove {file}\n")
    assert done.returncode == code
    assert file.exists() is bool(code)
    assert (tmp_path / "said").exists() is not bool(code)


def test_the_gid_is_looked_up_again_only_where_there_is_a_rail(tmp_path: Path) -> None:
    rails, program = tmp_path / "rails.json", tmp_path / "refresh.py"
    program.write_text(f"import sys; open({str(tmp_path / 'said')!r}, 'w').write(sys.argv[1])")
    assert sh(undo.GIDS, str(rails), str(program)).returncode == 0
    assert not (tmp_path / "said").exists()
    rails.write_text('{\n  "enp1s0f0np0": "192.168.100.11/24"\n}\n')
    assert sh(undo.GIDS, str(rails), str(program)).returncode == 0
    assert (tmp_path / "said").read_text() == "enp1s0f0np0"
