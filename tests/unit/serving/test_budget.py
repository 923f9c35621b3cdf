"""The memory budget, beside what vLLM itself logged for models of a known shape."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from sparkrig.serving.budget import GIB, GRAPHS_GIB, MEMORY_GIB, Use, budget, fewest_nodes, overhead, page
from sparkrig.serving.io.catalogue_files import catalogue
from sparkrig.serving.model import Format, Full, Layers, Model, Recurrent, Shape, Sliding
from tests.tables import each_row, table
from tests.unit.servings import model_of

KNOWN = catalogue().models


def shaped(*layers: Layers, draft: int = 0) -> Shape:
    return Shape(layers=layers, draft=draft, source="a test")


def full(count: int, kv_heads: int, head_dim: int) -> Full:
    return Full(kind="full", count=count, kv_heads=kv_heads, head_dim=head_dim)


def deltanet(count: int, value_heads: int) -> Recurrent:
    """Gated DeltaNet as Qwen has it: 16 key heads, all heads of 128."""
    return Recurrent(
        kind="recurrent", count=count, state=value_heads * 128 * 128, channels=2 * 16 * 128 + value_heads * 128
    )


def sliding(count: int, kv_heads: int, head_dim: int, window: int) -> Sliding:
    return Sliding(kind="sliding", count=count, kv_heads=kv_heads, head_dim=head_dim, window=window)


QWEN_122B = shaped(full(12, 2, 256), deltanet(36, 64), draft=1)
QWEN_35B = shaped(full(10, 2, 256), deltanet(30, 32), draft=1)
QWEN_27B = shaped(full(16, 4, 256), deltanet(48, 48), draft=1)
MINIMAX = shaped(full(62, 8, 128))


@dataclass(frozen=True)
class Logged:
    """What vLLM said. gib: its `Available KV cache memory`; within: how near we have to come.

    What a log does not tell of its setting was inferred from the match (docs/models.md).
    """

    shape: Shape
    use: Use
    gib: float
    tokens: int | None = None
    sequences: float | None = None
    within: float = 0.0


LOGGED = {
    "[@docai-122b], vLLM 0.19.2": Logged(
        QWEN_122B, Use(context=131072, drafted=2), 30.33, tokens=595_584, sequences=12.89, within=0.05
    ),
    "[@eugr-200], a Spark, vLLM of 2026-04-29": Logged(
        QWEN_35B, Use(context=65536, drafted=2), 52.66, tokens=1_253_392
    ),
    "[@club-3090-612], vLLM 0.24.0": Logged(QWEN_35B, Use(context=131072), 5.98, sequences=567_978 / 131072),
    "adadrag's README, vLLM 0.16": Logged(
        QWEN_35B, Use(context=131072, kv="bf16", prefix_caching=False), 28.6, tokens=374_000, within=0.001
    ),
    "[@eugr-396], a pair, vLLM 0.29.1": Logged(
        MINIMAX, Use(context=196608, kv="bf16", nodes=2), 28.74, tokens=240_816, sequences=1.22, within=0.02
    ),
}


def test_the_cache_holds_what_vllm_said() -> None:
    def holds(logged: Logged) -> None:
        paging = page(logged.shape, logged.use)
        if logged.tokens:
            assert paging.tokens(logged.gib) == pytest.approx(logged.tokens, rel=logged.within)
        if logged.sequences:
            assert paging.sequences(logged.gib) == pytest.approx(logged.sequences, rel=logged.within or 1e-5)

    each_row(LOGGED, holds)


def test_blocks_are_as_long_as_vllm_made_them() -> None:
    pair = page(QWEN_35B, Use(nodes=2, drafted=2))
    assert pair.block_tokens == 2128, "Setting attention block size to ... tokens [@eugr-237]"
    paging = page(QWEN_27B, Use(context=32768, kv="bf16", prefix_caching=False))
    assert 290_864 % paging.block_tokens == 0, "[@vllm-40691] logged whole blocks"
    blocks = 290_864 // paging.block_tokens * paging.groups + 3  # what vLLM rounded off
    assert blocks / paging.sequence_blocks == pytest.approx(33.04, abs=0.005)


def test_one_sequence_takes_what_vllm_said() -> None:
    paging = page(MINIMAX, LOGGED["[@eugr-396], a pair, vLLM 0.29.1"].use)
    assert paging.sequence_blocks * paging.block_bytes / GIB == 23.25


def test_the_article_s_budget_comes_out_of_the_catalogue() -> None:
    """[@docai-122b]: 121.7 x 0.90 leaves 30.33 GiB beside 76.02 GiB of weights, which hold 595,584 tokens."""
    model = KNOWN["qwen3.5-122b-a10b"]
    made = budget(model, model.best(), Use(context=131072, sequences=4, utilization=0.90, drafted=2))
    assert model.shape is not None and model.shape.layers == QWEN_122B.layers
    assert made.weights == 76.02
    assert made.kv == pytest.approx(30.33, rel=0.10)
    assert made.tokens == pytest.approx(595_584, rel=0.10)
    assert made.sequences == pytest.approx(12.89, rel=0.10)
    assert made.fit == "fits"
    parts = (made.weights or 0) + (made.kv or 0) + made.graphs + made.non_torch + made.activations
    assert parts == pytest.approx(made.share) == pytest.approx(MEMORY_GIB * 0.90)
    assert any("3 GiB off" in each for each in made.assumed)


def test_pages() -> None:
    def holds(shape: str | list[Any], use: dict[str, Any], **expected: int) -> None:
        whole = Shape.model_validate({"layers": shape, "source": "a test"}) if isinstance(shape, list) else None
        made = page(whole or globals()[str(shape)], Use(**use))
        assert {name: getattr(made, name) for name in expected} == expected

    each_row(table(__file__, "pages"), holds)


def test_a_draft_adds_its_layers_and_lengthens_the_state() -> None:
    without, with_two = page(QWEN_122B, Use()), page(QWEN_122B, Use(drafted=2))
    assert with_two.block_bytes / with_two.block_tokens == 13 * 1024
    assert without.block_bytes / without.block_tokens == 12 * 1024
    assert with_two.sequence_blocks - without.sequence_blocks == 3 * 2


def test_a_draft_is_of_layers_that_attend_to_all_tokens() -> None:
    turned = shaped(deltanet(36, 64), full(12, 2, 256), draft=1)
    assert page(turned, Use(drafted=2)) == page(QWEN_122B, Use(drafted=2))
    alone = shaped(deltanet(36, 64), draft=1)
    assert page(alone, Use(drafted=2)).block_bytes == 36 * (64 * 128 * 128 * 4 + 12288 * 5 * 2)


def test_a_smaller_spark() -> None:
    model = KNOWN["qwen3.5-122b-a10b"]
    assert fewest_nodes(model, model.best(), Use(memory=60)) == 2
    assert budget(model, model.best(), Use(memory=60)).share == pytest.approx(51)


def some(gib: float | None, shape: Shape | None = MINIMAX, format: Format = "nvfp4") -> Model:
    return model_of(gib, shape, format)


def test_how_many_sparks_it_takes() -> None:
    def holds(use: dict[str, Any], nodes: int | None, fit: str, **given: Any) -> None:
        model = some(**given)
        assert fewest_nodes(model, model.best(), Use(**use)) == nodes
        assert budget(model, model.best(), Use(**use)).fit == fit

    each_row(table(__file__, "how many sparks it takes"), holds)


def test_what_is_not_known_is_said() -> None:
    unknown = some(None, None, "gguf")
    made = budget(unknown, unknown.best(), Use())
    assert (made.weights, made.kv, made.needed, made.tokens, made.sequences) == (None,) * 5
    assert "no source says how large the weights are" in made.assumed
    assert "the shape of the model is not known, so the KV cache is not" in made.assumed
    guessed = budget(some(None), some(None).best(), Use())
    assert guessed.estimated and guessed.weights == pytest.approx(100e9 * 4.5 / 8 / GIB)
    assert not budget(some(60), some(60).best(), Use()).estimated


def test_a_node_of_a_pair_holds_what_the_article_measured() -> None:
    """118 GB are 57.64 GiB a node [@conselara-benchmarks, @conselara-hardware]; the rule comes to the same."""
    model = KNOWN["qwen3-235b-a22b"]
    measured, computed = model.best(), model.best().model_copy(update={"resident_gib": {}})
    pair = Use(nodes=2)
    assert budget(model, measured, pair).weights == 57.64
    assert budget(model, computed, pair).weights == pytest.approx(57.64, rel=0.02)


def test_more_of_anything_never_fits_better() -> None:
    def holds(name: str) -> None:
        model, use = KNOWN[name], Use()
        held = budget(model, model.best(), use).sequences or 0.0
        worse = ({"context": 131072}, {"utilization": 0.7}, {"kv": "bf16"}, {"drafted": 3}, {"step": 32768})
        for change in worse:
            assert (budget(model, model.best(), replace(use, **change)).sequences or 0.0) <= held, change
        assert budget(model, model.best(), use).graphs == GRAPHS_GIB

    each_row([*KNOWN], holds)


def test_what_vllm_takes_beside_weights_and_cache() -> None:
    one = overhead(Use(step=8192), 2048)
    assert overhead(Use(step=8192, graphs=False), 2048).total == pytest.approx(one.total - GRAPHS_GIB)
    assert overhead(Use(step=16384), 2048).activations == pytest.approx(2 * one.activations)
    assert overhead(Use(step=8192), 4096).activations == pytest.approx(2 * one.activations)
    pair = overhead(Use(step=8192, nodes=2), 2048)
    assert pair.non_torch > one.non_torch and pair.activations < one.activations
    assert overhead(Use(step=8192, nodes=4), 2048).non_torch > pair.non_torch


def test_an_indexer_s_workspace_is_of_the_context_and_whole_on_each_node() -> None:
    """5,281,048,576 bytes at 1,000,000 tokens, 1 MiB of it something else [@mia-exl3-86]."""
    for nodes in (1, 2, 4):
        use = Use(context=1_000_000, nodes=nodes)
        more = overhead(use, 4096, 5280).activations - overhead(use, 4096).activations
        assert more * GIB == pytest.approx(5_281_048_576 - 2**20)
    sparse = some(60).model_copy(update={"indexer_bytes": 5280})
    made, dense = (budget(each, each.best(), Use(context=131072)) for each in (sparse, some(60)))
    assert made.kv is not None and dense.kv is not None
    assert dense.kv - made.kv == pytest.approx(5280 * 131072 / GIB)
    assert any("5280 bytes for each token" in each for each in made.assumed)
    assert not any("indexer" in each for each in dense.assumed)


def test_a_hidden_size_that_is_not_known_is_said() -> None:
    assert any("4096 is assumed" in each for each in budget(some(60), some(60).best(), Use()).assumed)
    known = KNOWN["qwen3.5-122b-a10b"]
    assert not any("is assumed" in each for each in budget(known, known.best(), Use()).assumed)
