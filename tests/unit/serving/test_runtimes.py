"""SGLang and llama.cpp: their commands, their memory, their files, and what is refused of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sparkrig.files import Found
from sparkrig.refusal import Refusal
from sparkrig.serving import (
    gguf,
    last_deploy,
    listen,
    plan,
    recipe_launch,
    runtimes,
    served,
    service_settings,
    sizing,
)
from sparkrig.serving.last_deploy import Record
from sparkrig.serving.model import Model
from sparkrig.serving.runtimes.pools import pooled
from sparkrig.serving.runtimes.runtime import Free
from sparkrig.serving.served import Memory, Service, Serving
from sparkrig.serving.sizing import Beside, Room
from sparkrig.serving.wish import Chosen, Sizing, Wish
from tests.tables import each_row, table
from tests.unit.recipes import v2
from tests.unit.servings import CATALOGUE, ID, LONE, asked, made, mine

MODEL, CHECKPOINT = "gpt-oss-120b", "openai/gpt-oss-120b"
FILE = "ggml-org/gpt-oss-120b-GGUF/gpt-oss-120b-mxfp4-00001-of-00003.gguf"
SGLANG: dict[str, Any] = {"serve_engine": "sglang", "serve_image": "lmsysorg/sglang:latest-cu130"}
LLAMA: dict[str, Any] = {"serve_engine": "llama.cpp", "serve_image": "local/llama:1", "serve_gguf": FILE}
FREE = Room(121.7, 116.7)
OF_FILE = replace(FREE, weights=59.0)


def sized(wish: Wish, room: Room, **data: Any) -> Sizing:
    return plan.size(wish, mine(model=MODEL, **data), room)


def test_the_command_of_sglang_is_that_of_its_documentation() -> None:
    wish = asked(sparks=1, **SGLANG, serve_flags={"attention-backend": "flashinfer", "tp": 1})
    assert wish.words == [
        *("python3", "-m", "sglang.launch_server", "--model-path", f"/models/{CHECKPOINT}"),
        *("--served-model-name", MODEL, "--enable-metrics", "--attention-backend", "flashinfer"),
        *("--tensor-parallel-size", "1", "--host", "127.0.0.1"),
    ]
    assert wish.sized(Sizing(0.86, 8192, "sglang", 0.75)).words[-6:-2] == [
        *("--mem-fraction-static", "0.75", "--context-length", "8192")
    ]


def test_the_command_of_llama_cpp_is_that_of_its_documentation() -> None:
    wish = asked(sparks=1, **LLAMA, serve_flags={"n-gpu-layers": 20, "metrics": False, "flash-attn": "on"})
    assert wish.words == [
        *("llama-server", "--model", f"/models/{FILE}", "--alias", MODEL),
        *("--n-gpu-layers", "20", "--flash-attn", "on", "--host", "127.0.0.1"),
    ]
    assert wish.sized(Sizing(0.61, 8192, "llama.cpp")).words[-4:-2] == ["--ctx-size", "8192"]
    assert wish.ids == ("ggml-org/gpt-oss-120b-GGUF",)
    assert "--n-gpu-layers 999 --metrics" in " ".join(asked(sparks=1, **LLAMA).words)


def test_what_does_not_fit_an_engine_is_one_sentence() -> None:
    def holds(data: dict[str, Any], said: str) -> None:
        with pytest.raises(Refusal) as refused:
            asked(sparks=2, **data)
        assert said in refused.value.what and len(refused.value.what.splitlines()) == 1 and refused.value.cure

    each_row(table(__file__, "what does not fit an engine is one sentence"), holds)


def test_the_fraction_of_sglang_is_of_what_is_free_and_leaves_what_it_keeps_beside_its_pools() -> None:
    wish = asked(sparks=1, **SGLANG)
    found = sized(wish, FREE, **SGLANG)
    # 512 MiB, 1.5 for each of 8192 tokens, 2 for each of 256 sequences, 128 of the rank: 13.1 GiB
    assert found.utilization == 0.8 and found.share == pytest.approx((0.8 * 121.7 - 13.1) / 111.7, abs=0.001)
    assert found.held == pytest.approx(found.share * 111.7, abs=0.1)
    assert found.context == 131072
    tight = sized(wish, Room(121.7, 90.0), **SGLANG)
    assert tight.utilization == 0.69 and tight.share == pytest.approx((0.69 * 121.7 - 13.1) / 85, abs=0.001)
    flags = {"mem-fraction-static": 0.7, "chunked-prefill-size": 2048}
    own = sized(asked(sparks=1, **SGLANG, serve_flags=flags), FREE, **SGLANG, serve_flags=flags)
    assert own.share == 0.7 and own.utilization == pytest.approx((0.7 * 111.7 + 10) / 121.7, abs=0.001)
    with pytest.raises(Refusal, match=r"--mem-fraction-static 0.95 asks for 119.\d GiB"):
        sized(wish, FREE, **SGLANG, serve_flags={"mem-fraction-static": 0.95})
    with pytest.raises(Refusal, match=r"gpt-oss-120b takes .* GiB of memory on each Spark"):
        sized(wish, Room(121.7, 70.0), **SGLANG)
    beside = (Beside(Service("embed"), 20.0, True, "mem-fraction-static"),)
    with pytest.raises(Refusal) as refused:
        sized(wish, Room(121.7, 60.0, services=beside), **SGLANG)
    assert "a smaller --mem-fraction-static for service embed" in refused.value.cure


def test_a_fraction_beside_another_server_is_small_enough_for_a_boot_without_it() -> None:
    """Then it finds 95 GiB more than now, and may not take the memory of the other one."""
    small, beside = "nvidia/Qwen3-30B-A3B-NVFP4", (Beside(Service("chat"), 25.0, True),)
    wish, room = asked(small, sparks=1, **SGLANG), Room(121.7, 91.7, services=beside)
    found = plan.size(wish, mine(model=small, **SGLANG), room)
    assert room.at_start == Free(91.7, 121.7)
    assert found.share * 116.7 + 13.1 <= 86.7, "all that is free, less its processes"
    assert found.held == pytest.approx(found.share * 86.7, abs=0.1)
    with pytest.raises(Refusal, match=r"takes [45]\d.\d GiB of memory on each Spark"):
        plan.size(wish, mine(model=small, **SGLANG), replace(room, free=36.7))
    for least in (0.1, 2.0, 10.0):  # of which 5 GiB are for its processes
        with pytest.raises(Refusal, match=r"takes [23]\d.\d GiB of memory on each Spark"):
            plan.size(wish, mine(model=small, **SGLANG), replace(room, free=least))
    with pytest.raises(Refusal, match=r"--mem-fraction-static 0.7 asks for 94.\d GiB"):
        plan.size(wish, mine(model=small, **SGLANG, serve_flags={"mem-fraction-static": 0.7}), room)
    with pytest.raises(Refusal, match=r"28.4 GiB with 4096 tokens of context, and 26.1 GiB are for all of it"):
        plan.size(wish, mine(model=small, **SGLANG, serve_flags={"mem-fraction-static": 0.15}), room)


def test_llama_cpp_takes_what_its_file_and_its_context_need() -> None:
    wish = asked(sparks=1, **LLAMA)
    found = sized(wish, OF_FILE, **LLAMA)
    shape = CATALOGUE.models[MODEL].shape
    assert shape and found.context == 131072
    # 59 GiB, 8 of kept prompts, 1.7 of CUDA, 0.2 of a step; 18 of 36 layers keep every token in 16 bit, 4.5 GiB
    assert found.utilization * 121.7 == pytest.approx(59 + 8 + 1.7 + 0.2 + 4.5, abs=1.3)
    assert found.held == pytest.approx(59 + 4.5, abs=0.2)
    without = sized(wish_of({"cache-ram": 0}), OF_FILE, **LLAMA, serve_flags={"cache-ram": 0})
    assert without.utilization == pytest.approx(found.utilization - 8 / 121.7, abs=0.011)
    with pytest.raises(Refusal, match=r"gguf takes .* GiB of memory on each Spark, 5 GiB more"):
        sized(wish, replace(OF_FILE, free=60.0), **LLAMA)
    with pytest.raises(Refusal, match=r"gguf does not fit: 130.0 GiB of weights a node"):
        sized(wish, replace(OF_FILE, weights=130.0), **LLAMA)
    short = sized(wish, replace(OF_FILE, weights=90.0), **LLAMA)
    assert short.context < found.context or short.utilization > found.utilization
    with pytest.raises(Refusal, match=r"--ctx-size is 262144, and .* llama.cpp would go on"):
        sized(wish, OF_FILE, **LLAMA, serve_flags={"ctx-size": 262144})


def wish_of(flags: dict[str, Any]) -> Wish:
    return asked(sparks=1, **LLAMA, serve_flags=flags)


def test_values_of_eight_bits_halve_the_cache() -> None:
    model = CATALOGUE.models[MODEL]
    plain, small = (_cache(model, flags) for flags in ({}, {"cache-type-k": "q8_0", "cache-type-v": "q8_0"}))
    assert small / plain == pytest.approx(34 / 32 / 2)


def _cache(model: Model, flags: dict[str, Any]) -> float:
    engine = runtimes.LLAMA
    use = engine.use(flags, pooled(asked(sparks=1, **LLAMA).use(121.7)))
    found = engine.budget(model, model.best(), replace(use, sequences=1)).needed
    assert found
    return found


def test_recurrent_and_sliding_layers_take_the_part_that_sglang_gives_them() -> None:
    def needed(name: str) -> float:
        model = CATALOGUE.models[name]
        wish = asked(name, sparks=1, **SGLANG)
        use = replace(runtimes.SGLANG.use(wish.flags, wish.use(121.7)), context=32768)
        return runtimes.SGLANG.budget(model, wish.checkpoint, use).needed or 0.0

    # 36 layers of 2 x 8 x 64 values in 16 bit, half of them by 0.8
    assert needed(MODEL) == pytest.approx(18 * 1.8 * 2 * 8 * 64 * 2 * 32768 / 2**30)
    # 10 of 40 layers attend, 2 x 2 x 256 values, and states have 0.9 of that again
    assert needed("qwen3.6-35b-a3b") == pytest.approx(10 * 2 * 2 * 256 * 2 * 1.9 * 32768 / 2**30)


def test_a_server_that_runs_gives_back_what_was_recorded() -> None:
    record = Record(MODEL, CHECKPOINT, ID, "i:1", "solo", 1, 0, 8000, 18000, "/m", engine="sglang", held=80.0)
    up = Serving(unit={"ActiveState": "active"}, health=200, memory=Memory(121.7, 20.0))
    assert sizing.room(up, None, record=record).free == pytest.approx(100.0)


def test_one_budget_counts_each_engine() -> None:
    record = Record(
        *(MODEL, CHECKPOINT, ID, "i:1", "solo", 1, 0, 8000, 18000, "/m"),
        utilization=0.5,
        engine="llama.cpp",
        gguf=FILE,
    )
    up = Serving(memory=Memory(100.0, 90.0))
    (other,) = sizing.beside(up, {"": record})
    assert (other.share, other.flag) == (50.0, "ctx-size")
    assert sizing.room(up, None, others=(other,)).free == pytest.approx(35.0), "90 less 50 + 5"


@pytest.mark.parametrize(("data", "room"), [(SGLANG, FREE), (LLAMA, OF_FILE)], ids=["sglang", "llama.cpp"])
def test_the_files_of_a_server(data: dict[str, Any], room: Room) -> None:
    wish = asked(sparks=1, **data)
    chosen = Chosen(ID, sizing=sized(wish, room, **data))
    found = made(wish, LONE, chosen=chosen, model=MODEL, **data)
    unit, engine = found[served.SERVICE], wish.runtime
    assert f"Description={engine.name} serves {wish.gguf or CHECKPOINT} (one Spark)" in unit
    assert f"--volume /srv/models/{wish.ids[0]}:/models/{wish.ids[0]}:ro" in unit
    assert f"SPARKRIG_ENGINE={engine.id}\n" in found[served.ENVIRONMENT]
    watch = found[served.WATCH]
    if engine.metrics:
        assert "--port 18000 --seconds 300 --running sglang:num_running_reqs --counters sglang:generation" in watch
    else:
        assert "--least 20\n" in watch and "--port" not in watch, "its metrics are silent while it hangs"
    record = last_deploy.load(Found(found[served.RECORD], "0644", "root:root"))
    assert record and (record.engine, record.sizing, record.gguf) == (engine.id, chosen.sizing, wish.gguf)
    again = service_settings.remembered(mine(), record)
    assert plan.wish(CATALOGUE.find, again, 1) == replace(wish, flags=wish.flags)


def test_a_key_is_asked_for_where_the_engine_does_not_log_it() -> None:
    secrets = {"VLLM_API_KEY": "env:X"}
    for engine, asks in (("vllm", True), ("llama.cpp", True), ("sglang", False)):
        own = mine(secrets=secrets, serve_engine=engine)
        assert listen.asks(own) is asks and listen.default(own) == ("management" if asks else "local")
    (said,) = listen.warnings(mine(secrets=secrets, serve_engine="sglang"), None, ("127.0.0.1:8000",))
    assert "the API asks for no key: SGLang would write its key into its log" in said
    (said,) = listen.warnings(mine(secrets=secrets, serve_engine="sglang", serve_listen="all"), None, ("*:8000",))
    assert "may use the model, for SGLang would write its key" in said


def test_parts_of_a_file_are_one() -> None:
    names = [f"a/b/m-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    assert gguf.parts(names[0]) == names and gguf.parts("a/b/m.gguf") == ["a/b/m.gguf"]
    sizes = dict.fromkeys(names, 5)
    assert gguf.size(names[0], sizes) == 15
    assert gguf.size(names[0], {**sizes, names[2]: 0}) is None and gguf.size("a/b/c.gguf", sizes) is None


def test_a_file_that_is_not_there_says_how_it_comes() -> None:
    wish, own = asked(sparks=1, **LLAMA), mine(model=MODEL, **LLAMA)
    with pytest.raises(Refusal) as refused:
        plan.judge(wish, Serving(), "aarch64", own, leads=True)
    assert "is not there with all its parts" in refused.value.what
    folder = "ggml-org/gpt-oss-120b-GGUF"
    assert f"hf download {folder} {FILE.rpartition('/')[2]} --local-dir /srv/models/{folder}" in refused.value.cure
    there = Serving(ggufs=dict.fromkeys(gguf.parts(FILE), 20 * 2**30))
    plan.judge(wish, there, "aarch64", own, leads=True)
    assert sizing.room(there, 121.7, gguf=FILE).weights == 60.0


# --- recipes

LAUNCH = "python3 -m sglang.launch_server --model-path {model} --host 0.0.0.0 --port 30000"
FOR_SGLANG = v2(
    runtime="sglang",
    container="lmsysorg/sglang:1",
    command=f"{LAUNCH} --tp 1 --mem-fraction-static 0.7 --config x",
)
FOR_LLAMA = v2(
    runtime="llama-cpp",
    container="llama:1",
    command="llama-server -hf a/b-GGUF:Q4 --port 1 -ngl 99 --jinja -c 4096",
)


def of(text: str, **data: Any) -> Wish:
    found = recipe_launch.read(text)
    return plan.wish(CATALOGUE.find, service_settings.of_engine(mine(**data), found), 1, found)


def test_a_recipe_of_another_engine_is_served_by_it() -> None:
    wish = of(FOR_SGLANG)
    assert (wish.engine, wish.image, wish.checkpoint.id) == ("sglang", "lmsysorg/sglang:1", CHECKPOINT)
    flags = {"enable-metrics": True, "tensor-parallel-size": "1", "mem-fraction-static": "0.7"}
    assert wish.flags == flags
    found = sized(wish, FREE)
    assert found.share == pytest.approx(0.7, abs=0.001)
    wish = of(FOR_LLAMA, model=MODEL, serve_gguf=FILE)
    assert (wish.engine, wish.gguf) == ("llama.cpp", FILE)
    assert wish.flags == {"n-gpu-layers": "99", "metrics": True, "jinja": True, "ctx-size": "4096"}


def test_a_recipe_of_another_engine_that_cannot_be_served_is_one_sentence() -> None:
    def holds(said: str, recipe: dict[str, Any], data: dict[str, Any] | None = None) -> None:
        with pytest.raises(Refusal) as refused:
            of(v2(**recipe), **data or {})
        assert said in refused.value.what and len(refused.value.what.splitlines()) == 1 and refused.value.cure

    each_row(table(__file__, "a recipe of another engine that cannot be served is one sentence"), holds)
