"""What apt simulated at the last deploy is taken for its answer until an input changes, whichever."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sparkrig import programs
from sparkrig.host import driver
from sparkrig.host.driver import SIMULATION
from sparkrig.operations.apt import KEEP, KEEP_FIRST
from tests.tables import each_row
from tests.unit.resources.world import SIMULATED, USUAL, settled

LOOK = f"{programs.text('facts/apt_simulation.sh')}\napt_simulation"
STATUS = "/var/lib/dpkg/status"
LISTS = "/var/lib/apt/lists"
FIRST = f"{LISTS}/localhost_dists_noble_InRelease"
# each file that is there before, as on a Spark; what is not there yet may come
THERE = (
    *("/var/lib/dpkg/arch", "/var/lib/apt/extended_states", f"{LISTS}/localhost_dists_noble_main_Packages"),
    *("/etc/apt/sources.list", "/etc/apt/sources.list.d/dgx.sources", "/etc/apt/preferences.d/nvidia"),
    *("/etc/apt/apt.conf.d/20packagekit", "/etc/dpkg/dpkg.cfg", "/etc/dpkg/dpkg.cfg.d/excludes"),
    *("/var/lib/dbus/machine-id", "/var/lib/apt/cdroms.list", "/etc/apt/preferences", "/etc/apt/apt.conf"),
)
INPUTS = (STATUS, FIRST, "/etc/machine-id", *THERE)
COMING = (
    *(f"{LISTS}/archive.ubuntu.com_ubuntu_dists_noble_InRelease", "/var/lib/dpkg/updates/0001"),
    *("/etc/apt/sources.list.d/new.list", "/etc/apt/preferences.d/pin", "/etc/apt/apt.conf.d/99new"),
    "/etc/dpkg/dpkg.cfg.d/new",
)
NO_INPUTS = (
    *(f"{LISTS}/lock", f"{LISTS}/partial/x_InRelease", f"{LISTS}/auxfiles/x", "/var/lib/dpkg/lock"),
    *("/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/info/x.list", "/etc/apt/auth.conf", "/etc/apt/keyrings/x.gpg"),
    *(
        "/etc/apt/trusted.gpg.d/x.gpg",
        "/var/lib/apt/periodic/update-stamp",
        "/etc/hosts",
        "/var/lib/dpkg/updates/tmp.i",
    ),
)


# of apt's environment: no answer is of use
ODD = {
    "APT_CONFIG": "/etc/apt/other.conf",
    "SOURCE_DATE_EPOCH": "",
    "DPKG_ROOT": "/srv",
    "DPKG_ADMINDIR": "/srv/dpkg",
}
# change HOW FILE: other bytes; `turned` and `replaced` as many as before, with the time of before, as dpkg and apt
# write a new file, and as a text editor does
CHANGE = """case $1 in
longer) echo more >>"$2" ;;
turned)
  cp -p "$2" /var/lib/was
  printf %s "$(tr a-y b-z <"$2")" | dd of="$2" conv=notrunc 2>/dev/null
  touch -r /var/lib/was "$2"
  ;;
replaced) tr a-y b-z <"$2" >"$2.new"; touch -r "$2" "$2.new"; mv "$2.new" "$2" ;;
esac
"""
# each case is tried in turn, in one namespace; where it is to be fresh a deploy leaves its record before
_TRIED = """fresh=$1
shift
while [ $# -gt 0 ]; do
  if [ -n "$fresh" ]; then sh -c "$KEEP"; fi
  eval "$2"
  : >/var/lib/asked
  printf 'case %s\\n' "$1"
  sh -c "$LOOK"
  if [ -s /var/lib/asked ]; then printf 'asked\\n'; fi
  shift 2
done
"""


class Spark:
    """A settled Spark on which each question to apt is counted."""

    def __init__(self, folder: Path) -> None:
        self.world = settled(folder / "spark")
        self.record = self.world.file(SIMULATION)
        for path in THERE:
            self.world.file(path).write_text("before\n")
        self.world.tool("change", CHANGE)
        self.apt()

    def apt(self, more: str = ":", rows: str = SIMULATED, status: int = 0) -> None:
        """apt-get, which also does something else."""
        self.world.tool("apt-get", f"echo x >>/var/lib/asked; {more}; echo '{rows}'; exit {status}")

    def keep(self) -> bool:
        """What the end of a deploy does; whether a record is there then."""
        self.world.look(KEEP)
        return self.record.exists()

    def asks(self, cases: Mapping[str, str], *, fresh: bool = False, **how: Any) -> dict[str, bool]:
        """Whether a look asks apt after the shell text of each case; it finds the same in any case.

        fresh: whether a deploy has left its record just before each.
        """
        words = shlex.join([word for pair in cases.items() for word in pair])
        env = {"KEEP": KEEP, "LOOK": LOOK, **how.pop("env", {})}
        script = f"set -- {'fresh' if fresh else shlex.quote('')} {words}\n{_TRIED}"
        rows, _ = self.world.look(script, env=env, **how)
        found: dict[str, bool] = {}
        for part in "\n".join(rows).split("case ")[1:]:
            name, *said = part.strip().splitlines()
            packages = driver.parse(row for row in said if row != "asked")
            assert packages.upgrade == {"libxnvctrl0": "install 610.57.04-1ubuntu1"}, said
            assert packages.kept is not ("asked" in said)
            found[name] = not packages.kept
        assert [*found] == [*cases]
        return found


@pytest.fixture
def spark(tmp_path: Path) -> Spark:
    made = Spark(tmp_path)
    assert made.asks({"no deploy has left anything yet": ":"}) == {"no deploy has left anything yet": True}
    assert made.keep()
    return made


CHANGES = {
    "nothing": {"nothing": ":"},
    "longer": {f"{path} longer": f"change longer {path}" for path in (STATUS, FIRST)},
    "replaced": {f"{path} replaced": f"change replaced {path}" for path in (STATUS, FIRST)},
    "turned": {f"{path} turned": f"change turned {path}" for path in INPUTS},
    "new": {
        **{f"{path} new": f"echo new >{path}" for path in COMING},
        "of root's own": "HOME=/var/lib/home; export HOME; mkdir $HOME; echo new >$HOME/.dpkg.cfg",
    },
    "gone": {f"{path} gone": f"mv {path} /var/lib" for path in ("/etc/apt/preferences.d/nvidia", THERE[2])},
}


@pytest.mark.parametrize("how", CHANGES)
def test_each_input_that_changes_makes_a_look_ask_apt(spark: Spark, how: str) -> None:
    for path in COMING:
        spark.world.file(path)
    assert spark.asks(CHANGES[how], fresh=True) == dict.fromkeys(CHANGES[how], how != "nothing")


def test_another_kernel_or_another_apt_makes_a_look_ask_apt(spark: Spark, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("6.17.0-1099-nvidia\n")
    for path in ("/proc/sys/kernel/osrelease", "/usr/bin/apt-get", "/usr/bin/dpkg"):
        assert spark.asks({"other": ":"}, over={path: other}) == {"other": True}, path
    assert spark.asks({"as before": ":"}) == {"as before": False}, "each alone, and only then"
    for name, value in ODD.items():
        assert spark.asks({name: ":"}, env={name: value}) == {name: True}


def test_nothing_else_does(spark: Spark) -> None:
    for path in NO_INPUTS:
        spark.world.file(path)
    cases = {path: f"echo new >{path}" for path in NO_INPUTS}
    cases["all inputs are read"] = f"cat {' '.join(INPUTS)} >/dev/null"
    assert spark.asks(cases) == dict.fromkeys(cases, False)


def test_a_record_that_is_none_of_roots_alone_is_not_believed(spark: Spark) -> None:
    kept, record, folder = "/var/lib/kept", SIMULATION, SIMULATION.rpartition("/")[0]
    put = f"rm -rf {record}; cp {kept} {record}; chmod 600"
    cases = {
        "it is moved away": f"cp -p {record} {kept}; rm {record}",
        "a link": f"ln -s {kept} {record}",
        "a folder": f"rm {record}; mkdir {record}",
        "a FIFO": f"rmdir {record}; mkfifo -m 600 {record}",
        "all may write": f"{put} {record}; chmod 666 {record}",
        "a group may write": f"{put} {record}; chmod 620 {record}",
        "others may put another there": f"{put} {record}; chmod 775 {folder}",
        "all may put another there": f"chmod 757 {folder}",
        "as it was": f"{put} {record}; chmod 755 {folder}",
    }
    expected = {name: name != "as it was" for name in cases}
    assert spark.asks(cases) == expected
    if os.geteuid() == 0:  # only root can give a file away
        os.chown(spark.record, 1, 1)
        assert spark.asks({"of another user": ":"}) == {"of another user": True}


def test_a_record_that_is_not_whole_is_not_believed(spark: Spark) -> None:
    rows = spark.record.read_text().splitlines(keepends=True)
    assert rows[-1] == "end\n" and rows[-2] == "simulated 0\n"
    texts = {f"{count} rows": "".join(rows[:count]) for count in range(len(rows))}
    without = (at for at, row in enumerate(rows) if row != f"{SIMULATED}\n")
    texts |= {f"without row {at}": "".join(rows[:at] + rows[at + 1 :]) for at in without}
    texts |= {
        "half a row": "".join(rows)[:-6],
        "a row behind its end": "".join([*rows, "Remv nvidia-driver-580-open\n"]),
        "twice": "".join(rows * 2),
        "a row of another kind": "".join([*rows[:-2], "E: Unmet dependencies\n", *rows[-2:]]),
        "another version": "".join(["sparkrig 2\n", *rows]),
        "apt failed": "".join(rows).replace("simulated 0", "simulated 100"),
        "one more input": "".join(rows).replace("simulation\n", "input 1 /etc/apt/x\nsimulation\n"),
        "longer than is read": "".join(rows[:-2]) + "Inst x (1)\n" * 30_000 + "simulated 0\nend\n",
        "no clock": "".join(["at soon\n", *rows[1:]]),
        "no day": "".join([rows[0], "until -1\n", *rows[2:]]),
        "a huge day": "".join([rows[0], f"until {'9' * 30}\n", *rows[2:]]),
        "as it was": "".join(rows),
    }
    texts |= clocks(rows)
    folder = spark.world.file("/var/lib/texts/0").parent
    for number, text in enumerate(texts.values()):
        (folder / str(number)).write_text(text)
    cases = {name: f"cat /var/lib/texts/{number} >{SIMULATION}" for number, name in enumerate(texts)}
    assert spark.asks(cases) == {name: name not in ("as it was", "good for an hour") for name in cases}


def clocks(rows: Sequence[str]) -> dict[str, str]:
    """The record of another time, and until another: the clock was moved back, or Valid-Until has passed."""
    now = int(rows[0].split()[1])
    days = {
        "of the future": (now + 3600, now + 7200),
        "past its day": (now - 3600, now - 1),
        "good for an hour": (now - 3600, now + 3600),
    }
    return {name: "".join([f"at {then}\n", f"until {day}\n", *rows[2:]]) for name, (then, day) in days.items()}


def test_the_record_is_good_until_the_first_list_is_not(spark: Spark) -> None:
    def until(day: datetime, name: str) -> int:
        text = f"Origin: x\nValid-Until: {format_datetime(day, usegmt=True)}\nSHA256:\n"
        spark.world.file(f"{LISTS}/{name}").write_text(text)
        assert spark.keep()
        return int(spark.record.read_text().splitlines()[1].removeprefix("until "))

    late, later = datetime(2098, 11, 27, tzinfo=UTC), datetime(2099, 11, 30, 11, 22, 37, tzinfo=UTC)
    assert until(later, "a_dists_InRelease") == later.timestamp()
    assert until(late, "b_dists_Release") == late.timestamp()
    assert until(later, "c_dists_InRelease") == late.timestamp()
    spark.world.file(f"{LISTS}/d_dists_Release").write_text("Valid-Until: when it suits\n")
    assert not spark.keep(), "a day that is none"


def test_a_deploy_leaves_it_for_root_alone_and_nothing_beside_it(spark: Spark) -> None:
    assert spark.record.stat().st_mode & 0o777 == 0o600
    names = {file.name for file in spark.record.parent.iterdir()}
    assert spark.keep() and {file.name for file in spark.record.parent.iterdir()} == names


def test_a_record_that_is_still_good_is_not_made_again(spark: Spark) -> None:
    """A deploy that changed nothing that apt reads does not wait for a simulation."""
    was = spark.record.stat().st_ino  # a record is put there under a name of its own
    asked = spark.world.file("/var/lib/asked")
    asked.unlink(missing_ok=True)
    assert spark.keep() and not asked.exists() and spark.record.stat().st_ino == was
    spark.world.file(STATUS).write_text("another\n")
    assert spark.keep() and asked.exists() and spark.record.stat().st_ino != was


def test_what_a_killed_one_left_goes(spark: Spark) -> None:
    left = spark.world.file(f"{SIMULATION}.aB3dEf")
    left.write_text("half\n")
    spark.world.file(STATUS).write_text("another\n")
    assert spark.keep() and not left.exists()


def test_it_neither_ends_the_script_that_it_stands_before_nor_takes_its_input(spark: Spark) -> None:
    """What ends a run (runs/journal_end.sh) has the declaration on its standard input."""
    states: tuple[Callable[[], object], ...] = (dict, spark.record.unlink, partial(spark.apt, status=100))
    for prepare in states:
        prepare()
        rows, _ = spark.world.look(f"echo declared | {{ {KEEP_FIRST}cat; echo whole; }}")
        assert rows == ["declared", "whole"]
    spark.apt()
    spark.record.unlink(missing_ok=True)
    spark.world.look(f"set -e\n{KEEP_FIRST}")
    assert spark.record.exists()


def test_nothing_is_left_where_it_would_prove_nothing(spark: Spark) -> None:
    def config(paths: Sequence[str]) -> None:
        rows = "\n".join(f"{name}='{path}'" for name, path in zip("abcdefghijk", paths, strict=True))
        spark.world.says("apt-config", rows)

    def elsewhere(number: int) -> Callable[[], None]:
        return lambda: config([f"/srv{path}" if number == at else path for at, path in enumerate(USUAL)])

    def including(text: str) -> Callable[[], object]:
        return lambda: conf.write_text(text)

    def leaves_none(prepare: Callable[[], object]) -> None:
        spark.record.write_text("an old one\n")
        env = prepare()
        spark.world.look(KEEP, env=env if isinstance(env, dict) else None)
        assert not spark.record.exists(), "the old one goes, too"
        spark.apt()
        config(USUAL)
        conf.write_text("before\n")
        spark.record.parent.chmod(0o700)

    conf = spark.world.file("/etc/apt/apt.conf.d/20packagekit")
    each_row(
        {
            "apt fails": lambda: spark.apt(status=100),
            "apt says why": lambda: spark.apt(rows="E: Unmet dependencies", status=100),
            "an input changes meanwhile": lambda: spark.apt(f"echo x >>{STATUS}"),
            "a file that includes another": including('#include "/srv/apt.conf";\n'),
            "behind another entry": including('Foo "1"; #include "/srv/apt.conf";\n'),
            "others may write where it is": lambda: spark.record.parent.chmod(0o770),
            **{name: partial(dict, {name: value}) for name, value in ODD.items()},
            **{f"another place than {path}": elsewhere(at) for at, path in enumerate(USUAL)},
        },
        leaves_none,
    )
    assert spark.keep(), "otherwise it is"
    shutil.rmtree(spark.record.parent)
    spark.world.look(KEEP)
    assert not spark.record.parent.exists(), "where no run ever changed anything"
