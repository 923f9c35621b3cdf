"""T3: what docs/serving.md promises of a model outside the catalogue, and of launches that others published.

With real docker and systemd and no vLLM, as in tests/lab/test_serve.py. The model is saved from its public
config.json, in a project of the user's own; the recipes are those of tests/fixtures/recipes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.standin_image import build, weights
from tests.faults.record import Seen
from tests.lab.commands import ROOT, run
from tests.lab.frozen import STANDIN, N, asks, events, freeze, gpu, thaw, until
from tests.lab.guests import Pair
from tests.lab.inventories import inventory_with
from tests.lab.serving import SETTINGS, models, planned, serve, unit, wrong

pytestmark = pytest.mark.exhaustive  # images are made and servers started under emulation

ID, NAME = "Qwen/Qwen3-8B", "qwen3-8b"
CONFIG = ROOT / "tests" / "fixtures" / "checkpoints" / "Qwen--Qwen3-8B"
RECIPES = ROOT / "tests" / "fixtures" / "recipes"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of a user: inventories and deploys beside each other, and no models/ yet."""
    settings = f"'node_ssh': True, {SETTINGS}, 'serve_watch_seconds': {N}"
    inventory_with(tmp_path, settings)
    (tmp_path / "deploys").mkdir()
    (tmp_path / "deploys" / "cluster.py").write_text("from sparkrig.deploys import cluster\n")
    return tmp_path


def test_a_model_of_no_catalogue_is_served_rolled_back_and_watched(ready: Pair, project: Path, seen: Seen) -> None:
    inventory = str(project / "inventories" / "lab.py")
    refused = serve(inventory, ID)
    assert refused.code == 1 and f"Try: sparkrig models show {ID} --save" in refused.stderr, refused.stderr[-3000:]
    saved = run("sparkrig", "models", "show", str(CONFIG), "--id", ID, "--save", cwd=project)
    assert saved.code == 0, saved.stderr
    build(ready.a.node, STANDIN)
    gpu(ready.a, 14)
    weights(ready.a.node, f"/srv/models/{ID}")
    done = serve(inventory, ID)
    assert done.code == 0 and f"{ID} is not verified by anyone" in done.stderr, done.stderr[-3000:]
    assert NAME in models(ready.a) and planned(inventory, ID) == {} and wrong(inventory) == (0, set())

    build(ready.a.node, "--garbage", "vllm-broken:1")
    done = serve(inventory, ID, "--data", "serve_image=vllm-broken:1")
    assert done.code == 1 and "rolled back" in done.stderr, done.stderr[-3000:]
    assert NAME in models(ready.a) and planned(inventory, ID).keys() == {"close the run"}

    freeze(ready.a)
    asks(ready.a, NAME)
    until(ready.a, lambda: events(ready.a) == ["stuck restarted"])
    thaw(ready.a)
    until(ready.a, lambda: NAME in models(ready.a))
    code, rows = wrong(inventory)
    assert code == 2 and ("spark-a", "serve.stuck") in rows, rows
    seen("saved, served, rolled back to itself, frozen and restarted by the watch; found by drift")


@pytest.mark.parametrize(
    ("file", "id", "name", "both"),
    [
        ("eugr-v1.yaml", "openai/gpt-oss-120b", "gpt-oss-120b", True),
        ("sparkrun-v2.yaml", "Qwen/Qwen3.6-35B-A3B-FP8", "qwen3.6-35b-a3b", False),
        ("vllm-project.yaml#nvfp4", "nvidia/Qwen3.6-35B-A3B-NVFP4", "qwen3.6-35b-a3b", False),
    ],
    ids=["eugr", "sparkrun", "vllm-project"],
)
def test_a_recipe_is_served(
    ready: Pair, tmp_path: Path, file: str, id: str, name: str, both: bool, seen: Seen
) -> None:
    """It stands in the inventory: one that is given to a run alone is no longer asked for afterwards."""
    inventory = inventory_with(tmp_path, f"'node_ssh': True, {SETTINGS}, 'recipe': {str(RECIPES / file)!r}")
    weights(ready.a.node, f"/srv/models/{id}")
    done = serve(inventory)
    assert done.code == 0, done.stderr[-3000:]
    assert name in models(ready.a) and (unit(ready.b) == "active") is both
    assert planned(inventory) == {} and wrong(inventory) == (0, set())
    seen(f"{name} of {file} on {'both' if both else 'one'}; the second run has nothing to do")
