"""Kinds of published launches that work, and were once failed; and what is misspelt where no version is known."""

from __future__ import annotations

import pytest
import yaml

from sparkrig.io import catalogue_files, lint_rules, vllm_flags
from sparkrig.serving import launch_text
from sparkrig.serving.lint import judgement
from sparkrig.serving.lint.case import Case
from sparkrig.serving.lint.judgement import Finding
from tests.unit.launch_texts import serve

KNOWN, TABLES = catalogue_files.catalogue(), vllm_flags.knowledge()
FLASH_NEXT = "Mia-AiLab/Qwen3.8-Flash-Next-NVFP4 --gpu-memory-utilization 0.78 --max-model-len 131072"
VLLM = "/usr/local/lib/python3.12/dist-packages/vllm"


def cased(text: str) -> Case:
    (one,) = launch_text.read(text)
    return Case(one, KNOWN.find, None, None, TABLES)


def found(text: str, rule: str) -> Finding | None:
    return next((each for each in judgement.judge(cased(text), lint_rules.rules()) if each.rule == rule), None)


def failing(text: str) -> list[str]:
    return [each.rule for each in judgement.judge(cased(text), lint_rules.rules()) if each.fails]


@pytest.mark.parametrize(("tag", "version"), [("25.12-py3", (0, 11, 1)), ("26.01-py3", (0, 13, 0))])
def test_an_image_of_nvidia_has_the_version_that_it_prints(tag: str, version: tuple[int, ...]) -> None:
    text = f"docker run --gpus all nvcr.io/nvidia/vllm:{tag} {serve(flags='--attention-backend flashinfer')}"
    assert cased(text).version == version
    assert (found(text, "flag-unknown") is None) is (version >= (0, 13))


def test_an_image_whose_files_are_replaced_is_no_longer_vllm_s_own() -> None:
    run = "docker run --gpus all {} vllm/vllm-openai:qwen38-flash-next " + FLASH_NEXT + " --kv-cache-dtype fp8"
    plain, patched = (found(run.format(each), "kv-needs-bf16") for each in ("", f"-v ./qsa.py:{VLLM}/qsa.py"))
    assert plain and plain.severity == "error"
    assert patched and patched.severity == "note"


def test_a_vllm_that_is_installed_in_the_container_is_of_no_known_version() -> None:
    inside = "bash -c 'pip install -U {} && vllm serve a/B --gpu-memory-utilization 0.8 --swap-space 4'"
    runs = [
        f"docker run --gpus all vllm/vllm-openai:v0.29.0 {inside.format(each)}"
        for each in ("vllm", "transformers")
    ]
    installed, kept = (cased(each) for each in runs)
    assert (installed.version, kept.version) == (None, (0, 29, 0))
    assert failing(runs[0]) == [] and failing(runs[1]) == ["flag-unknown"]


@pytest.mark.parametrize("size", [2, 4, 8])
@pytest.mark.parametrize("program", ["docker", "podman", "kubectl"])
def test_a_container_that_is_entered_may_be_a_node_of_ray(program: str, size: int) -> None:
    inner = f"vllm serve a/B --gpu-memory-utilization 0.8 -tp {size}"
    assert failing(f"{program} exec -it $NODE /bin/bash -c '{inner}'") == []
    assert failing(f"{program} exec -it $NODE {inner}") == []
    assert failing(inner) != []


def test_deep_gemm_fails_in_vllm_s_own_image_alone() -> None:
    run = "docker run --gpus all {} deepseek-ai/DeepSeek-V4-Flash --moe-backend deep_gemm"
    ours, others = (
        found(run.format(each), "deep-gemm") for each in ("vllm/vllm-openai:v0.27.1", "me/gb10:vllm vllm serve")
    )
    assert ours and ours.fails
    assert others and not others.fails


def test_long_steps_are_a_note_where_the_share_is_small() -> None:
    text = "vllm serve nvidia/Gemma-4-26B-A4B-NVFP4 --max-model-len 96000 --max-num-batched-tokens 192000"
    assert failing(f"{text} --gpu-memory-utilization 0.6") == []
    assert "batch-large" in failing(f"{text} --gpu-memory-utilization 0.8")


def test_weights_of_known_size_may_go_without_a_share_up_to_60_percent() -> None:
    assert failing("vllm serve Qwen/Qwen3.6-35B-A3B --max-model-len 32768") == []
    assert failing("vllm serve me/Some-120B-A12B-NVFP4 --max-model-len 32768") == ["utilization-unset-large"]


def test_what_a_page_leaves_out_is_no_broken_json() -> None:
    for value, broken in (('{"a": {"b": 1, ...}}', False), ('{"a": {"b": 1,}}', True)):
        text = f"vllm serve a/B --gpu-memory-utilization 0.8 --hf-overrides '{value}'"
        assert ("not-json" in failing(text)) is broken


def test_a_recipe_of_vllm_project_takes_a_variant_and_the_sparks_that_hold_it() -> None:
    made = {
        "model": {"model_id": "org/Big-120B", "base_args": ["--gpu-memory-utilization", "0.8"]},
        "variants": {
            "default": {"vram_minimum_gb": 298},
            "fp8": {"model_id": "org/Big-120B-FP8", "vram_minimum_gb": 149},
            "nvfp4": {"model_id": "org/Big-120B-NVFP4", "vram_minimum_gb": 75},
        },
    }
    assert cased(yaml.safe_dump(made)).launch.model == "org/Big-120B-NVFP4"
    del made["variants"]["nvfp4"]  # type: ignore[attr-defined]
    one = cased(yaml.safe_dump(made))
    assert (one.launch.model, one.world) == ("org/Big-120B-FP8", 2)
    assert failing(yaml.safe_dump(made)) == []


def test_a_value_that_no_version_takes_is_named_where_the_version_is_not_known() -> None:
    text = "vllm serve a/B --gpu-memory-utilization 0.8 --kv-cache-dtype fp8_e4m4"
    bare = found(text, "flag-value")
    assert bare and bare.fails and "fp8_e4m3" in bare.better
    fork = found(f"docker run --gpus all me/fork {text}", "flag-value")
    assert fork and fork.severity == "note"
    assert found(text.replace("fp8_e4m4", "fp8_e4m3"), "flag-value") is None


def test_the_names_of_parsers_are_all_known_but_for_plugins() -> None:
    text = "docker run --gpus all vllm/vllm-openai:v0.27.1 a/B --tool-call-parser hermse"
    assert "flag-value" in failing(text)
    assert "flag-value" not in failing(f"{text} --tool-parser-plugin /p.py")
    assert "flag-value" not in failing(text.replace("hermse", "hermes"))
    assert "flag-value" not in failing(text.replace("hermse", "'<name>'"))
