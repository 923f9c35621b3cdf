"""What templates/serving/steps.py runs in a container, with a stand-in for start.sh."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sparkrig.serving import steps
from sparkrig.serving.steps import Step
from tests.unit.shells import well


def run(folder: Path, *told: Step) -> subprocess.CompletedProcess[str]:
    """The program with its folders below `folder`, in the workspace there."""
    start = folder / "start.sh"
    start.write_text('#!/bin/sh\necho start: "$@" offline=$HF_HUB_OFFLINE\n')
    start.chmod(0o755)
    text = steps.program(steps.document(told))
    text = text.replace("/workspace/mods", f"{folder}/mods").replace("/sparkrig/start.sh", str(start))
    (folder / "steps.py").write_text(text)
    (folder / "work").mkdir()
    words = [sys.executable, str(folder / "steps.py"), "vllm", "serve", "a b"]
    environment = {"PATH": "/usr/bin:/bin", "HF_HUB_OFFLINE": "1"}
    return subprocess.run(
        words, cwd=folder / "work", env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_each_runs_and_then_the_server_starts(tmp_path: Path) -> None:
    mod = {
        "run.sh": "cp sub/a.jinja $WORKSPACE_DIR/b.jinja\n./own\n",
        "sub/a.jinja": "1\n# 2",
        "own": "#!/bin/sh\npwd",
    }
    done = well(
        run(tmp_path, Step("pre_exec 1", "echo ${HF_HUB_OFFLINE:-online} > c"), Step("mods/fix", files=mod))
    )
    work = tmp_path / "work"
    assert (work / "b.jinja").read_text() == "1\n# 2" and (work / "c").read_text() == "online\n"
    first, second, where, start = done.stdout.splitlines()
    assert (first, second) == ("sparkrig: the recipe runs pre_exec 1", "sparkrig: the recipe runs mods/fix")
    assert where == str(tmp_path / "mods/fix") and start == "start: vllm serve a b offline=1"


def test_one_that_fails_ends_it_and_says_so(tmp_path: Path) -> None:
    done = run(tmp_path, Step("pre_exec 1", "exit 3"), Step("pre_exec 2", "touch never"))
    assert done.returncode == 1 and not (tmp_path / "work/never").exists()
    said = done.stdout.splitlines()[-1].split()
    assert said[:3] == ["sparkrig:", "trouble", "steps"] and said[4:] == ["pre_exec", "1", "ended", "with", "3"]
    assert "start:" not in done.stdout
