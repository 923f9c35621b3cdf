"""T3: the wheel alone, in an environment of its own with this checkout hidden, takes Sparks from the box and back.

That what is in the wheel is enough on a host only hosts can prove, for what is missing in it is there in the
checkout. So the main path is walked from `init` to `undo`: in CI by a lone Spark, in `make faults` by a pair.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab import USER, toolkit_repo
from tests import wheels
from tests.lab.commands import ROOT, Done
from tests.lab.factory import PASSWORD, Fresh, unpack
from tests.lab.guests import Guest, Pair

# $1 what is hidden, $2 where it is typed, $3... the command
HIDDEN = 'mount -t tmpfs tmpfs "$1" && cd "$2" && shift 2 && exec "$@"'
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
        env = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        env |= {"HOME": str(self.folder / "me"), "PYINFRA_PROGRESS": "off", "NO_COLOR": "1"}
        hidden = ["unshare", "--mount", "--map-root-user", "sh", "-ec", HIDDEN, "hidden", str(ROOT)]
        done = subprocess.run(
            [*hidden, str(place or self.place), str(self.programs / program), *words],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=1800,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def onboard(self, name: str, fresh: Fresh) -> Done:
        where = f"{USER}@127.0.0.1:{fresh.target.port}"
        given = ("--fingerprint", fresh.fingerprint, "--password-file", str(self.folder / "password"))
        done = self.run("sparkrig", "onboard", where, "--name", name, "--yes", *given)
        assert done.code == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the wheel and what it asks for, in the versions of the lock."""
    folder = tmp_path_factory.mktemp("installed")
    wheel = wheels.wheel(folder)
    (folder / "constraints").write_text(wheels.constraints())
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    pip = [str(folder / "venv" / "bin" / "pip"), "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "-c", "constraints", f"{wheel}[onboard]"], check=True, cwd=folder)
    return folder / "venv" / "bin"


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
    hidden = f"import os; assert not os.listdir({str(ROOT)!r})"
    assert project.run("python", "-c", hidden, place=project.folder).code == 0
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
