"""`sparkrig models show FILE`: whether a recipe of others would start, and all that it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sparkrig.cli.models import models
from sparkrig.serving import steps
from sparkrig.serving.io import recipe_file
from tests.unit.recipes import v2


def shown(folder: Path, *words: str, **values: Any) -> Result:
    file = folder / "recipe.yaml"
    file.write_text(v2(**values))
    return CliRunner().invoke(models, ["show", str(file), *words])


def test_it_says_on_how_many_sparks_it_would_start(tmp_path: Path) -> None:
    both = shown(tmp_path, defaults={"dtype": "auto", "tensor_parallel": 2}, container="vllm-node")
    lines = both.output.splitlines()
    assert both.exit_code == 0
    assert lines[:3] == ["recipe", "engine  vLLM", "model   openai/gpt-oss-120b"]
    assert lines[3].startswith("image   eugr/spark-vllm@sha256:") and "serve_image=vllm-node" in lines[4]
    one, two = lines[5:7]
    assert one.startswith("on one Spark: would start, weights of 6") and "--gpu-memory-utilization 0." in one
    assert two.startswith("on 2 Sparks: would start on 2 that share it, weights of 3")
    named = shown(tmp_path, name="x\non one Spark: would start", cluster_only=True)
    assert "x on one Spark: would start" in named.output.splitlines()[0], "a name makes no line of its own"
    assert "on 4 Sparks: would start" in shown(tmp_path, "--sparks", "4").output


def test_on_a_screen_its_lines_are_folded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_line = shown(tmp_path, cluster_only=True).output
    monkeypatch.setenv("COLUMNS", "60")
    folded = shown(tmp_path, cluster_only=True).output
    assert max(map(len, one_line.splitlines())) > 60 >= max(map(len, folded.splitlines()))
    assert folded.replace("\n  ", " ") == one_line


def test_on_a_screen_what_to_try_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    refused = shown(tmp_path, model="someone/a-model-of-a-rather-long-name").output.splitlines()
    assert [line for line in refused if len(line) > 40] == [
        "  sparkrig models show someone/a-model-of-a-rather-long-name --save"
    ] * 2, refused
    missing = CliRunner().invoke(models, ["show", "no/such/folder/and/file.yaml"])
    assert missing.output.splitlines() == [
        "no/such/folder/and/file.yaml cannot be",
        "  read: no such file or directory.",
        "  Try:",
        "  ls -l no/such/folder/and/file.yaml",
    ]


def test_what_is_refused_is_said_with_one_thing_to_try(tmp_path: Path) -> None:
    pair = shown(tmp_path, cluster_only=True)
    assert pair.exit_code == 0, "it would on two"
    assert "on one Spark: refused. openai/gpt-oss-120b is for 2 Sparks" in pair.output
    unknown = shown(tmp_path, model="someone/new")
    assert unknown.exit_code == 2 and "Try: sparkrig models show someone/new --save" in unknown.output
    other = shown(tmp_path, runtime="atlas")
    assert other.exit_code == 2 and "is for Atlas" in other.output and "Try: " in other.output
    large = shown(tmp_path, model="cyankiwi/MiniMax-M2.7-AWQ-4bit", solo_only=True)
    assert large.exit_code == 2 and "cyankiwi/MiniMax-M2.7-AWQ-4bit does not fit: 1" in large.output
    wrong = shown(tmp_path, "--context", "4096")
    assert wrong.exit_code == 2 and "--context is not for a recipe" in wrong.output


def test_a_recipe_that_is_not_there_is_not_sought_elsewhere() -> None:
    missing = CliRunner().invoke(models, ["show", "no/such.yaml#fast"])
    assert missing.exit_code == 2
    assert missing.output == "no/such.yaml cannot be read: no such file or directory. Try: ls -l no/such.yaml\n"


def test_a_file_of_another_form_is_told_who_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text("services: {}")
    other = CliRunner().invoke(models, ["show", str(file)])
    assert other.exit_code == 2 and "any other launch: sparkrig lint FILE" in other.output


def test_what_lint_refuses_of_a_deploy_is_refused_here(tmp_path: Path) -> None:
    defaults = {"dtype": "auto", "kv_cache_dtype": "nvfp4"}
    command = "vllm serve {model} --kv-cache-dtype {kv_cache_dtype}"
    stock = shown(tmp_path, defaults=defaults, command=command, container="vllm/vllm-openai:v0.28.0")
    assert stock.exit_code == 2 and stock.output.count("refused. nvfp4-kv: ") == 2, stock.output
    defaults |= {"kv_cache_dtype": "fp8", "gpu_memory_utilization": "0.9"}
    command += " --gpu-memory-utilization {gpu_memory_utilization}"
    warned = shown(tmp_path, defaults=defaults, command=command, container="vllm/vllm-openai:v0.28.0")
    assert warned.exit_code == 0 and "; sparkrig lint warns of utilization-high" in warned.output
    assert "on 2 Sparks: would start on one of them" in shown(tmp_path, max_nodes=1).output


def test_all_that_it_runs_is_shown_with_the_digest_that_agrees_to_it(tmp_path: Path) -> None:
    (tmp_path / "mods/fix/sub").mkdir(parents=True)
    (tmp_path / "mods/fix/run.sh").write_text("cp a b\x1b[2J\n")
    (tmp_path / "mods/fix/sub/a").write_text("first\nlast\n")
    run = shown(tmp_path, mods=["mods/fix"], pre_exec=["pip install {dtype}"])
    told = run.output.split("It runs this in its container before the server")[1]
    for part in (
        "--- pre_exec 1\npip install auto\n",
        "--- mods/fix/run.sh\ncp a b [2J\n",
        "/sub/a\nfirst\nlast\n",
    ):
        assert part in told, "in full, and cleaned"
    found = recipe_file.read(str(tmp_path / "recipe.yaml"))
    assert run.output.endswith(f" --data serve_mods={steps.digest(found.steps)}\n")
    assert "To have it run: sparkrig serve INVENTORY " in run.output
    assert run.exit_code == 0
