"""NVIDIA's own upgrade at the first start: what it is at, how that is read, and how it is waited for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from sparkrig.facts.first_upgrade import FirstUpgrade as Fact
from sparkrig.facts.noun import Noun
from sparkrig.facts.preflight import Preflight as Whole
from sparkrig.host import preflight
from sparkrig.host.first_upgrade import MARK, UNIT, FirstUpgrade, Stage, parse
from sparkrig.host.preflight import Preflight
from sparkrig.onboarding.address import parse as address
from sparkrig.onboarding.hostkey import HostKey
from sparkrig.onboarding.io import first_login
from sparkrig.onboarding.io import first_upgrade as waiting
from sparkrig.onboarding.io.newcomer import Asked, Entrance, Password
from sparkrig.onboarding.wishes import Wishes
from sparkrig.refusal import Refusal
from sparkrig.ssh.remote import Failed, Lost
from tests.tables import each_row
from tests.unit.factory import PASSWORD, look, out_of_the_box
from tests.unit.shells import sh, tool, well

IDLE = FirstUpgrade("one", "loaded", "enabled", "inactive")
RUNNING = replace(IDLE, active="activating")
DONE = replace(IDLE, boot="two", done=True)


def test_what_it_is_at() -> None:
    def holds(found: FirstUpgrade, stage: Stage, under_way: bool) -> None:
        assert (found.stage, found.under_way, bool(found.doing)) == (stage, under_way, under_way)
        assert bool(found.later) == (stage in ("pending", "failed"))
        assert bool(found.cure) == bool(found.doing or found.later)

    each_row(
        {
            "no such unit": (FirstUpgrade(), "absent", False),
            "only a job of that name": (FirstUpgrade("one", "not-found", "", "inactive"), "absent", False),
            "it starts with the next boot": (IDLE, "pending", False),
            "its job waits for the network": (replace(IDLE, queued=True), "queued", True),
            "it runs": (RUNNING, "running", True),
            "it runs, and its mark is there": (replace(RUNNING, done=True), "running", True),
            "its reboot is under way": (replace(IDLE, done=True, reboot=True), "rebooting", True),
            "its mark is there, and it stays enabled": (replace(IDLE, done=True), "done", False),
            "its mark is there, and it was disabled": (
                replace(IDLE, done=True, enabled="disabled"),
                "done",
                False,
            ),
            "it broke off": (replace(IDLE, active="failed"), "failed", False),
            "another reboot, before it has run": (replace(IDLE, reboot=True), "pending", False),
            "disabled": (replace(IDLE, enabled="disabled"), "off", False),
            "masked": (replace(IDLE, load="masked", enabled="masked"), "off", False),
        },
        holds,
    )


def test_a_run_is_refused_while_it_is_under_way_and_warned_where_it_is_to_come() -> None:
    def holds(found: FirstUpgrade, refused: str, warned: str) -> None:
        seen = Preflight({"/": 5009, "/var": 5009, "/etc": 5009}, 0.0, unfinished=("libfoo",), upgrade=found)
        refusals = preflight.judge(seen, fabric=False, running=True, installs=False)
        dpkg = [] if refused else ["dpkg was interrupted (libfoo unfinished)"]
        assert [each.what for each in refusals] == [each for each in (refused, *dpkg) if each]
        assert preflight.warnings(seen, None) == ([warned] if warned else [])
        if refused:
            assert refusals[0].cure == f"sudo journalctl -fu {UNIT}, and run again after the reboot"

    name = f"NVIDIA's first-boot upgrade ({UNIT})"
    ends = "it upgrades every package, and ends with a reboot of this host"
    once = "it starts with the next boot, and may upgrade every package and reboot"
    each_row(
        [
            (RUNNING, f"{name} is running; {ends}", ""),
            (replace(IDLE, queued=True), f"{name} is about to start; {ends}", ""),
            (replace(IDLE, done=True, reboot=True), f"{name} is done, and reboots this host", ""),
            (IDLE, "", f"{name} has not run yet: {once}; try: sudo systemctl start {UNIT}"),
            (
                replace(IDLE, active="failed"),
                "",
                f"{name} failed, and starts again with the next boot; try: sudo journalctl -fu {UNIT}",
            ),
            (DONE, "", ""),
            (FirstUpgrade(), "", ""),
        ],
        holds,
    )


# --- how it is read

SHOWN = f"""
[ "$1 $2 $4" = "show -p {UNIT}" ] || exit 9
printf 'Job=12\\nId={UNIT}\\nLoadState=loaded\\nActiveState=inactive\\nUnitFileState=enabled\\n\\n'
printf 'Job=\\nId=reboot.target\\nLoadState=loaded\\nActiveState=inactive\\nUnitFileState=static\\n'
"""


@pytest.mark.parametrize("mark", [False, True])
@pytest.mark.parametrize("fact", [Fact, Whole], ids=["by itself", "in the one look"])
def test_the_script(tmp_path: Path, fact: type[Noun[Any]], mark: bool) -> None:
    tool(tmp_path / "bin", "systemctl", SHOWN)
    text = fact.script.replace("/etc/systemd", f"{tmp_path}/etc").replace(MARK, f"{tmp_path}/done")
    without = sh(text, path=tmp_path / "bin").stdout
    assert "first-upgrade" not in without, "a host without that unit is asked nothing"
    (tmp_path / "etc" / "system").mkdir(parents=True)
    (tmp_path / "etc" / "system" / UNIT).symlink_to("/dev/null")
    if mark:
        (tmp_path / "done").touch()
    done = well(sh(text, path=tmp_path / "bin"))
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert parse(done.stdout.splitlines()) == replace(IDLE, boot=boot, queued=True, done=mark)


def test_other_rows_count_for_nothing() -> None:
    rows = [
        f"first-upgrade {row}"
        for row in ("boot=one", "", f"Id={UNIT}", "LoadState=loaded", "", "Id=reboot.target")
    ]
    assert parse(["clock 1", "unit ActiveState=active", *rows, "first-upgrade Job=4"]).reboot
    assert parse([*rows, "unit Job=4"]) == FirstUpgrade("one", "loaded")
    assert parse([]) == FirstUpgrade()


# --- how it is waited for


class Clock:
    """Time that passes by waiting alone."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(waiting, "monotonic", lambda: self.now)
        monkeypatch.setattr(waiting, "sleep", self.pass_)

    def pass_(self, seconds: float) -> None:
        self.now += seconds


class Told:
    """What is said, and the deadline of each step."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.steps: dict[str, float] = {}

    def __call__(self, _name: str, step: str, *, until: float) -> None:
        self.steps[step] = until

    def say(self, text: str) -> None:
        self.lines.append(text)


class Door:
    """A login that answers with these, one after the other, and with the last of them from then on."""

    def __init__(self, *answers: FirstUpgrade | Exception) -> None:
        self.answers = list(answers)

    def read(self, _fact: object, seconds: int) -> FirstUpgrade:
        assert seconds == 30
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def entrance(*answers: FirstUpgrade | Exception) -> Entrance:
    made: Any = Door(*answers)
    return Entrance(made, None, False)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def never() -> Entrance:
    raise AssertionError("the connection was not lost")


def wait(
    first: Entrance, found: FirstUpgrade, again: Callable[[], Entrance | None] = never, patience: float = 1.0
) -> tuple[Entrance, Told]:
    told: Any = Told()
    return waiting.waited("spark-b", first, found, again, told, patience), told


def test_one_that_ends_without_a_reboot_is_waited_for(clock: Clock) -> None:
    """Where the driver's modules fit the kernel it only sets its mark."""
    first = entrance(RUNNING, RUNNING, replace(IDLE, done=True))
    through, told = wait(first, RUNNING)
    assert (through, clock.now) == (first, 30.0)
    assert told.lines == [
        f"spark-b: {RUNNING.doing}. Waiting for up to 60 min",
        "spark-b: NVIDIA's first-boot upgrade is over (done)",
    ]
    assert told.steps == {"waiting: running": 3600.0}


def test_one_that_fails_is_over_too(clock: Clock) -> None:
    _, told = wait(entrance(replace(IDLE, active="failed")), RUNNING)
    assert told.lines[-1].endswith("is over (failed)") and clock.now == 10.0


def test_its_reboot_is_waited_for_over_new_connections(clock: Clock) -> None:
    """The mark is there, and the reboot on its way; then it is silent, takes no logins, and lets in again."""
    first = entrance(
        replace(RUNNING, done=True), replace(IDLE, done=True, reboot=True), Lost("it closed the connection")
    )
    second = entrance(DONE)
    tries: list[Entrance | None] = [None, None, second]
    through, told = wait(first, RUNNING, lambda: tries.pop(0))
    assert through == second and tries == []
    assert told.lines[1:] == ["spark-b: was rebooted", "spark-b: NVIDIA's first-boot upgrade is over (done)"]
    assert told.steps["waiting for its reboot"] == 30.0 + 900.0


def test_it_may_go_on_after_a_lost_connection(clock: Clock) -> None:
    """A connection that was lost for another reason is no reboot, and one that is cut short says nothing."""
    first = entrance(Lost("gone"))
    second = entrance(RUNNING, Failed("it ended without a word (exit -1)"), replace(IDLE, done=True))
    through, told = wait(first, RUNNING, lambda: second)
    assert through == second
    assert "spark-b: was rebooted" not in told.lines


def test_one_that_runs_again_after_the_reboot_is_waited_for_again(clock: Clock) -> None:
    second = entrance(replace(RUNNING, boot="two"), replace(DONE, boot="two"))
    through, told = wait(entrance(Lost("gone")), RUNNING, lambda: second)
    assert through == second and clock.now == 30.0
    assert told.lines.count("spark-b: was rebooted") == 1


def test_one_without_an_end_is_given_up_with_words(clock: Clock) -> None:
    with pytest.raises(Refusal, match=f"{UNIT}\\) is running; it .*; 120 min were not enough for it") as caught:
        wait(entrance(RUNNING), RUNNING, patience=2.0)
    assert clock.now == 7200.0
    assert caught.value.cure == f"on spark-b: sudo journalctl -fu {UNIT}, and run again after the reboot"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Lost("10.0.0.7 port 22 cannot be reached (no route to host)"), "10.0.0.7 port 22 cannot"),
        (None, "it takes no"),
    ],
)
def test_one_that_does_not_come_back_is_lost(clock: Clock, answer: Lost | None, why: str) -> None:
    def again() -> None:
        if answer:
            raise answer

    with pytest.raises(Lost, match=f"spark-b is not back 15 min after it went to reboot: {why}"):
        wait(entrance(Lost("gone")), RUNNING, again)
    assert clock.now == 10.0 + 900.0


def test_nothing_is_waited_for_where_nothing_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "waited", never)

    def holds(found: FirstUpgrade) -> None:
        first = entrance(found)
        nothing: Any = None
        assert waiting.past_first_upgrade(nothing, nothing, nothing, first, nothing, 1.0, "spark-b") == first

    each_row([(FirstUpgrade(),), (IDLE,), (DONE,), (replace(IDLE, active="failed"),)], holds)


# --- the second login


ASKED = Asked(Path("inventories/mine.py"), None, None, None, False, True, False, Wishes())


def test_another_host_key_after_the_reboot_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no password is offered to it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with out_of_the_box(tmp_path / "spark", look("fresh-b")) as spark:
        at = first_login.target(address(f"nvidia@127.0.0.1:{spark.port}"), {})
        key = first_login.scan(at)
        password = Password(at, ASKED, SecretStr(PASSWORD))
        with ExitStack() as stack:
            back = waiting.again(stack, at, key, entrance(DONE), password)
            assert back and back.door.root(":") == ""
        with ExitStack() as stack:
            assert waiting.again(stack, at, key, entrance(DONE), replace(password, kept=SecretStr("no"))) is None
        before = spark.commands
        other = HostKey(key.kind, key.blob[:-1] + bytes([key.blob[-1] ^ 1]))
        with ExitStack() as stack, pytest.raises(Refusal, match="is another one after its reboot") as caught:
            waiting.again(stack, at, other, entrance(DONE), password)
        assert spark.commands == before and "on the Spark's own screen: ssh-keygen -lf" in caught.value.cure
