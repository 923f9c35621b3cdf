"""T1: what a deploy and a server leave beside the inventory: all that is left of a Spark without its disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.plan.conftest import Deploy, converged, pair, well
from tests.plan.serve_runs import FILE, MODEL, served_by, tail
from tests.plan.serving import IMAGE, SOLO, Spark, answering, hosts, ready, serving
from tests.plan.states import applied

COMMIT = "0123456789" * 4


def kept(folder: Path, name: str = "spark-a") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "sparks.kept" / f"{name}.json").read_text())
    return found


def test_a_deploy_keeps_each_host_and_costs_it_nothing(deploy: Deploy, tmp_path: Path) -> None:
    run = deploy(pair(converged("a"), converged("b")), "--dry")
    assert run.code == 0 and not (tmp_path / "sparks.kept").exists()
    run = deploy(pair(converged("a"), converged("b")), "-y")
    assert (run.code, len(run.commands), run.changes) == (0, 2, []), run.stderr
    assert kept(tmp_path)["facts"]["driver"].startswith("580.") and kept(tmp_path)["servers"] == []
    assert "nvidia-driver-580-open" in kept(tmp_path, "spark-b")["held"]
    run = well(deploy(applied(), "-y"))
    assert kept(tmp_path)["declared"]["driver.hold"], "what this very run declared"


def test_a_server_is_kept_by_what_was_typed_and_a_deploy_leaves_it(deploy: Deploy, tmp_path: Path) -> None:
    started = answering(hosts(ready(commit="f" * 40), Spark()), "gpt-oss-120b")
    started[0].later = {**started[0].later, "serving": ready(commit=COMMIT).rows()}  # as the run leaves it
    run = well(deploy(started, "-y", *MODEL, file=FILE))
    (server,) = kept(tmp_path)["servers"]
    assert (server["weights"], server["revision"]) == (SOLO, COMMIT)
    assert server["settings"]["model"] == "gpt-oss-120b" and "serve_seconds" not in server["settings"]
    assert kept(tmp_path, "spark-b")["servers"] == [], "which has no part in it"
    run = deploy(pair(converged("a"), converged("b")), "-y")
    assert run.code == 0 and kept(tmp_path)["servers"] == [server], "a Spark without its disk has none yet"
    run = served_by(deploy, serving(SOLO), serving(SOLO, "b"), "-y", *MODEL)
    assert run.code == 0 and kept(tmp_path)["servers"][0]["image_id"] == IMAGE, tail(run)


def test_what_cannot_be_kept_is_said_and_fails_nothing(deploy: Deploy, tmp_path: Path) -> None:
    (tmp_path / "sparks.kept").write_text("no folder")
    run = deploy(pair(converged("a"), converged("b")), "-y")
    assert run.code == 0 and "sparks.kept" in run.stderr and "try: ls -l" in run.stderr, run.stderr
