"""The group docker: what hosts print, what is to be done, its program on its own root, and whose members go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig.files import File, Found
from sparkrig.fleet import Fleet
from sparkrig.operations.subject import subject
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Subject
from sparkrig.resources.docker import DECLARED, DOCKER, GROUP_FILE, OURS, SETTLE, Group
from sparkrig.runs.managed_files import RELOADS
from sparkrig.settings import SettingsError
from tests.tables import each_row
from tests.unit.shells import sh, well
from tests.unit.simulated import SimulatedHost
from tests.unit.states import SEEN, A

FRESH = Group((), ("root", "nvidia", "ann"))


def test_parse(tmp_path: Path) -> None:
    (tmp_path / "group").write_text("root:x:0:\ndocker:x:988:nvidia,*\nmydocker:x:9:eve\n")
    (tmp_path / "passwd").write_text("root:x:0:0::/:/bin/sh\nnvidia:x:1000:1000::/:/bin/sh")
    script = DOCKER.script.replace("/etc/", f"{tmp_path}/")
    assert DOCKER.parse(sh(script).stdout.splitlines()) == Group(("nvidia", "*"), ("root",))
    (tmp_path / "group").write_text("root:x:0:\n")
    assert DOCKER.parse(sh(script).stdout.splitlines()).members is None
    with pytest.raises(ValueError, match="no row begins with 'mmbers'"):
        DOCKER.parse(["mmbers x"])


def host(seen: Group, names: tuple[str, ...] = (), declared: str = "", ours: str = "") -> Subject:
    """A lone Spark with that group. names: the setting; declared, ours: the users of both files."""
    fleet = Fleet.parse({A: {"docker_users": [*names], "allow_non_spark": True}})
    files = {
        path: Found(text.replace(" ", "\n") + "\n", "0644", "root:root")
        for path, text in ((DECLARED, declared), (OURS, ours))
        if text
    }
    return subject(A, fleet, {A: replace(SEEN[A], files=files, others={"docker": seen})})


# the members now, the setting, who stands in both files; members after, what is written and removed
HOSTS: dict[str, tuple[Any, ...]] = {
    "fresh": ((), ("nvidia",), "", "", "docker:nvidia (as good as root)", [DECLARED, GROUP_FILE]),
    "another's is left as it is": (("nvidia",), ("nvidia",), "", "", None, []),
    "beside another's": (("eve",), ("ann",), "", "", "docker:eve,ann (as good as root)", [DECLARED, GROUP_FILE]),
    "no setting, and ours": (("eve", "ann"), (), "ann", "ann", "docker:eve", [DECLARED, GROUP_FILE]),
    "no setting, and another's": (("nvidia",), (), "", "", None, []),
    "noted and never made": ((), (), "", "ann", None, []),
    "the removal broke off": (("ann",), (), "", "ann", "docker:", [GROUP_FILE]),
}


def test_what_changes() -> None:
    def holds(
        members: tuple[str, ...],
        names: tuple[str, ...],
        declared: str,
        ours: str,
        after: str | None,
        paths: list[str],
    ) -> None:
        changes = DOCKER.changes(host(replace(FRESH, members=members), names, declared, ours))
        assert sorted(changes.paths) == sorted(paths)
        assert [edit.after for edit in changes.edits] == ([after] if after else [])

    each_row(HOSTS, holds)


def test_what_is_checked() -> None:
    lone = host(FRESH, ("nvidia",))
    (check,) = DOCKER.checks(lone)
    assert (check.status, check.found) == ("drift", "/etc/group has docker:")
    written = DOCKER.changes(lone).write[0]
    settled = host(replace(FRESH, members=("nvidia",)), ("nvidia",), ours="nvidia")
    settled.found.files[DECLARED] = Found(written.content, "0644", "root:root")  # type: ignore[index]
    assert [each.status for each in DOCKER.checks(settled)] == ["ok"]
    assert DOCKER.settings_of(settled.found) == {"docker_users": ["nvidia"]}
    assert [*DOCKER.checks(host(FRESH))] == []


def test_who_is_not_there_is_refused() -> None:
    with pytest.raises(Refusal, match="docker_users has eve, and the host has no such user") as refusal:
        DOCKER.changes(host(FRESH, ("nvidia", "eve")))
    assert "sudo adduser eve" in str(refusal.value)
    with pytest.raises(Refusal, match="the group docker is not there"):
        DOCKER.changes(host(Group(None, ("nvidia",)), ("nvidia",)))
    (check,) = DOCKER.checks(host(FRESH, ("eve",)))
    assert check.status == "drift" and "no such user" in check.found
    for name in ("", "Ann", "-a", "a b", "a" * 33):
        with pytest.raises(SettingsError, match="docker_users"):
            Fleet.parse({A: {"docker_users": [name]}})


class Spark(SimulatedHost):
    """A host with a group docker, and what stands in for getent and gpasswd."""

    def __init__(self, root: Path, *members: str) -> None:
        super().__init__(root)
        self.has("/group", f"docker:x:988:{','.join(members)}\n")
        self.tool("getent", f"cat {root}/group")
        self.tool("sync")
        self.tool(
            "gpasswd",
            f"""echo "$1 $2" >>{root}/did
now=$(sed 's/.*://' {root}/group)
case $1 in --add) now=${{now:+$now,}}$2 ;; *) now=$(echo "$now" | tr , '\\n' | grep -vx "$2" | paste -sd,) ;; esac
echo "docker:x:988:$now" >{root}/group""",
        )

    def settles(self, *names: str) -> list[str]:
        """The members, once those names are declared."""
        if names:
            self.has(DECLARED, "# ours\n" + "".join(f"{name}\n" for name in names))
        else:
            self.at(DECLARED).unlink(missing_ok=True)
        well(self.sh(f"set -e\n{SETTLE}"))
        return [name for name in self.lines("/group")[0].rpartition(":")[2].split(",") if name]


def test_only_who_was_added_by_us_goes(tmp_path: Path) -> None:
    spark = Spark(tmp_path, "eve", "nvidia")
    assert spark.settles("nvidia", "ann") == ["eve", "nvidia", "ann"] and spark.lines(OURS) == ["ann"]
    assert spark.did == ["--add ann"]
    assert spark.settles("nvidia", "ann") == ["eve", "nvidia", "ann"] and spark.did == []
    assert spark.settles() == ["eve", "nvidia"] and not spark.at(OURS).exists()


def test_a_power_cut_before_the_group_forgets_nobody(tmp_path: Path) -> None:
    spark = Spark(tmp_path)
    spark.tool("gpasswd", "exit 9")
    spark.has(DECLARED, "ann\n")
    assert spark.sh(f"set -e\n{SETTLE}").returncode != 0 and spark.lines(OURS) == ["ann"]


def test_an_undo_settles_the_group_too() -> None:
    assert RELOADS[DECLARED] == SETTLE and File(DECLARED, "").mode == "0644"
