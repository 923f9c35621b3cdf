"""T3: the wheel alone, in an environment of its own with this checkout hidden, takes Sparks from the box and back.

That what is in the wheel is enough on a host only hosts can prove, for what is missing in it is there in the
checkout. So the main path is walked from `init` to `undo`: in CI by a lone Spark, in `make faults` by a pair.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab import USER, toolkit_repo
from tests import wheels
from tests.lab import installed
from tests.lab.commands import Done
from tests.lab.factory import PASSWORD, Fresh, unpack
from tests.lab.guests import Guest, Pair

INVENTORY = "inventories/sparks.py"


@dataclass(frozen=True)
class Project:
    """What a user of the package has: an environment (programs), and a folder with a home, a key, a project."""

    programs: Path
    folder: Path

    @property
    def place(self) -> Path:
        return self.folder / "sparks"

    def run(self, program: str, *words: str, place: Path | None = None) -> Done:
        """A command of the installed package, typed in the project, where this checkout is an empty folder."""
        env = installed.environ(self.folder / "me")
        return installed.run(self.programs / program, *words, place=place or self.place, env=env)

    def onboard(self, name: str, fresh: Fresh) -> Done:
        where = f"{USER}@127.0.0.1:{fresh.target.port}"
        given = ("--fingerprint", fresh.fingerprint, "--password-file", str(self.folder / "password"))
        done = self.run("sparkrig", "onboard", where, "--name", name, "--yes", *given)
        assert done.code == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed.programs(tmp_path_factory.mktemp("installed"))


def test_a_spark_needs_no_compiler(tmp_path: Path) -> None:
    """Of the core each has a wheel for it, or uv refuses; what an extra alone asks for is not among them."""
    names = wheels.of_a_spark(tmp_path)
    assert len(names) > 20 and {"pyinfra", "pydantic-core"} <= {*names}, names
    assert not {*names} & {"mcp", "libcst", "zeroconf", "apprise", "junitparser", "prometheus-client"}, names


@pytest.fixture
def project(programs: Path, tmp_path: Path) -> Project:
    key = tmp_path / "me" / ".ssh" / "id_ed25519"
    key.parent.mkdir(parents=True, mode=0o700)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    password = tmp_path / "password"
    password.write_text(f"{PASSWORD}\n")
    password.chmod(0o600)
    made = Project(programs, tmp_path)
    begin(made)
    return made


def begin(project: Project) -> None:
    """`init`, by a package that has nothing of this checkout."""
    installed.assert_hidden(project.programs, project.folder, installed.environ(project.folder / "me"))
    done = project.run("sparkrig", "init", "sparks", place=project.folder)
    assert done.code == 0, done.stderr
    as_the_lab_is(project)


def as_the_lab_is(project: Project) -> None:
    """What its owner would set: this bandwidth, this patience, this mirror."""
    mirror = toolkit_repo()
    with (project.place / "inventories" / "group_data" / "all.py").open("a") as settings:
        settings.write(
            f"\nbandwidth_floor = 0.01\npatience = 4.0\ntoolkit_url = {mirror['url']!r}\n"
            f"toolkit_key_url = {mirror['key_url']!r}\ntoolkit_key_fingerprint = {mirror['fingerprint']!r}\n"
        )


def assert_as_declared_and_undone(project: Project, names: Set[str]) -> None:
    """Nothing to do by a plan and by drift; then each Spark is undone, and its runs are kept."""
    done = project.run("pyinfra", "--json", "--dry", INVENTORY, "deploys/cluster.py")
    assert done.code == 0 and done.plan == {}, done.stderr
    done = project.run("sparkrig", "drift", f"../{INVENTORY}", "--json", place=project.place / "deploys")
    assert done.code == 0, done.stdout[-3000:]
    done = project.run("sparkrig", "doctor", INVENTORY)
    assert done.code == 0, done.stdout + done.stderr
    done = project.run("sparkrig", "undo", INVENTORY, "--yes")
    assert done.code == 0, done.stdout + done.stderr
    kept = json.loads(project.run("sparkrig", "status", INVENTORY, "--json").stdout)
    assert set(kept["hosts"]) == names


def test_the_wheel_alone_takes_a_lone_spark_from_its_box_and_back(solo: Guest, project: Project) -> None:
    project.onboard("spark-a", unpack(solo))
    assert_as_declared_and_undone(project, {"spark-a"})


@pytest.mark.exhaustive  # a lone Spark asks the package for nearly all that a pair does, in half of the time
def test_the_wheel_alone_takes_two_sparks_to_a_pair_and_back(pristine: Pair, project: Project) -> None:
    project.onboard("spark-a", unpack(pristine.a))
    done = project.onboard("spark-b", unpack(pristine.b))
    assert "spark-a and spark-b are a pair, and as declared." in done.stdout
    assert_as_declared_and_undone(project, {"spark-a", "spark-b"})
