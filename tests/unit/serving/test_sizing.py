"""How much of the memory a server takes, and how long its sequences may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from sparkrig.files import Found
from sparkrig.refusal import Refusal
from sparkrig.serving import arguments, last_deploy, plan, sizing, unit_files
from sparkrig.serving.budget import Use, budget
from sparkrig.serving.served import Memory, Service, Serving
from sparkrig.serving.sizing import Beside, Room
from sparkrig.serving.wish import Sizing, Wish
from sparkrig.settings import Settings
from tests.tables import each_row, table
from tests.unit.servings import CATALOGUE, asked, mine

TOTAL = 121.6


def decided(free: float, model: str = "gpt-oss-120b", others: tuple[str, ...] = (), **flags: Any) -> Sizing:
    data: dict[str, Any] = {"serve_flags": {name.replace("_", "-"): value for name, value in flags.items()}}
    wish = asked(model, serve_image="image:1", **data)
    return plan.size(wish, mine(model=model, **data), Room(TOTAL, free, others=others))


def refused(*given: Any, **flags: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        decided(*given, **flags)
    return caught.value


def test_every_model_that_fits_gets_both_flags_and_passes_vllms_own_check() -> None:
    """With what is free at the start of a Spark: 101 to 111 GiB, and 116 without a desktop."""

    def holds(id: str, sparks: int, free: float) -> None:
        wish = asked(id, sparks, serve_image="image:1")
        room = Room(TOTAL, free)
        try:
            made = plan.size(wish, mine(model=id), room)
        except Refusal as refusal:
            assert "GiB" in refusal.what
            return
        flags = arguments.read(wish.sized(made).words[2:]).flags
        assert flags["gpu-memory-utilization"] == f"{made.utilization:g}" and 0 < made.utilization <= 0.9
        assert flags["max-model-len"] == str(made.context)
        assert made.utilization * TOTAL + 5 <= free, "what the processes of the container take is free as well"

    each_row(
        {
            f"{each.id}, {free}": (each.id, max(2, model.nodes, each.nodes), free)
            for model in CATALOGUE.models.values()
            for each in model.checkpoints
            for free in (50.0, 101.0, 111.0, 116.0)
            if not each.bad
        },
        holds,
    )


def test_what_is_free_decides_unless_somebody_gave_it() -> None:
    def holds(free: float, model: str, flags: dict[str, Any], utilization: float, context: int) -> None:
        made = decided(free, model, **flags)
        assert (made.utilization, made.context) == (utilization, context)

    each_row(table(__file__, "what is free decides unless somebody gave it"), holds)


def test_what_is_tight_gets_a_shorter_context_or_a_higher_share() -> None:
    shorter = decided(80.0, "txn545/Qwen3.5-122B-A10B-NVFP4")
    assert shorter.utilization == 0.61 and shorter.context < 32768, "there is no more to have"
    larger = asked("Intel/Qwen3.5-397B-A17B-int4-AutoRound", serve_image="image:1")
    bare = replace(larger, flags={"tensor-parallel-size": 2})
    higher = plan.size(bare, mine(model=larger.checkpoint.id), Room(TOTAL, 116.0))
    assert 0.8 < higher.utilization <= 0.9 and higher.context <= 32768


def context(wish: Wish, own: Settings, room: Room) -> int:
    """0 where it is refused."""
    try:
        return plan.size(wish, own, room).context
    except Refusal:
        return 0


def test_more_free_memory_never_gives_a_shorter_context() -> None:
    """From what is refused up, in steps past the place where the spread of published starts just fits."""

    def holds(id: str, data: dict[str, Any], least: float) -> None:
        wish, own = asked(id, serve_image="image:1"), mine(model=id, **data)
        seen = [context(wish, own, Room(TOTAL, least + step / 2)) for step in range(13)]
        assert seen == sorted(seen) and seen[0] == 0 < seen[-1], seen

    each_row(
        {
            "gemma": ("bg-digitalservices/Gemma-4-26B-A4B-it-NVFP4", {}, 23.5),
            "a named one": ("openai/gpt-oss-20b", {"serve_name": "b"}, 20.5),
            "laguna": ("poolside/Laguna-S-2.1-NVFP4", {}, 75.0),
        },
        holds,
    )


ENGINES: dict[str, dict[str, Any]] = {
    "SGLang": {"serve_engine": "sglang", "serve_image": "image:1"},
    "llama.cpp": {"serve_engine": "llama.cpp", "serve_image": "image:1", "serve_gguf": "a/b/c.gguf"},
}


def swept(found: Callable[[float], int], least: float, steps: int) -> dict[float, int]:
    """Free memory and context: by 4 GiB, and in so many steps where the context is not the same 4 GiB later."""
    coarse = [each * 4.0 for each in range(int(least / 4), int(TOTAL / 4) + 1)]
    seen = {free: found(free) for free in coarse}
    changes = [free for free in coarse[:-1] if seen[free] != seen[free + 4]]
    fine = [free + step * 4 / steps for free in changes for step in range(1, steps)]
    return seen | {free: found(free) for free in fine}


def grows(seen: Mapping[float, int]) -> None:
    less = [(free, seen[free]) for free in sorted(seen)]
    lost = [f"{was} tokens at {at}, {now} at {free}" for (at, was), (free, now) in pairwise(less) if now < was]
    assert not lost, lost


def test_nor_does_it_with_another_engine() -> None:
    """SGLang refused Llama-3.3-70B-NVFP4 at 56.5 GiB, which fitted 56.25: its flag was rounded in the sum."""

    def holds(id: str, data: dict[str, Any]) -> None:
        wish, own = asked(id, **data), mine(model=id, **data)
        weights = wish.gib or 0.0
        room = Room(TOTAL, TOTAL, weights=weights if wish.gguf else None)
        steps = 4 if wish.gguf else 16
        grows(swept(lambda free: context(wish, own, replace(room, free=free)), weights / wish.nodes, steps))

    each_row(
        {
            f"{engine}, {each.id}": (each.id, data)
            for engine, data in ENGINES.items()
            for model in CATALOGUE.models.values()
            for each in model.checkpoints
            if not each.bad
        },
        holds,
    )


def test_nor_beside_another_server_or_with_the_fraction_of_a_recipe() -> None:
    """There, one fraction is a larger KV cache the more is free."""
    data, embed = ENGINES["SGLang"], Beside(Service("embed"), 6.0, True)

    def holds(id: str, fraction: float, others: tuple[Beside, ...], name: str, least: float) -> None:
        wish, own = asked(id, **data), mine(model=id, **data | ({"serve_name": name} if name else {}))
        theirs = replace(wish, flags={**wish.flags, "mem-fraction-static": fraction or False})
        frees = [least + step / 4 for step in range(40)]
        seen = {free: context(theirs, own, Room(TOTAL, free, services=others)) for free in frees}
        grows(seen)
        assert len({*seen.values()}) > 1, "the memory decides in that range"

    next_80b = "Qwen/Qwen3-Next-80B-A3B-Instruct"
    each_row(
        {
            "beside": (next_80b, 0, (embed,), "", 100.5),
            "a named one": ("nvidia/Qwen3-30B-A3B-NVFP4", 0, (), "b", 35.0),
            "of a recipe": (next_80b, 0.7, (), "", 111.0),
            "of a recipe that is much": ("mistralai/Mixtral-8x7B-Instruct-v0.1", 0.85, (), "", 109.0),
        },
        holds,
    )


def test_the_fraction_of_sglang_gives_what_was_counted_and_leaves_the_rest_to_other_servers() -> None:
    data, id = ENGINES["SGLang"], "nvidia/Qwen3-30B-A3B-NVFP4"
    wish, own, chat = asked(id, **data), mine(model=id, **data), Beside(Service("chat"), 25.0, True)

    def holds(free: float, others: tuple[Beside, ...]) -> None:
        made = plan.size(wish, own, Room(TOTAL, free, services=others))
        boot = free + sum(each.whole for each in others)
        assert made.share == round(made.share, 4) and made.share * (free - 5) >= made.held - 0.005
        assert made.share * (boot - 5) + 13.1 <= made.utilization * TOTAL + 0.05 <= free - 5 + 0.05

    each_row([(free / 4, others) for free in range(240, 366) for others in ((), (chat,))], holds)


def test_a_named_server_takes_what_it_needs_and_no_more() -> None:
    """Its weights, one sequence of its context, what vLLM takes beside, and the spread of published starts."""

    def holds(model: str, free: float, flags: dict[str, Any], utilization: float, context: int) -> None:
        data: dict[str, Any] = {"serve_flags": flags}
        wish, own = asked(model, 1, serve_image="image:1", **data), mine(model=model, serve_name="b", **data)
        made = plan.size(wish, own, Room(TOTAL, free))
        assert (made.utilization, made.context) == (utilization, context)

    id, length = "Qwen/Qwen3-Embedding-8B", "max-model-len"
    each_row(
        {
            "14.9 of weights, 4.5 of cache, 5.3 beside, 3.0 spare": (id, 116.0, {}, 0.23, 32768),
            "whatever is free": (id, 45.0, {}, 0.23, 32768),
            "less context": (id, 116.0, {length: 8192}, 0.2, 8192),
            "a shorter context where less is free": (id, 31.0, {}, 0.21, 16384),
            "the user's": (id, 116.0, {"gpu-memory-utilization": 0.4}, 0.4, 32768),
            "a catalogue's share for a host alone": ("gpt-oss-20b", 116.0, {}, 0.17, 131072),
        },
        holds,
    )


def test_a_named_server_of_a_model_whose_shape_no_source_has_is_sized_like_any_other() -> None:
    model = "mistralai/Mistral-Small-4-119B-2603-NVFP4"
    wish, room = asked(model, 1, serve_image="image:1"), Room(TOTAL, 116.0)
    assert wish.model.shape is None
    assert plan.size(wish, mine(model=model, serve_name="b"), room) == plan.size(wish, mine(model=model), room)


def test_what_stays_spare_of_a_pair_is_the_spread_of_pairs() -> None:
    """3.6 GiB, as lint has it; one Spark's 3.0 would leave twice the context."""
    id = "Qwen/Qwen3-Next-80B-A3B-Instruct"
    wish = asked(id, serve_image="image:1", serve_nodes=2)
    made = plan.size(wish, mine(model=id, serve_nodes=2), Room(TOTAL, 90.25))
    assert (made.utilization, made.context) == (0.70, 32768)


def test_as_long_as_fits_is_a_context_that_the_deploy_chooses() -> None:
    """DeepSeek V4 Flash's launch has --max-model-len auto; a record needs the number."""
    assert decided(116.0, "deepseek-ai/DeepSeek-V4-Flash-0731").context >= 32768


def test_each_start_gets_the_cache_that_any_start_has() -> None:
    """What the budget leaves, less the spread of published starts, and at least a sequence of the context."""
    wish = asked("gpt-oss-120b", serve_image="image:1")
    made = plan.size(wish, mine(model="gpt-oss-120b"), Room(TOTAL, 116.0))
    use = wish.runtime.use(wish.sized(made).flags, Use(memory=TOTAL, utilization=made.utilization, sequences=1))
    left = budget(wish.model, wish.checkpoint, use)
    assert left.kv is not None and left.needed is not None
    assert made.cache == int((left.kv - 3.0) * 1024) and made.cache >= left.needed * 1024
    words = wish.sized(made).words
    assert words[words.index("--kv-cache-memory-bytes") + 1] == f"{made.cache}M"
    assert f"--kv-cache-memory-bytes {made.cache}M" in str(made)
    drafted = plan.size(wish, mine(model="gpt-oss-120b"), Room(TOTAL, 116.0, draft=2.0))
    assert drafted.cache == int((left.kv - 5.0) * 1024)


def test_vllm_profiles_where_somebody_gave_a_size_or_a_start_may_have_too_little() -> None:
    without = {
        "the user's": decided(116.0, "gpt-oss-120b", kv_cache_memory_bytes="9G"),
        "one sequence takes nearly all of it": decided(80.0, "txn545/Qwen3.5-122B-A10B-NVFP4"),
        "a model whose shape no source has": decided(116.0, "mistralai/Mistral-Small-4-119B-2603-NVFP4"),
    }
    assert {name: made.cache for name, made in without.items()} == dict.fromkeys(without, 0)


def test_what_was_deployed_before_the_cache_had_a_size_stays_as_it_is() -> None:
    wish = asked("gpt-oss-120b", serve_image="image:1")
    old = replace(RECORD, wish=wish.digest, utilization=0.8, context=131072)
    assert '"cache"' not in old.file().content
    kept = unit_files.decided(wish, last_deploy.load(Found(old.file().content, "0644", "root:root")))
    assert kept == Sizing(0.8, 131072) and "kv-cache-memory-bytes" not in wish.sized(kept).flags
    new = replace(old, cache=58000)
    assert last_deploy.load(Found(new.file().content, "0644", "root:root")) == new


def test_what_would_not_start_is_refused_with_the_figures() -> None:
    def holds(free: float, flags: dict[str, Any], said: str) -> None:
        assert said in refused(free, **flags).what

    each_row(table(__file__, "what would not start is refused with the figures"), holds)


def test_the_refusal_names_what_to_stop() -> None:
    others = ("container comfyui", "ollama.service")
    refusal = refused(50.0, "gpt-oss-120b", others)
    assert "beside container comfyui and ollama.service" in refusal.what
    assert refusal.cure == "sudo docker stop comfyui; sudo systemctl stop ollama.service"
    cure = refused(101.0, gpu_memory_utilization=0.87).cure
    assert cure.startswith("nvidia-smi") and cure.endswith("or give it 0.83 at most")


RECORD = last_deploy.Record(
    *("m", "a/b", "sha256:1", "image:1", "solo"), 1, 0, 8000, 18000, "/srv", utilization=0.8
)
UP = Serving(unit={"ActiveState": "active"}, memory=Memory(TOTAL, 20.0), health=200)


def test_what_our_own_server_holds_is_free_for_the_next_one() -> None:
    def holds(found: Serving, record: last_deploy.Record | None, free: float) -> None:
        assert sizing.room(found, None, record=record).free == pytest.approx(free)

    down = replace(UP, unit={"ActiveState": "failed"})
    each_row(
        {
            "it is up": (UP, RECORD, 20 + 0.8 * TOTAL),
            "the other host, which has no health": (replace(UP, health=None), RECORD, 20 + 0.8 * TOTAL),
            "it is down": (down, RECORD, 20),
            "it is still loading": (replace(UP, memory=Memory(TOTAL, 90.0)), RECORD, 90),
            "it ends again and again": (replace(UP, health=0), RECORD, 20),
            "its cache has a size, and left 3 GiB": (UP, replace(RECORD, cache=4096), 17 + 0.8 * TOTAL),
            "none was deployed": (UP, None, 20),
            "nothing was seen": (replace(UP, memory=None), RECORD, TOTAL),
        },
        holds,
    )
    assert sizing.room(UP, 60.0) == Room(60.0, 0.0), "a setting counts in place of the host's memory"
    assert sizing.room(replace(UP, memory=Memory(4.0, 3.0)), 121.7).free == pytest.approx(120.7)


def test_what_was_decided_is_kept_for_that_very_wish() -> None:
    record = replace(RECORD, wish=asked().digest, utilization=0.7)
    assert record.sizing == Sizing(0.7, 0)
    for other in (
        asked(serve_flags={"seed": 1}),
        asked(serve_image="b:2"),
        asked(serve_nodes=2),
        asked("mixtral-8x7b", serve_image="image:1"),
    ):
        assert other.digest != asked().digest
    assert asked().digest == asked().digest != asked().sized(record.sizing).digest
