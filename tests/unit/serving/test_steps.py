"""What a recipe runs in its container before the server: read, agreed to, and brought there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig.refusal import Refusal
from sparkrig.serving import launch_text, plan, recipe_launch, served, steps
from sparkrig.serving.io import recipe_file
from sparkrig.serving.recipe import Recipe
from sparkrig.serving.steps import Step
from sparkrig.serving.wish import Chosen, Wish
from tests.unit.recipes import v2
from tests.unit.servings import CATALOGUE, ID, LONE, made, mine

STEPS = (Step("pre_exec 1", "pip install x"), Step("mods/fix", files={"run.sh": "cp a b\n", "a": "1"}))
UNIT = "/etc/systemd/system/sparkrig-serve.service"


def wished(found: Recipe, **data: Any) -> Wish:
    return plan.wish(CATALOGUE.find, mine(**data), 1, found)


def placed(folder: Path, **files: str) -> Path:
    """A recipe with a mod beside it, three folders up, as registries have it."""
    mod = folder / "mods" / "fix"
    mod.mkdir(parents=True, exist_ok=True)
    for name, text in {"run.sh": "cp a b\n", **files}.items():
        (mod / name).write_text(text)
    file = folder / "recipes" / "model" / "recipe.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(v2(mods=["mods/fix"], pre_exec=["pip install {dtype} ${HOME} {other}"]))
    return file


def test_mods_are_read_from_beside_the_recipe_and_commands_have_its_values(tmp_path: Path) -> None:
    found = recipe_file.read(str(placed(tmp_path, a="1")))
    command = Step("pre_exec 1", "pip install auto ${HOME} {other}")
    assert found.steps == (command, Step("mods/fix", files={"run.sh": "cp a b\n", "a": "1"}))
    bare = placed(tmp_path)
    bare.write_text(v2(mods=["fix"]))
    assert [step.name for step in recipe_file.read(str(bare)).steps] == ["fix"]


def test_they_run_after_consent_to_this_very_text_alone(tmp_path: Path) -> None:
    file = placed(tmp_path, a="1")
    found = recipe_file.read(str(file))
    agreed = steps.digest(found.steps)
    with pytest.raises(
        Refusal, match="programs of its authors in its container: pre_exec 1 and mods/fix"
    ) as refused:
        wished(found, recipe=str(file))
    assert refused.value.cure == (
        f"sparkrig models show {file}, read them, then the same with --data serve_mods={agreed}"
    )
    assert json.loads(wished(found, serve_mods=agreed).steps)[1]["files"]["a"] == "1"
    (tmp_path / "mods/fix/a").write_text("2")
    with pytest.raises(Refusal, match="runs other programs than those of serve_mods"):
        wished(recipe_file.read(str(file)), serve_mods=agreed)
    assert wished(replace(found, steps=())).steps == ""


def test_a_mod_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    def refused(why: str) -> None:
        with pytest.raises(Refusal, match=why) as refusal:
            recipe_file.read(str(file))
        assert refusal.value.cure

    file = placed(tmp_path)
    mod = tmp_path / "mods" / "fix"
    (mod / "link").symlink_to("/etc/passwd")
    refused("link of mods/fix is no plain file")
    (mod / "link").unlink()
    (mod / "large").write_text("x" * 300_000)
    refused("mods/fix has 300,007 characters")
    (mod / "large").write_bytes(b"\xff")
    refused("is no text in UTF-8")
    (mod / "large").unlink()
    for number in range(102):
        (mod / f"{number}").write_text("")
    refused("one of too many")
    (mod / "run.sh").unlink()
    refused("names mods/fix, and no folder of that name with a run.sh lies beside")


def test_the_container_begins_with_them() -> None:
    wish = replace(wished(recipe_launch.read(v2())), steps=steps.document(STEPS))
    files = made(wish)
    (unit,) = (text for path, text in files.items() if path == UNIT)
    assert f"{served.STEPS}:/sparkrig/steps.py:ro" in unit and "--entrypoint /sparkrig/steps.py" in unit
    assert f"{served.START}:/sparkrig/start.sh:ro" in unit
    program, _, told = files[served.STEPS].rstrip("\n").rpartition("\n# ")
    assert json.loads(told)[0]["command"] == "pip install x" and program.startswith("#!")
    through = made(wish, chosen=Chosen(ID, entrypoint="/opt/nvidia/entry.sh"))[UNIT]
    assert f"{ID} /sparkrig/steps.py vllm serve" in through
    named = made(wish, serve_name="embed", serve_port=8100, serve_trial_port=18100)
    assert "/usr/local/lib/sparkrig/serve/embed/steps.py" in named
    plain = made(replace(wish, steps=""))
    assert served.STEPS not in plain and "/sparkrig/steps.py" not in plain[UNIT]
    assert made(wish, LONE)[UNIT] == unit


def test_a_memory_that_was_decided_with_other_programs_is_decided_anew() -> None:
    plain = wished(recipe_launch.read(v2()))
    digests = {replace(plain, steps=text).digest for text in ("", "a", "b")}
    assert len(digests) == 3


def test_the_lint_knows_that_they_may_mend_the_engine() -> None:
    (bare,) = launch_text.read(v2())
    (mended,) = launch_text.read(v2(pre_exec=["pip install x"]))
    assert (bare.mods, mended.mods) == (False, True)
