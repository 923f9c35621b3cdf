"""`sparkrig schedule`: one notice when something changes, none while it stays so, one when it is over.

Notices go by apprise to a webhook of this machine, drift is a process of its own on fake hosts, and the timers are
those of a real user manager of systemd, in a namespace of its own (tests/plan/usermanager.py).
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from filelock import FileLock

from sparkrig.refusal import Refusal
from sparkrig.watch.io.schedule_files import keep_schedule
from sparkrig.watch.render import schedule as picture
from sparkrig.watch.render.schedule import Command
from sparkrig.watch.schedule import Schedule
from tests.plan.conftest import B, well
from tests.plan.desk import Desk, Done
from tests.plan.lost import lost
from tests.plan.short import NETDEV, settled, short_frames
from tests.plan.usermanager import Manager, manager
from tests.plan.webhooks import Webhook, private, webhook
from tests.schemas import complaints
from tests.tables import each_row

SECRET = "s3cret-t0ken"

HOST = B.replace("@", "@ ")  # as a notice has it, which calls nobody by a name


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Desk(tmp_path).has(settled())


@pytest.fixture
def hook() -> Iterator[Webhook]:
    with webhook() as found:
        yield found


def scheduled(desk: Desk, hook: Webhook, *words: str) -> Done:
    """Scheduled for cron: a first run by hand, with the webhook's first notice taken."""
    file = hook.addresses(desk.folder / "notify", secret=SECRET)
    done = well(desk.typed("schedule", "--now", "--notify", str(file), *words))
    (first,) = hook.taken()
    assert first.startswith("sparks.py: watched\n")
    return done


def folder(desk: Desk) -> Path:
    (found,) = (desk.folder / "state" / "sparkrig" / "schedule").iterdir()
    return found


def run(desk: Desk, code: int = 0) -> Done:
    done = desk.typed("schedule", "--now")
    assert done.code == code, done.out + done.said
    return done


def status(desk: Desk) -> dict[str, object]:
    found: dict[str, object] = json.loads(desk.typed("status", "--json").out)["schedule"]
    return found


# --- a notice for a change, and for nothing else


@pytest.mark.slow  # six runs of drift, a process each
def test_one_notice_for_a_change_none_while_it_stays_one_when_it_is_over(desk: Desk, hook: Webhook) -> None:
    scheduled(desk, hook)
    desk.has(short_frames())
    run(desk)
    (said,) = hook.taken()
    assert said.startswith("sparks.py: 1 new\n") and f"NEW {HOST} net.{NETDEV}.mtu: 1500; want: 9000" in said, said
    run(desk)
    assert hook.taken() == []
    desk.has(settled())
    run(desk)
    (said,) = hook.taken()
    assert said.startswith("sparks.py: in spec again\n") and f"OVER {HOST} net.{NETDEV}.mtu" in said
    desk.has(lost(short_frames()))
    run(desk)
    (said,) = hook.taken()
    assert "NEW spark-b unread: cannot be read: " in said and "Connection refused" in said
    run(desk)
    assert hook.taken() == []


@pytest.mark.slow  # four runs of drift, a process each
def test_a_run_that_fails_is_one_notice_and_hides_nothing_that_was_open(desk: Desk, hook: Webhook) -> None:
    scheduled(desk, hook)
    desk.has(short_frames())
    run(desk)
    assert len(hook.taken()) == 1
    desk.inventory.write_text("sparks = [\n")
    for times in (1, 0):
        run(desk, code=1)
        assert [each.startswith("sparks.py: 1 new, 1 still\nNEW the run: ") for each in hook.taken()] == [
            True
        ] * times
    desk.has(short_frames())
    run(desk)
    (said,) = hook.taken()
    assert said.startswith("sparks.py: 1 over, 1 still\nOVER the run\n")


@pytest.mark.slow  # two runs of drift, a process each
def test_status_says_that_a_run_is_missing_until_there_is_one(desk: Desk, hook: Webhook) -> None:
    scheduled(desk, hook, "--every", "30m")
    file = folder(desk) / "state.json"
    kept = json.loads(file.read_text())
    kept["ran"]["started"] = (datetime.now(UTC) - timedelta(seconds=2 * 1800 + 1800 + 1)).isoformat()
    file.write_text(json.dumps(kept))
    shown = desk.typed("status")
    assert shown.code == 3 and "sparks.py: ! no run since" in shown.out, shown.out
    run(desk)
    assert desk.typed("status").code == 0 and hook.taken() == []


@pytest.mark.slow  # two runs of drift, a process each
def test_a_damaged_record_is_no_end_of_notices(desk: Desk, hook: Webhook) -> None:
    scheduled(desk, hook)
    desk.has(short_frames())
    run(desk)
    (folder(desk) / "state.json").write_text("{")
    hook.taken()
    run(desk)
    assert len(hook.taken()) == 1


def test_a_schedule_that_cannot_run_because_its_record_is_damaged_is_no_schedule_that_is_well(desk: Desk) -> None:
    keep_schedule(desk.inventory, Schedule(inventory=str(desk.inventory), every_s=3600))
    (folder(desk) / "schedule.json").write_text("{")
    shown = desk.typed("status")
    assert "Warning: the schedule is left out: " in shown.said
    assert "schedule.json is damaged. Try: rm " in shown.said and shown.code == 3
    made = desk.typed("status", "--json")
    assert made.code == 3 and made.report["schedule"]["unread"].endswith("schedule.json is damaged")
    assert complaints("status", made.report) == []


@pytest.mark.slow  # three runs of drift, a process each
def test_a_notice_that_nobody_took_is_sent_again(desk: Desk, hook: Webhook) -> None:
    scheduled(desk, hook)
    desk.has(short_frames())
    hook.answer = 500
    done = run(desk, code=1)
    assert f"line 2 of {desk.folder / 'notify'} (JSON) did not take it" in done.said
    assert "the last notice was not taken" in desk.typed("status").out
    hook.answer = 200
    run(desk)
    assert len(hook.taken()) == 1
    assert status(desk)["wrong"] == []
    assert status(desk)["open"] == [{"host": B, "id": f"net.{NETDEV}.mtu", "said": "1500; want: 9000"}]


@pytest.mark.parametrize("option", ["--remove", "--now"])
def test_what_is_typed_while_a_run_goes_on_changes_nothing(desk: Desk, option: str) -> None:
    """The run would write its state after it was removed, and it would stay."""
    keep_schedule(desk.inventory, Schedule(inventory=str(desk.inventory), every_s=3600))
    before = sorted(folder(desk).iterdir())
    with FileLock(folder(desk) / "lock"):
        done = desk.typed("schedule", option)
    assert done.code == 1 and "goes on. Try: the same once it ended" in done.said, done.said
    assert {*before} <= {*folder(desk).iterdir()}
    assert desk.typed("schedule", "--remove").code == 0


@pytest.mark.slow  # a run of drift, a process
def test_a_timer_needs_no_folder_that_a_file_was_only_typed_in(desk: Desk, hook: Webhook) -> None:
    (desk.folder / "elsewhere").mkdir()
    whole, desk.inventory = desk.inventory, desk.folder / "elsewhere" / ".." / "sparks.py"
    file = hook.addresses(desk.folder / "notify")
    well(desk.typed("schedule", "--now", "--notify", str(desk.folder / "elsewhere" / ".." / "notify")))
    record = json.loads((folder(desk) / "schedule.json").read_text())
    assert (record["inventory"], record["notify"]) == (str(whole), str(file))
    assert all(file.stat().st_mode & 0o077 == 0 for file in folder(desk).rglob("*"))


# --- secrets, and what is typed wrong


@pytest.mark.slow  # a run of drift, a process
def test_an_address_stands_in_its_own_file_alone(desk: Desk, hook: Webhook) -> None:
    said = scheduled(desk, hook)
    desk.has(short_frames())
    hook.answer = 500
    printed = [said, run(desk, code=1), desk.typed("status"), desk.typed("status", "--json")]
    assert not any(SECRET in each.out + each.said for each in printed)
    have = [
        file for file in desk.folder.rglob("*") if file.is_file() and SECRET in file.read_text(errors="replace")
    ]
    assert have == [desk.folder / "notify"]


def test_bad_input_is_one_sentence_and_schedules_nothing(desk: Desk, hook: Webhook) -> None:
    private(desk.folder / "empty", "# nothing")
    private(desk.folder / "odd", "https://example.com/hook")
    (open_ := private(desk.folder / "open", "json://localhost/")).chmod(0o644)
    silent = private(desk.folder / "silent", "json://127.0.0.1:9/x")

    def holds(words: list[str], said: str) -> None:
        done = desk.typed("schedule", *words)
        assert (done.code, done.out) == (1, ""), done.out
        lines = [line for line in done.said.splitlines() if not line.startswith("Warning: ")]
        assert len(lines) == 1 and lines[0].startswith("Error: ") and said in lines[0], done.said
        assert "Try: " in lines[0]
        assert not list(desk.folder.glob("state/sparkrig/schedule/*/schedule.json"))

    each_row(
        [
            (["--every", "90x"], "'90x' is no time: 5m to 7d is expected, such as 30m, 1h or 1d."),
            (["--every", "1m"], "'1m' is no time: 5m to 7d is expected"),
            (["--now", "--notify", f"json://h/{SECRET}"], "an address may hold a secret"),
            (["--now", "--notify", str(desk.folder / "none")], "none cannot be read: no such file"),
            (["--now", "--notify", str(desk.folder)], "cannot be read: it is no file"),
            (["--now", "--notify", str(desk.folder / "empty")], "has no address in it"),
            (["--now", "--notify", str(desk.folder / "odd")], "line 1: no address that apprise knows"),
            (["--now", "--notify", str(open_)], "can be read by others (mode 644). Try: chmod 600"),
            (["--now", "--notify", str(silent)], "took the first notice, and nothing was scheduled"),
            (["--now"], "nothing is scheduled for"),
            (["--remove", "--now"], "--remove goes with no other option."),
        ],
        holds,
    )
    assert SECRET not in desk.typed("schedule", "--notify", f"json://h/{SECRET}").said


def test_without_a_user_manager_the_page_with_cron_is_named(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(desk.folder / "nowhere"))
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
    done = desk.typed("schedule")
    assert done.code == 1 and done.said.startswith("Error: systemd has no user manager here that answers ("), (
        done.said
    )
    assert done.said.rstrip().endswith("in a crontab (sparkrig docs scheduling)")
    assert not list(desk.folder.glob("state/sparkrig/schedule/*/schedule.json"))


# --- with a real user manager


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[Manager]:
    with manager(tmp_path / "home", {"XDG_STATE_HOME": str(tmp_path / "state"), "NO_COLOR": "1"}) as found:
        yield found


@pytest.mark.slow  # a user manager, and three runs of drift
@pytest.mark.timeout(300)  # they take 20 s on a quiet machine, and minutes beside others
def test_a_user_manager_runs_it_and_status_says_where_its_timer_was_stopped(
    desk: Desk, hook: Webhook, systemd: Manager
) -> None:
    file, inventory = hook.addresses(desk.folder / "notify"), str(desk.inventory)
    done = systemd.sparkrig("schedule", inventory, "--every", "5m", "--notify", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "last run 0 s ago: in spec" in re.sub(r"run \d+ s", "run 0 s", done.stdout), done.stdout
    assert len(hook.taken()) == 1, "the first notice alone"
    (drift,) = (name for name in systemd.units() if re.fullmatch(r"sparkrig-drift-sparks-.*\.timer", name))
    assert systemd.systemctl("is-active", drift) == "active\n"
    again = systemd.sparkrig("schedule", inventory)
    assert again.stdout == "nothing to do: it is scheduled so already\n" and not hook.taken()
    refused = systemd.sparkrig("schedule", inventory, "--now", "--every", "1h")
    assert refused.returncode == 1 and "a timer of systemd runs the schedule" in refused.stderr

    desk.has(short_frames())
    systemd.systemctl("start", drift.replace(".timer", ".service"))
    assert [f"NEW {HOST} net.{NETDEV}.mtu" in each for each in hook.taken()] == [True]
    systemd.systemctl("stop", drift)
    shown = systemd.sparkrig("status", inventory)
    assert shown.returncode == 3 and "! the timer that runs drift was stopped" in shown.stdout, shown.stdout
    former = systemd.home / ".config" / "systemd" / "user" / drift.replace("sparkrig-drift", "sparkrig-check")
    former.write_text("[Timer]\nOnActiveSec=1h\n")
    assert systemd.sparkrig("schedule", inventory).returncode == 0 and not former.exists()
    assert systemd.systemctl("is-active", drift) == "active\n"

    done = systemd.sparkrig("schedule", inventory, "--remove")
    assert done.returncode == 0, done.stderr
    assert f"Your own file stays: {file}" in done.stderr
    assert systemd.units() == [] and not list((desk.folder / "state" / "sparkrig" / "schedule").iterdir())
    assert [each for each in (desk.folder / "home").rglob("*") if not each.is_dir()] == [], "what it wrote is gone"
    assert systemd.sparkrig("schedule", inventory, "--remove").stdout.startswith("nothing to do: ")
    assert systemd.sparkrig("status", inventory, "--json").stdout.endswith('"schedule": null\n}\n')


@pytest.mark.slow  # a user manager, and a run of drift
def test_a_first_run_that_fails_is_said_at_once(desk: Desk, systemd: Manager) -> None:
    """What works in the shell need not work for a timer: here a program that only the shell has on its way."""
    desk.inventory.write_text(
        "import os\nassert os.environ.get('ONLY_IN_THIS_SHELL')\n" + desk.inventory.read_text()
    )
    done = systemd.sparkrig("schedule", str(desk.inventory), more={"ONLY_IN_THIS_SHELL": "1"})
    assert done.returncode == 3 and "! the last run failed: " in done.stdout, done.stdout + done.stderr
    assert systemd.sparkrig("schedule", str(desk.inventory), "--remove").returncode == 0


@pytest.mark.slow  # a user manager, and runs of drift
def test_a_project_that_is_gone_is_a_notice(desk: Desk, hook: Webhook, systemd: Manager) -> None:
    """A unit whose working directory is gone would start nothing at all."""
    project = desk.folder / "project"
    (project / "deploys").mkdir(parents=True)
    (project / "deploys" / "cluster.py").touch()
    shutil.copytree(desk.folder / "group_data", project / "group_data")
    inventory = Path(shutil.copy(desk.inventory, project / "sparks.py"))
    file = hook.addresses(desk.folder / "notify")
    done = systemd.sparkrig("schedule", str(inventory), "--notify", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    hook.taken()
    project.rename(desk.folder / "elsewhere")
    (drift,) = (name for name in systemd.units() if re.fullmatch(r"sparkrig-drift-sparks-.*\.timer", name))
    systemd.systemctl("start", drift.replace(".timer", ".service"))
    assert ["NEW the run: " in each for each in hook.taken()] == [True]
    removed = systemd.sparkrig("schedule", str(inventory), "--remove")
    assert removed.returncode == 0 and systemd.units() == [], removed.stderr


@pytest.mark.slow  # a user manager
def test_what_systemd_refuses_leaves_nothing_half_done(desk: Desk, systemd: Manager) -> None:
    """Here the units land where the manager looks for none."""
    elsewhere = desk.folder / "elsewhere"
    done = systemd.sparkrig("schedule", str(desk.inventory), more={"XDG_CONFIG_HOME": str(elsewhere)})
    assert done.returncode == 1 and done.stderr.startswith("Error: the user manager refused to enable units ("), (
        done.stderr
    )
    assert [each for each in elsewhere.rglob("*") if each.is_file()] == []
    assert not list(desk.folder.glob("state/sparkrig/schedule/*"))


ODD = (
    "\\",
    " ",
    "\\ ",
    '"',
    "'",
    "%h",
    "$HOME",
    "${HOME}",
    ";",
    "#",
    " -",
    "~",
    "*",
    "%",
    "$",
    "\\n",
    "\\\\",
    "ä€",
)

UNFIT = r"[\\\"']"  # in the path of a program


def odd_names() -> list[str]:
    """Each at the begin, inside, and at the end of a name."""
    return [name for odd in ODD for name in (f"{odd}a", f"a{odd}b", f"a{odd}", f"a{odd}{odd}")]


def read_back(unit: str) -> dict[str, str]:
    """The values of a unit by systemd.syntax(7): a backslash at an end joins lines, and blanks around are gone."""
    rows = re.sub(r"\\\n", " ", unit).split("\n")
    pairs = (row.strip().partition("=") for row in rows if row.strip()[:1] not in ("", "#", ";", "["))
    return {key.strip(): value.strip() for key, _, value in pairs}


def words_of(value: str) -> list[str]:
    """Its words, unquoted; C escapes are but two here, and `%%` is one."""
    found = re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', value)
    return [re.sub(r"\\(.)", r"\1", quoted or bare).replace("%%", "%") for quoted, bare in found]


def test_a_unit_says_what_was_meant_whatever_a_path_is_called() -> None:
    asked = Schedule(every_s=3600, inventory="/x")

    def holds(name: str) -> None:
        program = f"/p/{re.sub(UNFIT, '', name)}"
        command = Command(program, Path(f"/w/{name}"), Path(f"/i/{name}"), {"A": f"/e/{name}"})
        made = picture.unit_files("id", asked, command)
        service, timer = (read_back(made[file]) for file in picture.units("id"))
        keys = "Description Type WorkingDirectory Environment ExecStart TimeoutStartSec Nice"
        assert list(service) == keys.split() and f"/i/{name}, ".replace("%", "%%") in service["Description"]
        assert service["WorkingDirectory"] == f"-/w/{name}/".replace("%", "%%")
        assert words_of(service["Environment"]) == [f"A=/e/{name}"]
        first, *words = words_of(service["ExecStart"])
        assert first == program
        assert [word.replace("$$", "$") for word in words] == ["schedule", f"/i/{name}", "--now"]
        assert list(timer) == ["Description", "OnActiveSec", "OnUnitActiveSec", "WantedBy"]

        if program != f"/p/{name}":
            with pytest.raises(Refusal, match="has a character in it that no unit can have"):
                picture.unit_files("id", asked, replace(command, program=f"/p/{name}"))

    each_row(odd_names(), holds)


@pytest.mark.slow  # a user manager
def test_systemd_reads_of_a_unit_what_was_meant_whatever_a_path_is_called(desk: Desk, systemd: Manager) -> None:
    folder, told = systemd.home / ".config" / "systemd" / "user", desk.folder / "told"
    folder.mkdir(parents=True, exist_ok=True)
    text = f'#!/bin/sh\nprintf "%s\\n" "$PWD" "$A" "$@" >>{told}\n'
    asked, wanted = Schedule(every_s=3600, inventory="/x"), []
    for number, name in enumerate(odd_names()):
        place = desk.folder / str(number) / name
        place.mkdir(parents=True)
        program = desk.folder / str(number) / re.sub(UNFIT, "", f"{name} program")
        program.write_text(text)
        program.chmod(0o755)
        command = Command(str(program), place, Path(f"/i/{name}"), {"A": f"/e/{name}"})
        service, _ = picture.units(str(number))
        (folder / service).write_text(picture.unit_files(str(number), asked, command)[service])
        wanted += [str(place), f"/e/{name}", "schedule", f"/i/{name}", "--now"]
    systemd.systemctl("daemon-reload")
    for number in range(len(odd_names())):
        systemd.systemctl("start", picture.units(str(number))[0])
    assert told.read_text().splitlines() == wanted


@pytest.mark.slow  # a user manager
def test_the_units_are_ones_that_systemd_takes_whole(desk: Desk, systemd: Manager) -> None:
    """Also of a place whose name has what a unit gives a meaning to."""
    project = desk.folder / 'of "%h" ${HOME}'
    for room in ("inventories", "deploys"):
        (project / room).mkdir(parents=True)
    (project / "deploys" / "cluster.py").touch()  # by which it is the folder that commands are typed in
    shutil.copytree(desk.folder / "group_data", project / "inventories" / "group_data")
    shutil.copy(desk.inventory, project / "inventories" / "my sparks.py")
    done = systemd.sparkrig("schedule", str(project / "inventories" / "my sparks.py"))
    assert done.returncode == 0 and ": in spec" in done.stdout, done.stdout + done.stderr
    names = [name for name in systemd.units() if name.startswith("sparkrig-")]
    assert len(names) == 2
    files = [str(systemd.home / ".config" / "systemd" / "user" / name) for name in names]
    found = systemd.run("systemd-analyze", "--user", "verify", *files)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
