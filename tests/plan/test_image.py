"""T1: deploys/image.py on fake hosts."""

from __future__ import annotations

import pytest

from sparkrig.operations import build as image
from sparkrig.serving import build
from tests.plan.conftest import Deploy
from tests.plan.serving import IMAGE, OTHER, Spark, hosts

FILE = "deploys/image.py"
BASE = "vllm/vllm-openai:v0.17.0-cu130"
VERSION = "0.17.0rc1.dev120+ge68de8adc"
MADE = build.tag(IMAGE, None, image.recipe())


def test_what_is_built_is_not_built_again(deploy: Deploy) -> None:
    built = Spark(images={BASE: IMAGE, MADE: OTHER, "vllm-sm121:latest": OTHER})
    run = deploy(hosts(built, Spark()), "-y", file=FILE)
    assert run.code == 0, run.stderr[-2000:]
    assert (len(run.commands), run.changes) == (2, [])
    moved = Spark(images={BASE: OTHER, MADE: OTHER, "vllm-sm121:latest": OTHER})
    run = deploy(hosts(moved, Spark()), "--dry", "--json", file=FILE)
    assert any(run.plan.values()), "another base is another image"


def test_it_is_built_looked_into_and_named_in_this_order(deploy: Deploy) -> None:
    found = hosts(Spark(images={BASE: IMAGE}), Spark())
    found[0].responses = {'printf "cubins': ["cubins 52"], "entrypoint python3": [f"version {VERSION}"]}
    run = deploy(found, "-y", file=FILE)
    assert run.code == 0, run.stderr[-2000:]
    mine = [command for host, command in run.changes if host == "spark-a"]
    (made,) = [command for command in mine if "docker build" in command]
    assert (
        f"BASE={build.base_tag(IMAGE)} " in made
        and "COMMIT=e68de8adc" in made
        and f"-t {MADE}-trial /run/sparkrig/image" in made
    )
    order = [
        next(at for at, command in enumerate(mine) if text in command)
        for text in ("while read -r folder", "docker build", "cuobjdump", "docker rmi", "vllm-sm121:latest")
    ]
    assert order == sorted(order)
    assert "52 cubins for Blackwell" in run.stderr
    assert not [host for host, _ in run.changes if host == "spark-b"]


@pytest.mark.slow
def test_one_that_came_out_wrong_gets_no_name(deploy: Deploy) -> None:
    found = hosts(Spark(images={BASE: IMAGE}), Spark())
    found[0].responses = {'printf "cubins': ["cubins 0"], "entrypoint python3": [f"version {VERSION}"]}
    run = deploy(found, "-y", file=FILE)
    assert run.code == 1
    assert "Refused: it has 0 cubins for Blackwell" in run.stderr and "Traceback" not in run.stderr
    assert not [command for _, command in run.changes if "docker rmi" in command or "vllm-sm121:latest" in command]
