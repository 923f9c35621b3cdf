"""Recipes of others: what is read of each format, what becomes of it here, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from sparkrig.refusal import Refusal
from sparkrig.serving import launch_text, plan, recipe, recipe_launch, service_settings
from sparkrig.serving.io import recipe_file
from sparkrig.serving.launch import Unreadable
from sparkrig.serving.model import IMAGE
from sparkrig.serving.recipe import Recipe
from sparkrig.serving.wish import Wish
from tests.tables import each_row, table
from tests.unit.recipes import v2
from tests.unit.servings import CATALOGUE, LONE, made, mine

FOLDER = Path(__file__).parents[2] / "fixtures" / "recipes"
EUGR, SPARKRUN, PROJECT = FOLDER / "eugr-v1.yaml", FOLDER / "sparkrun-v2.yaml", FOLDER / "vllm-project.yaml"


def changed(file: Path, **values: Any) -> str:
    """The text of a recipe with other fields; None takes one out."""
    document = {**yaml.safe_load(file.read_text()), **values}
    return yaml.safe_dump({name: value for name, value in document.items() if value is not None})


def served(found: Recipe, sparks: int = 2, **data: Any) -> Wish:
    return plan.wish(CATALOGUE.find, mine(**data), sparks, found)


# --- each format


def test_eugr_s_recipe_for_a_pair() -> None:
    wish = served(recipe_file.read(str(EUGR)))
    assert (wish.checkpoint.id, wish.nodes, wish.image) == ("openai/gpt-oss-120b", 2, "vllm-node")
    assert wish.environment == {"VLLM_MARLIN_USE_ATOMIC_ADD": "1"}
    # host, port and backend are this deploy's own; the value of tensor_parallel is the number of Sparks
    assert wish.flags == {
        "tool-call-parser": "openai",
        "enable-auto-tool-choice": True,
        "tensor-parallel-size": 2,
        "gpu-memory-utilization": "0.7",
        "max-model-len": "131072",
        "max-num-batched-tokens": "8192",
        "hf-overrides": '{"a":{"b":2}}',
        "load-format": "fastsafetensors",
    }
    assert wish.notes == (
        "recipe OpenAI GPT-OSS 120B: its image is built with --exp-mxfp4, which is not done here",
        "vllm-node of recipe OpenAI GPT-OSS 120B is in no registry: it has to be on the first host already",
    )


def test_eugr_s_recipe_for_a_lone_spark_is_one_of_one() -> None:
    wish = served(recipe_file.read(str(EUGR)), sparks=1)
    assert wish.nodes == 1 and wish.flags["tensor-parallel-size"] == 1
    assert wish.flags["hf-overrides"] == '{"a":{"b":1}}'


def test_sparkrun_s_recipe_names_its_model_at_the_top_alone() -> None:
    wish = served(recipe_file.read(str(SPARKRUN)))
    assert (wish.checkpoint.id, wish.nodes) == ("Qwen/Qwen3.6-35B-A3B-FP8", 1)
    assert wish.image == "ghcr.io/spark-arena/dgx-vllm-eugr-nightly:latest"
    assert wish.flags["speculative-config"] == '{"method":"mtp","num_speculative_tokens":2}'
    assert wish.flags["kv-cache-dtype"] == "fp8" and wish.flags["trust-remote-code"] is True
    assert not {"host", "port"} & set(wish.flags) and wish.notes == ()


def test_sparkrun_s_recipe_without_a_command_is_made_of_its_defaults() -> None:
    text = changed(
        SPARKRUN, command=None, defaults={"tensor_parallel": 2, "enforce_eager": True, "dtype": "auto", "x": False}
    )
    wish = served(recipe_launch.read(text))
    assert wish.nodes == 2
    family = {"enable-auto-tool-choice": True, "reasoning-parser": "qwen3", "tool-call-parser": "qwen3_coder"}
    assert wish.flags == {"tensor-parallel-size": 2, "enforce-eager": True, "dtype": "auto", **family}


def test_the_project_s_recipe_is_joined_of_its_parts() -> None:
    wish = served(recipe_file.read(str(PROJECT)))
    assert (wish.checkpoint.id, wish.nodes, wish.image) == (
        "nvidia/Qwen3.6-35B-A3B-NVFP4",
        1,
        "vllm/vllm-openai:v0.28.0",
    )
    assert wish.flags == {
        "trust-remote-code": True,
        "compilation-config": '{"mode":3,"pass_config":{"fuse":true}}',  # of all NVIDIA cards
        "async-scheduling": True,  # of the generation, and what a Spark has comes on top
        "kv-cache-dtype": "fp8",
        "gpu-memory-utilization": "0.5",
        "max-model-len": "262144",
        "enable-auto-tool-choice": True,
        "tool-call-parser": "qwen3_coder",
        "reasoning-parser": "qwen3",
    }
    assert wish.environment == {"A_BASE": "1", "B_OF_VARIANT": "2"}
    told = " ".join(wish.notes)
    assert "the variant is nvfp4; there are also default, fp8 (recipe=FILE#VARIANT)" in told
    assert "more installed in the image, which is not done here: DeepGEMM" in told
    assert "did not verify" not in told


def test_a_variant_may_be_named() -> None:
    wish = served(recipe_file.read(f"{PROJECT}#fp8"))
    assert wish.checkpoint.id == "Qwen/Qwen3.6-35B-A3B-FP8" and wish.image == IMAGE
    assert wish.flags["compilation-config"] == '{"mode":3,"pass_config":{"fuse":true}}'  # of all NVIDIA cards
    with pytest.raises(Refusal, match="no variant int4: default, fp8, nvfp4"):
        recipe_file.read(f"{PROJECT}#int4")
    with pytest.raises(Refusal, match="has no variants, and fp8 is asked for"):
        recipe_file.read(f"{EUGR}#fp8")
    unseen = recipe_launch.read(changed(PROJECT, meta={}))
    assert any("did not verify it on a Spark" in each for each in unseen.told)


def test_settings_win_over_a_recipe() -> None:
    found = recipe_file.read(str(EUGR))
    wish = served(
        found, serve_image="mine:1", serve_nodes=1, serve_flags={"max-model-len": 4096, "load-format": False}
    )
    assert wish.image == "mine:1" and wish.nodes == 1 and wish.flags["max-model-len"] == 4096
    assert "--load-format" not in wish.words
    assert not any("in no registry" in each for each in wish.notes)
    assert served(found, model="gpt-oss-120b").checkpoint.id == "openai/gpt-oss-120b"


def test_its_words_reach_the_unit() -> None:
    text = made(served(recipe_file.read(str(SPARKRUN)), sparks=1), LONE)[
        "/etc/systemd/system/sparkrig-serve.service"
    ]
    assert r'"{\"method\":\"mtp\",\"num_speculative_tokens\":2}"' in text
    assert "--trust-remote-code" in text and "0.0.0.0" not in text


# --- what is refused


def test_a_builder_is_no_obstacle_where_a_registry_has_the_image() -> None:
    found = recipe_launch.read(v2(builder="eugr", container="ghcr.io/spark-arena/vllm:1"))
    assert (found.steps, found.image) == ((), "ghcr.io/spark-arena/vllm:1")
    assert "its builder eugr is not run: the image is pulled" in found.told


def test_a_name_on_a_host_is_pulled_from_a_registry_where_its_makers_put_it() -> None:
    def image(**values: Any) -> str:
        return served(recipe_launch.read(v2(**values))).image

    standard, b12x = image(container="vllm-node"), image(container="vllm-node-b12x", build_args=["--exp-b12x"])
    assert standard.startswith("eugr/spark-vllm@sha256:") and b12x.startswith("eugr/spark-vllm-b12x@sha256:")
    assert image(container="vllm-node-tf5", build_args=["--tf5"], builder="eugr") == standard
    # a build of its own is none that a registry has
    assert image(container="vllm-node", build_args=["--vllm-ref", "abc"]) == "vllm-node"
    assert image(container="vllm-node-mxfp4", builder="eugr") == "vllm-node-mxfp4"
    told = served(recipe_launch.read(v2(container="vllm-node"))).notes
    assert any("serve_image=vllm-node takes the host's own" in each for each in told)
    own = served(recipe_launch.read(v2(container="vllm-node")), serve_image="vllm-node")
    assert own.image == "vllm-node" and not own.notes


def test_what_runs_once_the_server_answers_is_left_out_and_said() -> None:
    found = recipe_launch.read(v2(post_exec=["curl x"], post_commands=["curl x | sh"]))
    assert [each.split(",")[0] for each in found.told] == ["its post_exec", "its post_commands"]


def test_a_draft_model_comes_with_the_recipe() -> None:
    drafted = """vllm serve {model} --speculative-config '{"method":"dflash","model":"z-lab/D","n":7}'"""
    wish = served(recipe_launch.read(v2(command=drafted)))
    assert wish.draft == "z-lab/D" and wish.ids == (wish.checkpoint.id, "z-lab/D")
    assert wish.flags["speculative-config"] == '{"method":"dflash","model":"/models/z-lab/D","n":7}'
    folder = v2(command=drafted.replace("z-lab/D", "/drafter"), draft_model="z-lab/E")
    assert served(recipe_launch.read(folder)).draft == "z-lab/E"
    other = served(recipe_launch.read(folder), serve_draft="a/F")
    assert other.draft == "a/F" and other.flags["speculative-config"] == {
        "num_speculative_tokens": 3,
        "method": "dflash",
        "model": "/models/a/F",
        "n": 7,
    }
    none = served(recipe_launch.read(folder), serve_draft="none")
    assert none.draft == "" and "speculative-config" not in none.flags
    head = served(recipe_launch.read(v2(command="""vllm serve {model} -sc '{"method":"mtp","model":"ngram"}'""")))
    assert head.draft == ""


def test_a_draft_model_of_sglang_comes_with_the_recipe() -> None:
    command = "sglang serve --model-path {model} --tp-size 2 --speculative-draft-model-path a/D"
    wish = served(recipe_launch.read(v2(command=command, container="lmsysorg/sglang:x")), sparks=1)
    assert (wish.draft, wish.flags["tensor-parallel-size"]) == ("a/D", 1)
    assert wish.flags["speculative-draft-model-path"] == "/models/a/D"


def test_a_model_in_a_folder_of_its_author_s_is_the_one_that_is_named() -> None:
    assert served(recipe_launch.read(v2(command="vllm serve /model"))).checkpoint.id == "openai/gpt-oss-120b"
    cached = "vllm serve /cache/hub/models--openai--gpt-oss-120b/snapshots/1"
    assert served(recipe_launch.read(v2(command=cached))).checkpoint.id == "openai/gpt-oss-120b"


def test_a_commit_of_the_model_is_the_one_that_is_served() -> None:
    pinned, branch = "9e" * 20, "main"
    for told, wanted in ((pinned, pinned), (branch, None)):
        found = recipe_launch.read(v2(model_revision=told))
        assert service_settings.of_engine(mine(), found).serve_revision == wanted
    found = recipe_launch.read(v2(model_revision=pinned))
    assert service_settings.of_engine(mine(serve_revision="ab" * 20), found).serve_revision == "ab" * 20


def test_a_size_that_is_written_into_the_command_is_that_many_sparks() -> None:
    found = recipe_launch.read(v2(command="vllm serve {model} -tp 2"))
    wishes = [served(found, sparks=sparks) for sparks in (1, 2)]
    assert [(wish.nodes, wish.flags["tensor-parallel-size"]) for wish in wishes] == [(1, 1), (2, 2)]


def test_one_way_of_several_is_taken_of_a_feature() -> None:
    modes = {
        "dspark": {"args": ["--a", "1"], "variants": ["other"]},
        "mtp": {"args": ["--b", "1"], "hardware_overrides": {"blackwell": {"args": ["--b", "2"]}}},
        "dflash": {"args": ["--c", "1"]},
    }
    document = yaml.safe_load(PROJECT.read_text())
    document["features"] = {"spec": {"default_mode": "mtp", "modes": modes}}

    def flags(**values: Any) -> dict[str, Any]:
        document["variants"]["nvfp4"] |= values
        return dict(served(recipe_launch.read(yaml.safe_dump({**document, **left_out}))).flags)

    left_out: dict[str, Any] = {"opt_in_features": []}
    assert flags()["b"] == "2" and not {"a", "c"} & flags().keys()
    left_out = {"opt_in_features": ["spec"]}
    assert "b" not in flags()
    assert flags(default_modes={"spec": "dflash"})["c"] == "1"


def test_a_file_that_cannot_be_served_is_one_sentence() -> None:
    def holds(said: str, text: str = "", recipe: dict[str, Any] | None = None) -> None:
        with pytest.raises(Refusal) as refused:
            recipe_launch.read(text or v2(**recipe or {}))
        assert said in refused.value.what and len(refused.value.what.splitlines()) == 1 and refused.value.cure

    each_row(table(__file__, "a file that cannot be served is one sentence"), holds)
    holds("at most 262,144 expected", "#" * 300_000)
    twice = {"dtype": "{a}{a}" * 500, "a": "{dtype}{dtype}"}
    holds("is longer than 10,000 characters", v2(defaults=twice))


def test_a_recipe_that_cannot_be_served_is_one_sentence() -> None:
    def holds(said: str, recipe: dict[str, Any], data: dict[str, Any] | None = None) -> None:
        with pytest.raises(Refusal) as refused:
            served(recipe_launch.read(v2(**recipe)), **data or {})
        assert said in refused.value.what and len(refused.value.what.splitlines()) == 1 and refused.value.cure

    each_row(table(__file__, "a recipe that cannot be served is one sentence"), holds)


def test_what_is_left_out_by_a_setting_does_not_matter() -> None:
    text = v2(command='vllm serve {model} --speculative-config \'{"model":"z/y"}\'')
    assert (
        "speculative-config"
        not in served(recipe_launch.read(text), serve_flags={"speculative-config": False}).words
    )


def test_an_unknown_checkpoint_says_how_to_make_it_known() -> None:
    with pytest.raises(Refusal) as refused:
        served(recipe_launch.read(v2(model="someone/new")))
    assert "sparkrig models show someone/new --save" in refused.value.cure


def test_a_pair_is_asked_for_where_a_recipe_is_for_two_alone() -> None:
    found = recipe_launch.read(v2(cluster_only=True))
    assert served(found).nodes == 2
    with pytest.raises(Refusal, match="is for 2 Sparks, and this one is on its own"):
        served(found, sparks=1)
    assert served(recipe_launch.read(v2(min_nodes=2, max_nodes=4))).nodes == 2


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=r"none\.yaml cannot be read: no such file"):
        recipe_file.read(str(tmp_path / "none.yaml"))
    (tmp_path / "x.yaml").write_bytes(b"\xff")
    with pytest.raises(Refusal, match="is no text in UTF-8"):
        recipe_file.read(str(tmp_path / "x.yaml"))


# --- for the lint


def test_the_lint_reads_each_format() -> None:
    def holds(file: Path, model: str) -> None:
        (found,) = launch_text.read(file.read_text())
        assert (found.model, found.wrapper) == (model, "recipe")

    rows = {
        "eugr's": (EUGR, "openai/gpt-oss-120b"),
        "sparkrun's": (SPARKRUN, "Qwen/Qwen3.6-35B-A3B-FP8"),
        "the project's": (PROJECT, "nvidia/Qwen3.6-35B-A3B-NVFP4"),
    }
    each_row(rows, holds)


def test_the_lint_names_another_engine() -> None:
    for command, engine in (
        ("sglang serve --model-path {model}", "sglang"),
        ("llama-server -hf {model}", "llama.cpp"),
    ):
        (found,) = launch_text.read(v2(command=command))
        assert (found.engine, found.wrapper) == (engine, "recipe") and "/" in found.model
    (found,) = launch_text.read(v2(runtime="sglang", container="lmsysorg/sglang"))
    assert found.engine == "sglang" and found.container is not None and not found.container.whole


def test_a_recipe_for_an_engine_that_is_not_known_is_not_read_as_vllm_s() -> None:
    """deepseek-v4-flash-0731-ds4.yaml of [@styles01], shortened: its server is ds4-serve."""
    text = (
        "recipe_version: '4'\nmodel: ~/gguf/DeepSeek-V4-Flash-IQ2XXS-0731.gguf\nruntime: ds4-cuda\n"
        "defaults: {port: 8000, context: 196608}\nlaunch: ds4-serve -c 196608 --port 8000\n"
    )
    with pytest.raises(Unreadable, match="for ds4-cuda, which is no engine that is known"):
        launch_text.read(text)
    for runtime in ("vllm-ray", "eugr-vllm", "vllm-distributed"):
        (found,) = launch_text.read(text.replace("ds4-cuda", runtime))
        assert found.engine == "vllm"


def test_a_file_of_flags_is_no_recipe() -> None:
    assert not recipe.is_one({"model": "a/b", "tensor-parallel-size": 2})
    assert recipe.is_one({"model": "a/b", "runtime": "vllm"})


def test_what_a_command_sets_for_itself_is_handed_on_and_a_container_of_its_own_is_not_run() -> None:
    head = "recipe_version: '1'\nname: x\ncontainer: image:1\nmodel: openai/gpt-oss-20b\n"

    def launched(command: str, container: str = "image:1") -> Any:
        text = head.replace("image:1", container) + f"command: |\n  {command}\n"
        return recipe_launch.launched(recipe_launch.read(text), 1, mine())

    served = "vllm serve openai/gpt-oss-20b --max-model-len 4096"
    assert launched(f"VLLM_USE_V1=1 {served}").environment == {"VLLM_USE_V1": "1"}
    assert launched(f"export VLLM_USE_V1=1\n  {served}").environment == {"VLLM_USE_V1": "1"}
    with pytest.raises(Refusal, match="starts a container of its own"):
        launched(f"docker run --privileged -e X=1 other/img:1 {served}")
    for image in ("--privileged", "$(id)", "'-v /:/h'"):
        with pytest.raises(Refusal, match="is no name of an image"):
            launched(served, container=image)


def test_a_recipe_that_grows_without_end_is_refused_soon() -> None:
    head = "recipe_version: '1'\nname: x\ncontainer: i:1\nmodel: a/b\n"
    for text in (
        f"{head}command: vllm serve a/b {'{a}' * 60_000}\ndefaults: {{a: {'y' * 9999}}}\n",
        f"{head}command: vllm serve a/b {{x}}\ndefaults: {{x: 0x{'f' * 9000}}}\n",
        f"{head}command: vllm serve a/b\nmin_nodes: 0x{'f' * 9000}\nmax_nodes: 0x{'f' * 9000}\ndefaults: {{}}\n",
    ):
        try:
            found = recipe_launch.read(text)
            recipe_launch.sparks(found, mine(), 2)
            recipe_launch.launched(found, 1, mine())
        except Refusal as refusal:
            assert len(refusal.what) < 300
