"""Models made from the files of public checkpoints (tests/fixtures/checkpoints)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sparkrig.serving.budget import GIB, Use, budget
from sparkrig.serving.checkpoint import files
from sparkrig.serving.checkpoint.config import Config, UnreadableCheckpoint
from sparkrig.serving.io.catalogue_files import catalogue
from sparkrig.serving.model import Full, Layers, Model, Sliding
from tests.tables import data, each_row, table

FOLDER = Path(__file__).parents[2] / "fixtures" / "checkpoints"
EXPECTED = data(Path(__file__).with_name("checkpoints.yaml"))


def text(name: str, file: str = "config.json") -> str:
    path = FOLDER / name.replace("/", "--") / file
    return path.read_text(encoding="utf-8") if path.exists() else ""


def made(id: str, **changed: Any) -> Model:
    index = text(id, "model.safetensors.index.json")
    given = files.Files(text(id), index, text(id, "hf_quant_config.json"))
    return files.read(id, files.Files(**{**given.__dict__, **changed}))


def full(count: int, kv_heads: int, head_dim: int) -> Full:
    return Full(kind="full", count=count, kv_heads=kv_heads, head_dim=head_dim)


def sliding(count: int, kv_heads: int, head_dim: int, window: int) -> Sliding:
    return Sliding(kind="sliding", count=count, kv_heads=kv_heads, head_dim=head_dim, window=window)


# --- shapes


def test_the_shape_of_the_cache() -> None:
    def holds(id: str, row: dict[str, Any]) -> None:
        model = made(id)
        assert model.shape is not None
        layers = [{"kind": each.kind, **each.model_dump(exclude_defaults=True)} for each in model.shape.layers]
        shape = {"layers": layers, "draft": model.shape.draft}
        assert {**shape, "architecture": model.architecture, "context": model.context} == row

    each_row(EXPECTED["shapes"].items(), holds)


# checkpoints here by the catalogue's model of the same shape
SAME = {
    "openai/gpt-oss-120b": "gpt-oss-120b",
    "mistralai/Mixtral-8x7B-v0.1": "mixtral-8x7b",
    "Qwen/Qwen3-30B-A3B": "qwen3-30b-a3b",
    "Qwen/Qwen3-235B-A22B": "qwen3-235b-a22b",
    "Qwen/Qwen3-Next-80B-A3B-Thinking": "qwen3-next-80b-a3b",
    "Qwen/Qwen3.5-35B-A3B": "qwen3.5-35b-a3b",
    "Qwen/Qwen3.5-122B-A10B": "qwen3.5-122b-a10b",
    "Qwen/Qwen3.5-397B-A17B": "qwen3.5-397b-a17b",
    "nvidia/Qwen3.6-27B-NVFP4": "qwen3.6-27b",
    "nvidia/Qwen3.6-35B-A3B-NVFP4": "qwen3.6-35b-a3b",
}


def test_the_catalogue_agrees() -> None:
    known = catalogue().models

    def holds(id: str, name: str) -> None:
        model, kept = made(id), known[name]
        assert model.shape is not None and kept.shape is not None
        assert (model.shape.layers, model.shape.draft) == (kept.shape.layers, kept.shape.draft)
        assert model.architecture == kept.architecture
        assert kept.context in (None, model.context)

    each_row(SAME.items(), holds)


def test_what_the_budget_cannot_compute_is_said_to_be_unknown() -> None:
    model = made("deepseek-ai/DeepSeek-V4-Flash")
    assert model.shape is None
    assert any("compress_ratios" in each for each in model.assumed)
    assert any("expert_dtype" in each for each in model.assumed)
    delta = made("moonshotai/Kimi-K3")
    assert delta.shape is None and delta.architecture == "moe"


# --- formats


def test_what_an_indexer_keeps_for_each_token_of_the_context() -> None:
    expected = {
        "deepseek-ai/DeepSeek-V3.2": 40 * 132,
        "zai-org/GLM-5": 40 * 132,
        "deepseek-ai/DeepSeek-V4-Flash": 40 * 132 // 4,  # a key for four tokens
        "deepseek-ai/DeepSeek-V3": 0,
    }
    each_row(expected.items(), keeps)
    config = json.loads(text("deepseek-ai/DeepSeek-V4-Flash"))
    v41 = json.dumps({**config, "compress_ratios": [0, 1, 2] * 20})  # DeepSeek V4.1: some layers keep each key
    assert files.read("deepseek-ai/DeepSeek-V4.1-Flash", files.Files(v41)).indexer_bytes == 40 * 132


def keeps(id: str, kept: int) -> None:
    assert made(id).indexer_bytes == kept


def test_the_format_of_the_weights() -> None:
    def holds(id: str, kind: str, note: str) -> None:
        (checkpoint,) = made(id).checkpoints
        assert checkpoint.format == kind and note in checkpoint.note

    each_row({id: (id, *row) for id, row in EXPECTED["formats"].items()}, holds)


def test_a_format_that_vllm_does_not_load_never_fits() -> None:
    config = json.loads(text("Qwen/Qwen3-8B"))

    def holds(key: str, told: dict[str, Any], name: str) -> None:
        with pytest.raises(
            UnreadableCheckpoint, match=rf"^its weights are in {name}, which .+ loads and vLLM does not$"
        ):
            files.read("a/b", files.Files(json.dumps({**config, key: told})))

    each_row({name: tuple(row) for name, row in EXPECTED["others"].items()}, holds)


def test_what_is_no_decoder_has_no_kv_cache_and_is_named() -> None:
    def holds(config: dict[str, Any], said: str) -> None:
        sizes = {"model.safetensors": 3 * GIB, "model.fp32-00001-of-00001.safetensors": GIB}
        model = files.read("a/b", files.Files(json.dumps(config), sizes=sizes))
        assert said in model.why and model.shape is None and model.context in config.values()
        assert model.best().weights_gib == 3

    each_row({name: tuple(row.values()) for name, row in EXPECTED["kinds"].items()}, holds)


def test_what_vllm_has_no_class_for_is_refused() -> None:
    def holds(config: dict[str, Any], said: str) -> None:
        with pytest.raises(UnreadableCheckpoint) as refused:
            files.read("a/b", files.Files(json.dumps(config), sizes={"model.safetensors": GIB}))
        assert said in str(refused.value) and refused.value.cure == "sparkrig models"

    each_row({name: tuple(row.values()) for name, row in EXPECTED["unserved"].items()}, holds)


def test_files_that_are_no_model_are_named_with_what_loads_them() -> None:
    def holds(row: dict[str, Any]) -> None:
        adapter = json.dumps(row["adapter"]) if "adapter" in row else ""
        sizes = dict.fromkeys(row["names"], GIB)
        for config in ("", text("Qwen/Qwen3-8B")) if row["cure"] else ("",):  # some have one all the same
            with pytest.raises(UnreadableCheckpoint) as refused:
                files.read(row.get("id", "a/b"), files.Files(config, sizes=sizes, adapter=adapter))
            assert row["said"] in str(refused.value) and refused.value.cure == row["cure"]

    each_row({name: (row,) for name, row in EXPECTED["foreign"].items()}, holds)
    merged = files.Files(
        text("Qwen/Qwen3-8B"), sizes={"model.safetensors": GIB, "adapter_config.json": 9}, adapter="{}"
    )
    assert files.read("a/b", merged).best().weights_gib == 1


def test_weights_of_torch_are_counted_where_there_are_no_others() -> None:
    sizes = {"pytorch_model-00001-of-00001.bin": 2 * GIB, "training_args.bin": GIB}
    assert made("Qwen/Qwen3-8B", index="", sizes=sizes).best().weights_gib == 2
    assert made("Qwen/Qwen3-8B", index="", sizes={**sizes, "x.safetensors": GIB}).best().weights_gib == 1


def test_methods_of_quantization() -> None:
    config = json.loads(text("Qwen/Qwen3-8B"))

    def holds(told: dict[str, Any], kind: str) -> None:
        model = files.read("a/b", files.Files(json.dumps({**config, "quantization_config": told})))
        assert model.best().format == kind
        assert any("is not known" in each for each in model.assumed) == (kind == "unknown")

    each_row({name: (row["config"], row["format"]) for name, row in EXPECTED["methods"].items()}, holds)


# --- sizes, and what is in the weights


def test_the_size_is_that_of_the_files_else_the_index_s() -> None:
    id, index = "openai/gpt-oss-120b", text("openai/gpt-oss-120b", "model.safetensors.index.json")
    assert made(id).best().weights_gib == pytest.approx(65248815744 / GIB, abs=0.01)
    assert any("the index's total_size" in each for each in made(id).assumed)
    whole = {"model-00000-of-00014.safetensors": 3 * GIB, "consolidated.safetensors": GIB, "x.safetensors": GIB}
    assert made(id, sizes=whole).best().weights_gib == 3  # of these, the index names the first alone
    assert made(id, index="", sizes=whole).best().weights_gib == 4
    unknown = made(id, index="")
    assert unknown.best().weights_gib is None
    assert any("neither the files of the weights nor an index" in each for each in unknown.assumed)
    bare = json.dumps({"weight_map": json.loads(index)["weight_map"]})
    assert any(
        "1 of 1 files of weights are not there" in each
        for each in made(id, index=bare, sizes={"x.safetensors": 1}).assumed
    )


def test_whether_the_draft_s_weights_are_there() -> None:
    assert made("deepseek-ai/DeepSeek-V3").best().draft is True  # a layer beyond the last
    assert made("stepfun-ai/Step-3.7-Flash-NVFP4").best().draft is False
    assert made("zai-org/GLM-4.5-Air").best().draft is None
    index = json.dumps({"weight_map": {"mtp.layers.0.norm.weight": "m.safetensors"}})
    assert made("Qwen/Qwen3.5-122B-A10B", index=index).best().draft is True


def test_how_many_sparks_it_takes() -> None:
    assert made("openai/gpt-oss-120b").nodes == 1
    assert made("meta-llama/Llama-3.3-70B-Instruct").nodes == 2
    huge = made("deepseek-ai/DeepSeek-V3")
    assert budget(huge, huge.best(), Use(nodes=2)).fit == "no"


def test_which_layers_slide() -> None:
    def holds(values: dict[str, Any], layers: tuple[Layers, ...]) -> None:
        model = files.read("a/b", files.Files(changed(**values)))
        assert model.shape is not None and model.shape.layers == layers

    window = {"sliding_window": 4096, "use_sliding_window": None}
    some = (full(6, 8, 128), sliding(30, 8, 128, 4096))
    rows: dict[str, tuple[dict[str, Any], tuple[Layers, ...]]] = {
        "none, by Qwen2's switch": ({**window, "use_sliding_window": False}, (full(36, 8, 128),)),
        "those behind a number of Qwen2's": ({**window, "use_sliding_window": True, "max_window_layers": 6}, some),
        "all of Mistral's first": ({**window, "model_type": "mistral"}, (sliding(36, 8, 128, 4096),)),
        "five in six of Gemma 3's": ({**window, "model_type": "gemma3_text"}, some),
        "by a pattern": ({**window, "sliding_window_pattern": 6}, some),
        "chunks of Llama 4's": (
            {"model_type": "llama4_text", "attention_chunk_size": 8192},
            (full(9, 8, 128), sliding(27, 8, 128, 8192)),
        ),
        "not those that share": ({"num_kv_shared_layers": 6}, (full(30, 8, 128),)),
    }
    each_row(rows, holds)


# --- what cannot stand


def changed(**values: Any) -> str:
    return json.dumps({**json.loads(text("Qwen/Qwen3-8B")), **values})


HOSTILE = {
    "nothing": ("", "a/b has no config.json"),
    "no JSON": ("{", "config.json is no JSON"),
    "a list": ("[]", "an object with fields expected"),
    "too deep": ("[" * 50, "nests deeper than 32 levels"),
    "too long": ('{"a": "' + "x" * 4_200_000 + '"}', "at most 4,194,304 expected"),
    "a huge number": ('{"num_hidden_layers": ' + "9" * 30 + "}", "a number of 30 digits"),
    "half a pair": (r'{"model_type": "\ud800"}', "half of a surrogate pair"),
    "no layers": ("{}", "no num_hidden_layers"),
    "too many layers": (changed(num_hidden_layers=100_000), "100,000 layers, at most 1,000"),
    "a text": (changed(num_key_value_heads="8"), "num_key_value_heads of config.json is no whole number"),
    "below zero": (changed(hidden_size=-1), "hidden_size of config.json is no whole number"),
    "a switch": (changed(num_attention_heads=True), "num_attention_heads of config.json is no whole number"),
    "too few kinds": (changed(layer_types=["full_attention"]), "layer_types of config.json has 1 entries for 36"),
    "too few letters": (changed(hybrid_override_pattern="M-"), "has 2 entries for 36 layers"),
}


def test_what_cannot_stand_is_refused_in_one_sentence() -> None:
    def holds(config: str, said: str) -> None:
        with pytest.raises(UnreadableCheckpoint) as refused:
            files.read("a/b", files.Files(config))
        assert said in str(refused.value) and "\n" not in str(refused.value)

    each_row(HOSTILE, holds)


def test_a_name_that_is_none_is_refused() -> None:
    for id in ("qwen3", "a/b/c", "../x", "a/..", "a/b\n"):
        with pytest.raises(UnreadableCheckpoint, match="is no OWNER/NAME"):
            files.read(id, files.Files(text("Qwen/Qwen3-8B")))


def test_unknown_kinds_of_layers_are_not_guessed() -> None:
    types, letters = (
        {"layer_types": ["full_attention", "tomorrow_attention"] * 18},
        {"hybrid_override_pattern": "M?" * 18},
    )
    for odd in (types, letters):
        model = files.read("a/b", files.Files(changed(**odd), sizes={"m.safetensors": GIB}))
        assert model.shape is None
        assert any("a kind of layer that the budget does not compute" in each for each in model.assumed)


def test_what_a_config_leaves_out_is_a_sentence() -> None:
    def holds(values: dict[str, Any], said: str) -> None:
        assert any(said in each for each in files.read("a/b", files.Files(changed(**values))).assumed)

    each_row(table(__file__, "what a config leaves out is a sentence"), holds)


def test_rope_scaling_counts_as_vllm_counts_it() -> None:
    def holds(rope: dict[str, Any], context: int) -> None:
        assert files.read("a/b", files.Files(changed(rope_scaling=rope))).context == context

    each_row(table(__file__, "rope scaling counts as vllm counts it"), holds)


def test_numbers_without_an_end_are_no_numbers() -> None:
    """Nemotron-H's time_step_limit ends at Infinity in one release and at 1e308 in another."""
    for endless in ("Infinity", "-Infinity", "NaN", "1e308"):
        config = changed().rstrip("}") + f', "time_step_limit": [0.0, {endless}]' + "}"
        assert Config.of(config).values["time_step_limit"] == [0.0, None]
