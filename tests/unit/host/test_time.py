"""The service of the clock and its servers: what hosts print, what is to be done, the script on its own root."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sparkrig.facts.time import Time as Fact
from sparkrig.files import Found
from sparkrig.host import time
from sparkrig.host.time import CHRONY_PATH, TIMESYNCD_PATH, Plan, Time
from sparkrig.refusal import Refusal
from tests.tables import each_row
from tests.unit.shells import sh, tool

RECORDED = Path(__file__).resolve().parents[2] / "fixtures" / "time"
NONE, TWO = (f"servers {row}" for row in (RECORDED / "timesyncd-257-servers.txt").read_text().splitlines())
SERVERS = ("192.0.2.10", "time.example.org")
KEPT = Time("systemd-timesyncd", running=True, synchronised=True, asks=SERVERS)

ROWS = {
    "neither service": ([], Time()),
    "timesyncd, stopped": (["service systemd-timesyncd"], Time("systemd-timesyncd", synchronised=False)),
    "timesyncd, as it comes": (
        ["service systemd-timesyncd", "running", "synchronised"],
        Time("systemd-timesyncd", running=True, synchronised=True),
    ),
    "timesyncd before it read our file": (
        ["service systemd-timesyncd", "running", NONE],
        Time("systemd-timesyncd", running=True, synchronised=False, asks=()),
    ),
    "timesyncd that read our file": (["service systemd-timesyncd", "running", "synchronised", TWO], KEPT),
    "chrony": (
        ["service chrony", "running", *(f"asks {server}" for server in SERVERS)],
        Time("chrony", running=True, synchronised=False, asks=SERVERS),
    ),
}


def test_parse() -> None:
    def holds(rows: list[str], expected: Time) -> None:
        assert time.parse(rows) == expected

    each_row(ROWS, holds)


NONSENSE = {
    "another service": (["service ntpd"], "'ntpd' is no service that keeps a clock"),
    "another row": (["servces systemd-timesyncd"], "no row begins with 'servces'"),
    "no list of busctl's": (["service systemd-timesyncd", "servers Failed to get"], "is no list of servers"),
    "a server that is none": (["service chrony", "asks a b"], "is no name or address of a time server"),
    "one that busctl prints": (["service systemd-timesyncd", 'servers as 1 "$(id)"'], "is no name or address"),
}


def test_what_makes_no_sense_is_an_error() -> None:
    def holds(rows: list[str], why: str) -> None:
        with pytest.raises(ValueError, match=why):
            time.parse(rows)

    each_row({name: (rows, why.replace("$", r"\$")) for name, (rows, why) in NONSENSE.items()}, holds)


def written(service: time.Service, *servers: str) -> dict[str, Found]:
    """Our file as a deploy leaves it."""
    (file,) = time.plan(Time(service), {}, servers).write
    return {file.path: Found(file.content, "0644", "root:root")}


def test_a_file_says_what_each_service_reads() -> None:
    found = {**written("systemd-timesyncd", *SERVERS), **written("chrony", *SERVERS)}
    rows = {path: [row for row in file.content.splitlines() if row[0] != "#"] for path, file in found.items()}
    assert rows == {
        TIMESYNCD_PATH: ["[Time]", "NTP=", "NTP=192.0.2.10 time.example.org"],
        CHRONY_PATH: ["server 192.0.2.10 iburst", "server time.example.org iburst"],
    }
    assert all(file.content.endswith("\n") for file in found.values())  # chrony's README asks for it


OURS = written("systemd-timesyncd", *SERVERS)
OTHERS = written("systemd-timesyncd", "192.0.2.99")
CHRONYS = written("chrony", *SERVERS)
STOPPED = Time("systemd-timesyncd", synchronised=False)

PLANS = {
    "nothing declared, nothing there": (Time("chrony", running=True), {}, (), [], [], []),
    "nothing declared, no service": (Time(), {}, (), [], [], []),
    "declared, not there": (KEPT, {}, SERVERS, [TIMESYNCD_PATH], [], [TIMESYNCD_PATH]),
    "declared and there": (KEPT, OURS, SERVERS, [], [], []),
    "another server": (KEPT, OTHERS, SERVERS, [TIMESYNCD_PATH], [], [TIMESYNCD_PATH]),
    "the file is right, and was not read": (
        Time("systemd-timesyncd", running=True, asks=("192.0.2.99",)),
        OURS,
        SERVERS,
        [],
        [],
        [TIMESYNCD_PATH],
    ),
    "the file is right, and the service is stopped": (STOPPED, OURS, SERVERS, [], [], []),
    "chrony asks more than ours": (
        Time("chrony", running=True, asks=(*SERVERS, "203.0.113.1")),
        CHRONYS,
        SERVERS,
        [],
        [],
        [],
    ),
    "declared no more": (KEPT, OURS, (), [], [TIMESYNCD_PATH], [TIMESYNCD_PATH]),
    "chrony took timesyncd's place": (
        Time("chrony", running=True),
        OURS,
        SERVERS,
        [CHRONY_PATH],
        [TIMESYNCD_PATH],
        [CHRONY_PATH, TIMESYNCD_PATH],
    ),
}


def test_plan() -> None:
    def holds(
        found: Time,
        files: dict[str, Found],
        servers: tuple[str, ...],
        write: list[str],
        remove: list[str],
        reload: list[str],
    ) -> None:
        plan = time.plan(found, files, servers)
        assert ([file.path for file in plan.write], [*plan.remove], [*plan.reload]) == (write, remove, reload)
        assert bool(plan) is bool(write or remove or reload)

    each_row(PLANS, holds)
    assert not Plan()


def test_servers_need_a_service() -> None:
    with pytest.raises(Refusal, match="no service keeps the clock") as refusal:
        time.plan(Time(), {}, SERVERS)
    assert "systemd-timesyncd" in refusal.value.cure


# --- the script


@pytest.fixture
def rooted(tmp_path: Path) -> Callable[..., Time]:
    """The script on a root and with tools of its own; each tool that it starts is noted."""
    for folder in ("usr/sbin", "usr/lib/systemd", "run/systemd", "run/chrony", "etc"):
        (tmp_path / folder).mkdir(parents=True)
    tools, noted = tmp_path / "tools", f'echo "${{0##*/}} $*" >>{tmp_path}/started\n'
    tool(tools, "busctl", f"{noted}cat {RECORDED}/timesyncd-257-servers.txt | tail -n 1")
    tool(
        tools,
        "chronyc",
        f"""{noted}case "$*" in
        '-n tracking') echo 'Leap status     : Not synchronised' ;;
        '-N -c sources -a') cat {RECORDED}/chrony-4.3-sources.csv ;;
        *) exit 1 ;;
        esac""",
    )

    def look(*there: str) -> Time:
        for name in there:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).touch(mode=0o755)
        script = Fact.script
        for path in ("/usr/sbin", "/usr/lib/systemd", "/run/systemd", "/run/chrony", "/etc"):
            script = script.replace(path, f"{tmp_path}{path}")
        done = sh(script, path=tools)
        assert (done.returncode, done.stderr) == (0, "")
        return time.parse(done.stdout.splitlines())

    return look


TIMESYNCD, CHRONYD = "usr/lib/systemd/systemd-timesyncd", "usr/sbin/chronyd"


def started(root: Path) -> list[str]:
    file = root / "started"
    return [row.split()[0] for row in file.read_text().splitlines()] if file.exists() else []


def test_a_stopped_service_is_asked_nothing_since_that_would_start_it(
    rooted: Callable[..., Time], tmp_path: Path
) -> None:
    assert rooted() == Time()
    assert rooted(TIMESYNCD, TIMESYNCD_PATH[1:]) == STOPPED
    assert started(tmp_path) == []
    assert "timedatectl" not in Fact.script


def test_without_a_file_of_ours_timesyncd_costs_no_process(rooted: Callable[..., Time], tmp_path: Path) -> None:
    (tmp_path / "run/systemd/timesync").mkdir()
    assert rooted(TIMESYNCD) == Time("systemd-timesyncd", running=True, synchronised=False)
    assert rooted(TIMESYNCD, "run/systemd/timesync/synchronized").synchronised is True
    assert started(tmp_path) == []


def test_with_a_file_of_ours_timesyncd_is_asked(rooted: Callable[..., Time], tmp_path: Path) -> None:
    (tmp_path / "run/systemd/timesync").mkdir()
    assert rooted(TIMESYNCD, TIMESYNCD_PATH[1:]).asks == SERVERS
    assert started(tmp_path) == ["busctl"]


def test_chrony_is_asked_and_timesyncd_beside_it_is_not(rooted: Callable[..., Time], tmp_path: Path) -> None:
    pid = "run/chrony/chronyd.pid"
    assert rooted(CHRONYD, TIMESYNCD) == Time("chrony", synchronised=False)
    assert rooted(pid) == Time("chrony", running=True, synchronised=False)
    assert rooted(CHRONY_PATH[1:]) == Time("chrony", running=True, synchronised=False, asks=SERVERS)
    tool(tmp_path / "tools", "chronyc", "echo 'Leap status     : Normal'")
    (tmp_path / CHRONY_PATH[1:]).unlink()
    assert rooted().synchronised is True
    assert "busctl" not in started(tmp_path)


def test_names_are_asked_for_as_they_were_typed() -> None:
    """With -n a name that is not resolved is a number, and each deploy would reload chrony."""
    numeric = [row.split(",")[2] for row in (RECORDED / "chrony-4.3-sources-numeric.csv").read_text().splitlines()]
    typed = [row.split(",")[2] for row in (RECORDED / "chrony-4.3-sources.csv").read_text().splitlines()]
    assert numeric == ["192.0.2.10", "ID#0000000001"] and tuple(typed) == SERVERS and "chronyc -N" in Fact.script
