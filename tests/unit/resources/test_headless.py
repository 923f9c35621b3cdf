"""A Spark without a desktop: what hosts print, what is to be done, and its program with a systemd of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig.files import Found
from sparkrig.fleet import Fleet
from sparkrig.operations.subject import subject
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Subject
from sparkrig.resources.headless import BEFORE, DECLARED, HEADLESS, LINK, SETTLE, TARGET, Screen
from sparkrig.runs.managed_files import RELOADS
from tests.tables import each_row
from tests.unit.shells import well
from tests.unit.simulated import SimulatedHost
from tests.unit.states import SEEN, A

FACTORY = Screen("graphical.target", "gdm.service", 700 << 20)
BARE = Screen(TARGET)


def host(seen: Screen, *, on: bool = True, **files: str) -> Subject:
    """A lone Spark with that desktop. files: the content of `declared` and `before`."""
    fleet = Fleet.parse({A: {"headless": on, "allow_non_spark": True}})
    there = {
        {"declared": DECLARED, "before": BEFORE}[name]: Found(text, "0644", "root:root")
        for name, text in files.items()
    }
    return subject(A, fleet, {A: replace(SEEN[A], files=there, others={"headless": seen})})


TEXT = HEADLESS.changes(host(FACTORY)).write[0].content
# what was seen; whether it is declared, the files; what changes, old and new; the check
HOSTS: dict[str, tuple[Any, ...]] = {
    "as it came": (
        FACTORY,
        True,
        {},
        [
            (
                "graphical.target, with a login screen (gdm.service) that holds 0.7 GiB",
                f"{TARGET}, and that memory free at once",
            )
        ],
        "drift",
    ),
    "memory not told": (
        replace(FACTORY, bytes=None),
        True,
        {},
        [
            (
                "graphical.target, with a login screen (gdm.service) that holds unknown memory",
                f"{TARGET}, and that memory free at once",
            )
        ],
        "drift",
    ),
    "a person on it": (
        replace(FACTORY, persons=("ann",)),
        True,
        {},
        [
            (
                "graphical.target, with a login screen (gdm.service) that holds 0.7 GiB",
                f"{TARGET} from the next start on, for ann is logged in on the desktop",
            )
        ],
        "drift",
    ),
    "a person still on it": (
        replace(FACTORY, target=TARGET, persons=("ann",)),
        True,
        {"declared": TEXT, "before": "x"},
        [],
        "ok",
    ),
    "no desktop, by its owner": (BARE, True, {}, [], "ok"),
    "as declared": (BARE, True, {"declared": TEXT, "before": "graphical.target\n"}, [], "ok"),
    "no longer declared": (
        BARE,
        False,
        {"declared": TEXT, "before": "graphical.target\n"},
        [(TARGET, "graphical.target from the next start on")],
        "drift",
    ),
    "never declared": (FACTORY, False, {}, [], None),
}


def test_what_changes_and_what_is_checked() -> None:
    def holds(
        seen: Screen, on: bool, files: dict[str, str], edits: list[tuple[str, str]], status: str | None
    ) -> None:
        one = host(seen, on=on, **files)
        assert [(edit.before, edit.after) for edit in HEADLESS.changes(one).edits] == edits
        assert [each.status for each in HEADLESS.checks(one)] == ([status] if status else [])

    each_row(HOSTS, holds)
    assert HEADLESS.settings_of(host(BARE, declared=TEXT).found) == {"headless": True}


def test_a_target_of_its_owners_is_refused() -> None:
    for target, said in (("other", "one of its owner's"), ("", "not told")):
        with pytest.raises(Refusal, match=f"the host's default target is {said}"):
            HEADLESS.changes(host(Screen(target)))
    (check,) = HEADLESS.checks(host(Screen("other")))
    assert check.status == "drift" and "systemctl get-default" in check.cure


class Spark(SimulatedHost):
    """A host with a desktop, below a folder: its systemctl and loginctl know that one unit, and these sessions."""

    own = r"(?<![\w.}])/(?:etc|run|usr/lib|var/lib|sys)/"

    def __init__(self, root: Path, *sessions: str) -> None:
        super().__init__(root)
        for name in ("graphical", "multi-user"):
            self.has(f"/usr/lib/systemd/system/{name}.target", "")
        self.link = self.at(LINK)
        self.link.parent.mkdir(parents=True)
        self.link.symlink_to(self.at("/usr/lib/systemd/system/graphical.target"))
        self.gdm = self.at("/sys/fs/cgroup/system.slice/gdm.service")
        self.has("/sys/fs/cgroup/system.slice/gdm.service/cgroup.procs", "77\n")
        self.has("/sys/fs/cgroup/system.slice/gdm.service/memory.current", "1000\n")
        self.has("/sys/fs/cgroup/user.slice/user-120.slice/memory.current", "500\n")
        self.has("/etc/passwd", "root:x:0:0::/:/bin/sh\ngdm:x:120:125::/:/bin/false\n")
        self.tool("sync")
        self.tool(
            "systemctl",
            f"""echo "$*" >>{root}/did
case $* in
get-default) basename "$(readlink {self.link})" ;;
*set-default*) ln -sfn {root}/usr/lib/systemd/system/"$3" {self.link} ;;
stop*) rm -r {self.gdm} ;;
esac""",
        )
        self.sessions(*sessions)

    def sessions(self, *told: str) -> None:
        """Those of logind, each as NAME CLASS TYPE."""
        rows = [each.split() for each in told]
        cases = "".join(
            f"{number}) printf 'Name={n}\\nClass={c}\\nType={t}\\n' ;;\n" for number, (n, c, t) in enumerate(rows)
        )
        numbers = "".join(f"echo '{number} 1 x'\n" for number in range(len(rows)))
        self.tool("loginctl", f"case $1 in show-session) case $2 in {cases}esac ;; *) :\n{numbers};; esac")

    def look(self) -> Screen:
        done = well(self.sh(HEADLESS.script))
        return HEADLESS.parse(done.stdout.splitlines())

    def settle(self) -> None:
        well(self.sh(f"set -e\n{SETTLE}"))


GREETER = "gdm greeter wayland"


def test_the_look(tmp_path: Path) -> None:
    spark = Spark(tmp_path, GREETER, "ann user wayland", "bob user tty")
    assert spark.look() == Screen("graphical.target", "gdm.service", 1500, ("ann",))
    spark.at("/sys/fs/cgroup/system.slice/gdm.service/memory.current").unlink()
    spark.at("/sys/fs/cgroup/user.slice/user-120.slice/memory.current").unlink()
    assert spark.look().bytes is None
    spark.link.unlink()
    assert spark.look().target == ""
    spark.link.symlink_to(spark.at("/etc/passwd"))
    assert spark.look().target == "other"
    with pytest.raises(ValueError, match="no row begins with 'tget'"):
        HEADLESS.parse(["tget x"])


def test_the_login_screen_ends_at_once_and_the_desktop_of_a_person_does_not(tmp_path: Path) -> None:
    spark = Spark(tmp_path, GREETER, "ann user wayland")
    spark.has(DECLARED, TEXT)
    spark.settle()
    assert spark.look() == Screen(TARGET, "gdm.service", 1500, ("ann",)) and "stop gdm.service" not in spark.did
    spark.sessions(GREETER, "bob user tty")
    spark.settle()
    assert spark.look() == BARE and "stop gdm.service" in spark.did
    assert spark.lines(BEFORE) == ["graphical.target"]


def test_without_the_declaration_it_starts_as_before(tmp_path: Path) -> None:
    spark = Spark(tmp_path, GREETER)
    spark.has(DECLARED, TEXT)
    spark.settle()
    spark.at(DECLARED).unlink()
    spark.settle()
    assert spark.look().target == "graphical.target" and not spark.at(BEFORE).exists()
    assert RELOADS[DECLARED] == SETTLE
