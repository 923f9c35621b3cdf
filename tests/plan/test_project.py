"""T1: the deploys of a project that `sparkrig init` made do what the repository's own do, name by name."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from sparkrig.cli.main import sparkrig
from tests.plan.conftest import Deploy
from tests.plan.states import applied, settled


def test_a_project_deploys_as_the_repository_does(deploy: Deploy, tmp_path: Path) -> None:
    made = tmp_path / "sparks"
    assert CliRunner().invoke(sparkrig, ["init", str(made)]).exit_code == 0
    ours, own = (
        deploy(applied(), "-y", file=file) for file in (str(made / "deploys/cluster.py"), "deploys/cluster.py")
    )
    assert ours.code == own.code == 0, ours.stderr
    assert sorted(host for host, _ in ours.changes) == sorted(host for host, _ in own.changes) != []
    planned = [
        deploy(settled(), "--json", "--dry", file=file).plan
        for file in (str(made / "deploys/driver.py"), "deploys/driver.py")
    ]
    assert planned[0] == planned[1] != {}
