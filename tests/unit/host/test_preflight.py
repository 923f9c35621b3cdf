"""What must be known of a host before its first change: how it is read, and what is made of it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sparkrig.facts.preflight import Preflight as Fact
from sparkrig.facts.spark import NOUNS
from sparkrig.host import preflight
from sparkrig.host.apt import Holder
from sparkrig.host.preflight import Manager, Preflight, Shutdown
from tests.unit import manager
from tests.unit.shells import sh, tool, well

NOW = 1795231768.0
FIT = Preflight({"/": 5009, "/var": 5009, "/etc": 5009}, skew_s=0.5, manager=Manager("loaded", "active", "1.46.0"))
ROWS = """\
room  5009 /
room  5009 /var
room  5009 /etc
unit LoadState=loaded
unit ActiveState=active
nm s "1.46.0"
nm ao 0
clock 1795231768.500000000
"""
HOLDER = Holder("/var/lib/dpkg/lock-frontend", 123, "unattended-upgr")


def read(more: str = "", rows: str = ROWS) -> Preflight:
    return preflight.parse((more + rows).splitlines(), NOW)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(read(), FIT, id="fit"),
        pytest.param(
            read("room 12 /boot\nread-only /etc\n"),
            replace(FIT, room_mb={**FIT.room_mb, "/boot": 12}, read_only=("/etc",)),
            id="a /boot of its own, a read-only mount",
        ),
        pytest.param(
            read(
                "package half-configured ok libfoo:amd64\npackage triggers-pending ok man-db\n"
                "package installed reinstreq bar\njournal\n"
            ),
            replace(FIT, unfinished=("libfoo:amd64", "bar"), journal=1),
            id="dpkg broke off",
        ),
        pytest.param(
            read("lock /var/lib/dpkg/lock-frontend 123 unattended-upgr\n"), replace(FIT, apt=(HOLDER,)), id="apt"
        ),
        pytest.param(
            read("shutdown USEC=1795232368500000\nshutdown MODE=reboot\n"),
            replace(FIT, shutdown=Shutdown("reboot", 600.0)),
            id="a reboot in ten minutes of the host's clock",
        ),
        pytest.param(
            read('nm ao 2 "/nm/Checkpoint/1" "/nm/Checkpoint/2"\n', ROWS.replace("nm ao 0\n", "")),
            replace(FIT, manager=replace(FIT.manager, checkpoints=("/nm/Checkpoint/1", "/nm/Checkpoint/2"))),
            id="checkpoints",
        ),
        pytest.param(
            read(rows="room 9 /\nunit LoadState=masked\nunit ActiveState=inactive\nclock 1795228168.5\n"),
            Preflight({"/": 9}, skew_s=-3599.5, manager=Manager("masked", "inactive")),
            id="what is absent, and a clock an hour behind",
        ),
    ],
)
def test_rows(found: Preflight, expected: Preflight) -> None:
    assert found == expected


@pytest.mark.parametrize(
    "rows", [ROWS.replace("clock", "klock"), ROWS + "room x /\n", ROWS.replace("clock 1", "clock x")]
)
def test_nonsense_is_an_error(rows: str) -> None:
    with pytest.raises((ValueError, LookupError)):
        preflight.parse(rows.splitlines(), NOW)


def judged(
    found: Preflight,
    *,
    fabric: bool = True,
    running: bool = True,
    installs: bool = False,
    kept: bool | None = False,
) -> list[tuple[str, str]]:
    refusals = preflight.judge(found, fabric=fabric, running=running, installs=installs, kept=kept)
    return [(refusal.what, refusal.cure) for refusal in refusals]


FAULTS: dict[str, tuple[Preflight, str, str]] = {
    "no room in /etc": (
        replace(FIT, room_mb={"/": 0, "/var": 5000, "/etc": 49}),
        "/etc has 49 MB of room, and 50 MB are expected",
        "sudo apt-get clean",
    ),
    "no room at all": (
        replace(FIT, room_mb={"/": 0, "/var": 0, "/etc": 0}),
        "/etc and /var have 0 MB of room, and 50 MB are expected",
        "sudo apt-get clean",
    ),
    "dpkg": (
        replace(FIT, unfinished=("libfoo", "bar"), journal=2),
        "dpkg was interrupted (libfoo and bar unfinished)",
        "sudo dpkg --configure -a",
    ),
    "dpkg's journal alone": (replace(FIT, journal=1), "dpkg was interrupted", "sudo dpkg --configure -a"),
    "clock ahead": (
        replace(FIT, skew_s=301),
        "the clock is 301 s ahead of this machine's (and is not synchronised); "
        "apt and TLS fail with a wrong clock",
        "timedatectl",
    ),
    "clock behind": (
        replace(FIT, skew_s=-3600),
        "the clock is 3600 s behind this machine's (and is not synchronised); apt and TLS fail with a wrong clock",
        "timedatectl",
    ),
    "shutdown": (
        replace(FIT, shutdown=Shutdown("reboot", 1800)),
        "a reboot is scheduled in 30 min",
        "sudo shutdown -c",
    ),
    "old NetworkManager": (
        replace(FIT, manager=Manager("loaded", "active", "1.38.6")),
        "NetworkManager is 1.38.6, and 1.40 or later is expected",
        "sudo apt-get install network-manager",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_keeps_a_run_from_beginning(fault: str) -> None:
    found, what, cure = FAULTS[fault]
    [(said, to_try)] = judged(found)
    assert said == what
    assert to_try.startswith(cure)


@pytest.mark.parametrize(
    "found",
    [
        FIT,
        replace(FIT, room_mb={"/": 0, "/var": 50, "/etc": 50, "/boot": 1}),
        replace(FIT, skew_s=300),
        replace(FIT, skew_s=-300),
        replace(FIT, shutdown=Shutdown("reboot", 1801)),
        replace(FIT, unfinished=("bar",), journal=1, apt=(HOLDER,)),  # somebody is at it
        replace(FIT, manager=Manager("loaded", "active", "1.40.0")),
        replace(FIT, manager=Manager("loaded", "active", "")),
    ],
)
def test_what_does_not(found: Preflight) -> None:
    assert judged(found) == []


def test_a_read_only_mount_explains_the_rest() -> None:
    found = replace(FIT, read_only=("/", "/var"), skew_s=999, journal=1, room_mb={"/etc": 0})
    [(what, cure)] = judged(found)
    assert what.startswith("/ and /var are mounted read-only")
    assert "mount -o remount,rw /" in cure


def test_the_toolkit_needs_more_room() -> None:
    found = replace(FIT, room_mb={"/": 499, "/var": 499, "/etc": 499})
    assert judged(found) == []
    [(what, _)] = judged(found, installs=True)
    assert what == "/var has 499 MB of room, and 500 MB are expected"


@pytest.mark.parametrize(
    ("manager", "running", "what"),
    [
        (Manager("masked", "inactive"), False, "NetworkManager is masked, and the fabric needs it"),
        (Manager("masked", "active", "1.46.0"), True, "NetworkManager is masked, and the fabric needs it"),
        (Manager("loaded", "failed"), False, "NetworkManager does not run (failed), and the fabric needs it"),
        (Manager(), False, "NetworkManager does not run, and the fabric needs it"),
    ],
)
def test_network_manager_is_needed_for_a_fabric_alone(manager: Manager, running: bool, what: str) -> None:
    found = replace(FIT, manager=manager)
    assert [said for said, _ in judged(found, running=running)] == [what]
    assert judged(found, running=running, fabric=False) == []


def test_where_no_service_keeps_the_clock_nothing_is_said_of_one() -> None:
    ((what, _),) = judged(replace(FIT, skew_s=301), kept=None)
    assert what == "the clock is 301 s ahead of this machine's; apt and TLS fail with a wrong clock"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (replace(FIT, skew_s=60), []),
        (
            replace(FIT, skew_s=61),
            ["the clock is 61 s ahead of this machine's (synchronised, by its own word); try: timedatectl"],
        ),
        (replace(FIT, skew_s=-301), []),  # a refusal says it
        (
            replace(FIT, shutdown=Shutdown("poweroff", 7200)),
            ["a poweroff is scheduled in 120 min; try: sudo shutdown -c"],
        ),
        (replace(FIT, room_mb={"/": 99, "/boot": 12}), ["/boot has 12 MB of room, too little for another kernel"]),
    ],
)
def test_warnings(found: Preflight, said: list[str]) -> None:
    assert preflight.warnings(found, True) == said


# --- the script


def test_the_clock_is_the_last_thing_read() -> None:
    """What comes after it in the look would count as skew."""
    assert list(NOUNS)[-1] == "preflight"
    assert Fact.script.rstrip().splitlines()[-1].startswith("printf 'clock ")


def test_script_on_this_machine() -> None:
    done = sh(Fact.script)
    found = preflight.parse(done.stdout.splitlines(), time.time())
    assert done.returncode == 0
    assert set(found.room_mb) >= {"/", "/var", "/etc"}
    assert found.read_only == ()
    assert -5 < found.skew_s < 1


@pytest.fixture
def rooted(tmp_path: Path) -> Callable[..., Preflight]:
    """The script on a root and with tools of its own."""
    for name in ("var/lib/dpkg/updates", "etc", "run/systemd/shutdown"):
        (tmp_path / name).mkdir(parents=True)
    tools = tmp_path / "tools"
    tool(tools, "systemctl", "printf 'Id=%s\\nLoadState=loaded\\nActiveState=activating\\n' $4 $5")
    (tmp_path / "objects").write_text(f"{manager.objects([], checkpoints=['/org/x/Checkpoint/1'])}\n")
    tool(tools, "busctl", f"""case "$*" in *--auto-start=no*) cat {tmp_path}/objects ;; esac""")
    tool(
        tools,
        "dpkg-query",
        "printf 'installed ok install a a 1\\nunpacked ok install b b 1\\nconfig-files ok deinstall c c \\n'",
    )

    def look() -> Preflight:
        script = Fact.script.replace("/run/systemd", f"{tmp_path}/run/systemd")
        script = script.replace("/var/lib/dpkg/updates", f"{tmp_path}/var/lib/dpkg/updates")
        script = script.replace("set -- / /var /etc", f"set -- {tmp_path} {tmp_path}/var {tmp_path}/etc")
        done = well(sh(script, path=tools))
        return preflight.parse(done.stdout.splitlines(), time.time())

    return look


def test_script_finds_what_is_amiss(rooted: Callable[..., Preflight], tmp_path: Path) -> None:
    (tmp_path / "var/lib/dpkg/updates/0001").touch()
    (tmp_path / "var/lib/dpkg/updates/tmp.i").touch()
    (tmp_path / "run/systemd/shutdown/scheduled").write_text(
        f"USEC={int((time.time() + 600) * 1e6)}\nWARN_WALL=1\nMODE=reboot\n"
    )
    found = rooted()
    assert (found.unfinished, found.journal) == (("b",), 1)
    assert found.shutdown and found.shutdown.mode == "reboot" and 590 < found.shutdown.in_s < 601
    assert found.manager == Manager("loaded", "activating", "1.52.1", ("/org/x/Checkpoint/1",))


def test_script_of_a_host_without_all_that(rooted: Callable[..., Preflight], tmp_path: Path) -> None:
    for name in ("systemctl", "busctl", "dpkg-query"):
        tool(tmp_path / "tools", name, "echo nothing to say >&2; exit 1")
    found = rooted()
    assert (found.unfinished, found.journal, found.shutdown, found.manager) == ((), 0, None, Manager())


READ_ONLY = """
set -e
mount -t tmpfs -o size=1m tmpfs "$1/etc"
mount -o remount,ro "$1/etc"
sh -c "$2"
"""


def test_script_sees_a_read_only_mount(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    script = Fact.script.replace("set -- / /var /etc", f"set -- {tmp_path} {tmp_path}/etc")
    done = well(
        subprocess.run(
            ["unshare", "--mount", "--map-root-user", "sh", "-c", READ_ONLY, "x", str(tmp_path), script],
            capture_output=True,
            text=True,
            check=False,
        )
    )
    found = preflight.parse(done.stdout.splitlines(), time.time())
    assert found.read_only == (f"{tmp_path}/etc",)
    assert found.room_mb[f"{tmp_path}/etc"] == 1
