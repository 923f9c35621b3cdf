"""The service of the clock and its servers: what hosts print, what is to be done, the script on its own root."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sparkrig.facts.resources import Time as Fact
from sparkrig.files import Found
from sparkrig.fleet import Fleet
from sparkrig.operations.subject import subject
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Subject
from sparkrig.resources.time import CHRONY_PATH, TIME, TIMESYNCD_PATH, Service, Time
from tests.tables import each_row
from tests.unit.shells import sh, tool
from tests.unit.states import PAIR, SEEN, A, B

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
        assert TIME.parse(rows) == expected

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
            TIME.parse(rows)

    each_row({name: (rows, why.replace("$", r"\$")) for name, (rows, why) in NONSENSE.items()}, holds)


def written(service: Service, *servers: str) -> dict[str, Found]:
    """Our file as a deploy leaves it."""
    changes = TIME.changes(host(Time(service), {}, servers))
    return {file.path: Found(file.content, "0644", "root:root") for file in changes.write}


def host(seen: Time, files: Mapping[str, Found], servers: Sequence[str]) -> Subject:
    """A host of a pair in spec, with that service and those files of ours."""
    fleet = Fleet.parse({name: {**values, "ntp": [*servers]} for name, values in PAIR.items()})
    state = replace(SEEN[A], time=seen, files={**SEEN[A].files, **files})
    return subject(A, fleet, {A: state, B: SEEN[B]})


def test_a_file_says_what_each_service_reads() -> None:
    files = {**written("systemd-timesyncd", *SERVERS), **written("chrony", *SERVERS)}
    rows = {path: [row for row in file.content.splitlines() if row[0] != "#"] for path, file in files.items()}
    assert rows == {
        TIMESYNCD_PATH: ["[Time]", "NTP=", "NTP=192.0.2.10 time.example.org"],
        CHRONY_PATH: ["server 192.0.2.10 iburst", "server time.example.org iburst"],
    }
    assert all(file.content.endswith("\n") for file in files.values())  # chrony's README asks for it


OURS = written("systemd-timesyncd", *SERVERS)
OTHERS = written("systemd-timesyncd", "192.0.2.99")
CHRONYS = written("chrony", *SERVERS)
RUNS = Time("systemd-timesyncd", running=True)
CHRONY = Time("chrony", running=True)
STOPPED = Time("systemd-timesyncd", synchronised=False)

# the service, our files, the servers that are declared; what is written, removed and read again; the check
HOSTS: dict[str, tuple[Time, dict[str, Found], Sequence[str], tuple[list[str], ...], tuple[str, str] | None]] = {
    "nothing declared, nothing there": (CHRONY, {}, (), ([], [], []), None),
    "nothing declared, no service": (Time(), {}, (), ([], [], []), None),
    "declared, not there": (
        RUNS,
        {},
        SERVERS,
        ([TIMESYNCD_PATH], [], [TIMESYNCD_PATH]),
        ("drift", f"{TIMESYNCD_PATH} is absent"),
    ),
    "declared and there": (KEPT, OURS, SERVERS, ([], [], []), ("ok", "by systemd-timesyncd")),
    "another server": (
        KEPT,
        OTHERS,
        SERVERS,
        ([TIMESYNCD_PATH], [], [TIMESYNCD_PATH]),
        (
            "drift",
            f"{TIMESYNCD_PATH}: 1 line more (NTP=192.0.2.99), 1 line less (NTP=192.0.2.10 time.example.org)",
        ),
    ),
    "the file is right, and was not read": (
        replace(KEPT, asks=("192.0.2.99",)),
        OURS,
        SERVERS,
        ([], [], [TIMESYNCD_PATH]),
        ("drift", "its service asks others"),
    ),
    "the file is right, and the service is stopped": (
        STOPPED,
        OURS,
        SERVERS,
        ([], [], []),
        ("drift", "systemd-timesyncd does not run"),
    ),
    "chrony asks more than ours": (
        replace(CHRONY, asks=(*SERVERS, "203.0.113.1")),
        CHRONYS,
        SERVERS,
        ([], [], []),
        ("ok", "by chrony"),
    ),
    "declared no more": (
        KEPT,
        OURS,
        (),
        ([], [TIMESYNCD_PATH], [TIMESYNCD_PATH]),
        ("drift", f"{TIMESYNCD_PATH} is not declared"),
    ),
    "chrony took timesyncd's place": (
        CHRONY,
        OURS,
        SERVERS,
        ([CHRONY_PATH], [TIMESYNCD_PATH], [CHRONY_PATH, TIMESYNCD_PATH]),
        ("drift", f"{CHRONY_PATH} is absent and {TIMESYNCD_PATH} is not declared"),
    ),
}


def test_what_a_deploy_changes_and_what_drift_says_of_it() -> None:
    def holds(
        seen: Time,
        files: dict[str, Found],
        servers: Sequence[str],
        changed: tuple[list[str], ...],
        said: tuple[str, str] | None,
    ) -> None:
        changes = TIME.changes(host(seen, files, servers))
        assert ([file.path for file in changes.write], [*changes.remove], [*changes.reload]) == changed
        assert bool(changes) is any(changed)
        assert [*TIME.due(host(seen, files, servers))] == changed[0] + changed[1]
        checks = [*TIME.checks(host(seen, files, servers))]
        assert [(each.status, each.found) for each in checks] == ([said] if said else [])
        assert all(bool(each.cure) is (each.status != "ok") for each in checks)

    each_row(HOSTS, holds)


def test_servers_need_a_service() -> None:
    bare = host(Time(), {}, SERVERS)
    with pytest.raises(Refusal, match="no service keeps the clock") as refusal:
        TIME.judge(bare)
    assert "systemd-timesyncd" in refusal.value.cure
    (said,) = TIME.checks(bare)
    assert (said.status, said.found, said.cure) == ("drift", refusal.value.what, refusal.value.cure)


def test_a_stopped_service_is_started_and_not_deployed() -> None:
    (stopped,) = TIME.checks(host(STOPPED, OURS, SERVERS))
    assert "systemctl enable --now systemd-timesyncd" in stopped.cure
    (unread,) = TIME.checks(host(replace(KEPT, asks=()), OURS, SERVERS))
    assert unread.cure == "pyinfra pair.py deploys/cluster.py"


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
        return TIME.parse(done.stdout.splitlines())

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
