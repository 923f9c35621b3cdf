"""`sparkrig init` makes a project whose files are the product's own, and overwrites nothing."""

from __future__ import annotations

import ast
import json
import os
import tomllib
from importlib.metadata import PathDistribution, version
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sparkrig import inventory, login
from sparkrig.cli import doctor
from sparkrig.cli.main import sparkrig
from sparkrig.deploys.step import steps
from sparkrig.terminal import project
from tests.tables import each_row, table

ROOT = Path(__file__).resolve().parents[3]


def init(folder: Path) -> Result:
    return CliRunner().invoke(sparkrig, ["init", str(folder)])


@pytest.fixture
def made(tmp_path: Path) -> Path:
    done = init(tmp_path / "sparks")
    assert done.exit_code == 0, done.output
    return tmp_path / "sparks"


def files(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


def test_a_project_has_what_the_repository_has(made: Path) -> None:
    found = files(made)
    for name in ("inventories/pair.py", "inventories/solo.py", "inventories/group_data/all.py", "config.py"):
        assert found[name] == (ROOT / name).read_text()
    for file in (ROOT / "tests" / "state").glob("*.py"):
        assert found[f"tests/state/{file.name}"] == file.read_text()
    assert not [name for name in found if "lab" in name or "__pycache__" in name]
    assert {".gitignore", ".github/workflows/drift.yml", "README.md"} <= {*found}


def test_each_deploy_that_users_type_has_a_file(made: Path) -> None:
    names = {file.stem for file in (made / "deploys").iterdir()}
    assert names <= {*steps(), "cluster", "probe", "serve"}  # a resource may be part of cluster.py alone
    assert names >= {"cluster", "network", "driver", "serve"}
    for file in (made / "deploys").iterdir():
        text = file.read_text()
        assert ast.get_docstring(ast.parse(text)) and f'run("{file.stem}")' in text


def test_it_pins_the_version_that_made_it(made: Path) -> None:
    document = tomllib.loads((made / "pyproject.toml").read_text())
    assert document["project"]["dependencies"] == [f"sparkrig[onboard,report]=={version('sparkrig')}"]
    locked = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["dev"]
    assert next(row for row in document["dependency-groups"]["test"] if "testinfra" in row) in locked
    assert project.made_by(made) == version("sparkrig")


def test_one_that_came_from_git_is_pinned_to_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No index has it, and pip would look there."""
    origin = {"url": "https://git.example/sparkrig", "vcs_info": {"vcs": "git", "commit_id": "abc123"}}
    monkeypatch.setattr(PathDistribution, "read_text", lambda *_: json.dumps(origin))
    assert init(tmp_path / "sparks").exit_code == 0
    document = tomllib.loads((tmp_path / "sparks" / "pyproject.toml").read_text())
    pinned = "sparkrig[onboard,report] @ git+https://git.example/sparkrig@abc123"
    assert document["project"]["dependencies"] == [pinned]


def test_pip_installs_a_project_and_its_job_leaves_the_home_of_the_runner_alone(made: Path) -> None:
    """setuptools takes no folder with two packages (flat layout); a self-hosted runner has a home that stays."""
    document = tomllib.loads((made / "pyproject.toml").read_text())
    assert document["tool"]["setuptools"] == {"py-modules": []}
    job = (made / ".github" / "workflows" / "drift.yml").read_text()
    assert "~/.ssh/" not in job and job.index('export HOME="$RUNNER_TEMP/') < job.index(".ssh/id_ed25519")


def test_nothing_is_overwritten_and_then_nothing_is_written(tmp_path: Path) -> None:
    def holds(name: str) -> None:
        folder = tmp_path / name.replace("/", "-")
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("mine\n")
        done = init(folder)
        assert done.exit_code == 1 and f"{name} in {folder} would be overwritten" in done.output
        assert files(folder) == {name: "mine\n"}

    each_row(["config.py", "deploys/cluster.py", "inventories/group_data/all.py", ".gitignore"], holds)


def test_a_link_and_a_folder_in_the_place_of_a_file_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "config.py").symlink_to("nowhere")
    (tmp_path / "README.md").mkdir()
    done = init(tmp_path)
    assert done.exit_code == 1 and "README.md and config.py" in done.output
    assert sorted(each.name for each in tmp_path.iterdir()) == ["README.md", "config.py"]


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.py")
    done = init(tmp_path)
    assert done.exit_code == 1 and f"config.py in {tmp_path} would be overwritten" in done.output


def test_what_broke_off_is_completed(made: Path) -> None:
    before = files(made)
    (made / "config.py").unlink()
    (made / "deploys" / "mine.py").write_text("# my own\n")
    assert init(made).exit_code == 0
    assert files(made) == {**before, "deploys/mine.py": "# my own\n"}


def test_a_file_in_the_place_of_the_folder_is_said_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "sparks").write_text("")
    for folder in ("sparks", "sparks/mine"):
        done = init(tmp_path / folder)
        assert done.exit_code == 1 and f"{tmp_path / folder} cannot be made: " in done.output
        assert "Traceback" not in done.output and done.output.count("\n") == 1


# --- the folder that pyinfra is typed in


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "elsewhere"


@pytest.mark.usefixtures("elsewhere")
def test_a_project_is_found_from_its_inventory_and_from_any_folder_of_it(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert project.root(made / "inventories" / "pair.py") == made
    assert project.root() == ROOT, "elsewhere, the repository's own deploys are the ones to type"
    monkeypatch.chdir(made / "tests" / "state")
    assert project.root() == made
    assert project.root(ROOT / "inventories" / "pair.py") == ROOT


def test_where_the_package_alone_is_installed_its_own_deploys_are_typed(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = elsewhere.parent / "site-packages" / "sparkrig"
    monkeypatch.setattr(project, "_PACKAGE", package)
    assert project.root() == package


def test_an_older_project_is_known_as_one(tmp_path: Path) -> None:
    def holds(text: str, expected: str | None) -> None:
        (tmp_path / "pyproject.toml").write_text(text)
        assert project.outdated(tmp_path, "1.2.0") == expected

    each_row(table(__file__, "an older project is known as one"), holds)
    (tmp_path / "pyproject.toml").unlink()
    assert project.outdated(tmp_path, "1.2.0") is None


def test_the_doctor_reports_an_older_project(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    doctor._show_age(made / "inventories" / "pair.py")
    assert capsys.readouterr().err == ""
    file = made / "pyproject.toml"
    file.write_text(file.read_text().replace(f'made-by = "{version("sparkrig")}"', 'made-by = "0.0.1"'))
    doctor._show_age(made / "inventories" / "pair.py")
    said = capsys.readouterr().err
    assert f"{made} is older than this {version('sparkrig')}: 0.0.1 made it. Try: " in said
    assert f"Try: sparkrig init {made}-new; diff -r {made}-new {made}\n" in said


def test_a_spark_that_it_is_installed_on_is_in_its_inventory(tmp_path: Path) -> None:
    def typed(name: str, folder: str) -> Result:
        return CliRunner().invoke(sparkrig, ["init", str(tmp_path / folder), "--here", name])

    done = typed("spark-a", "mine")
    assert done.exit_code == 0, done.output
    file = tmp_path / "mine" / "inventories" / "sparks.py"
    assert [*inventory.load(file)] == ["spark-a"]
    assert inventory.load(file)["spark-a"][login.HERE]
    assert "  sparkrig doctor inventories/sparks.py access\n  sparkrig onboard\n" in done.output
    for name in ("spark a", "-a", "@here/spark-a", "", "a\nb", 'a"b'):
        done = typed(name, "no")
        assert done.exit_code == 1 and "is no name; letters, digits" in done.output, name
        assert not (tmp_path / "no").exists()
