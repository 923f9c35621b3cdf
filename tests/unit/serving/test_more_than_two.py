"""More than two Sparks that share one model: layouts, heads, memory, copies, the commands of three and four."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sparkrig.cli import models as verb
from sparkrig.clusters import serving_order
from sparkrig.fleet import Fleet
from sparkrig.refusal import Refusal
from sparkrig.serving import copies, layout, plan, recipe_launch, served, service_settings, trouble, unit_files
from sparkrig.serving.budget import SHARDING, Use, budget, fewest_nodes, page
from sparkrig.serving.checkpoint import files as checkpoint_files
from sparkrig.serving.io import lint_rules
from sparkrig.serving.last_deploy import Record
from sparkrig.serving.layout import Layout
from sparkrig.serving.model import Full, Shape, Sliding
from sparkrig.serving.sizing import Room
from sparkrig.serving.startup import Seen, read
from sparkrig.serving.wish import Chosen, Node, Wish
from sparkrig.settings import SettingsError
from sparkrig.storage import report as storage
from tests.tables import each_row, table
from tests.unit.servings import CATALOGUE, ID, asked, made, mine, model_of
from tests.unit.startups import logged, seen

BIG = "Qwen/Qwen3-235B-A22B-GPTQ-Int4"
A, B, C, D = "spark-a", "spark-b", "spark-c", "spark-d"
SHAPE = Shape(
    layers=(
        Full(kind="full", count=12, kv_heads=8, head_dim=128),
        Sliding(kind="sliding", count=24, kv_heads=8, head_dim=128, window=1024),
    ),
    heads=48,
    hidden=4096,
    source="a test",
)


# --- how they share it


def test_the_usual_layout_is_the_largest_power_of_two_and_stages_for_the_rest() -> None:
    found = {nodes: (each.tensor, each.stages) for nodes in range(1, 9) if (each := layout.usual(nodes))}
    assert found == {1: (1, 1), 2: (2, 1), 3: (1, 3), 4: (4, 1), 5: (1, 5), 6: (2, 3), 7: (1, 7), 8: (8, 1)}


def test_one_size_follows_from_the_other() -> None:
    def holds(nodes: int, given: dict[str, Any], tensor: int, stages: int) -> None:
        assert layout.of(nodes, given) == Layout(tensor, stages)

    each_row(table(__file__, "one size follows from the other"), holds)


def test_a_size_that_does_not_divide_the_sparks_is_refused_with_those_that_do() -> None:
    with pytest.raises(Refusal) as error:
        layout.of(4, {"pipeline-parallel-size": 3})
    assert "--pipeline-parallel-size is 3, and 4 Sparks are to share the model" in error.value.what
    assert "of 1, 2 or 4 in serve_flags" in error.value.cure
    with pytest.raises(Refusal, match="--tensor-parallel-size is many, and a number of Sparks is expected"):
        layout.of(4, {"tensor-parallel-size": "many"})


def test_heads_divide_as_vllm_divides_them() -> None:
    """Heads of keys go to several ranks each, or each rank has several: 8 to 16 ranks, and never to 3."""

    def holds(tensor: int, heads: int | None, kv_heads: int, fits: bool) -> None:
        shape = Shape(
            layers=(Full(kind="full", count=4, kv_heads=kv_heads, head_dim=64),), heads=heads, source="a test"
        )
        assert layout.divides(tensor, shape) is fits

    each_row(table(__file__, "heads divide as vllm divides them"), holds)
    assert layout.divides(3, None)


def test_heads_that_do_not_divide_are_refused_with_the_numbers_and_what_would_work() -> None:
    with pytest.raises(Refusal) as error:
        layout.judge(model_of(60, SHAPE), Layout(3, 1))
    assert error.value.what == (
        "Some has 48 attention heads and 8 heads of keys, and --tensor-parallel-size is 3: each Spark would not "
        "get equally many"
    )
    assert error.value.cure == (
        'the same with --data \'serve_flags={"tensor-parallel-size": 1, "pipeline-parallel-size": 3}\''
    )
    small = Shape(layers=(Full(kind="full", count=2, kv_heads=8, head_dim=64),), heads=8, source="a test")
    with pytest.raises(Refusal) as error:
        layout.judge(model_of(60, small), Layout(1, 3))
    assert error.value.what == "Some has 2 layers, and --pipeline-parallel-size is 3"
    assert error.value.cure == "the same with --data serve_nodes=2"


FIXTURES = Path(__file__).parents[2] / "fixtures" / "checkpoints"


def test_heads_of_the_catalogue_are_those_of_config_json() -> None:
    def holds(name: str, id: str) -> None:
        config = (FIXTURES / id.replace("/", "--") / "config.json").read_text()
        found, kept = checkpoint_files.read(id, checkpoint_files.Files(config)).shape, CATALOGUE.models[name].shape
        assert found and kept and found.heads == kept.heads

    rows = table(__file__, "heads of the catalogue are those of config json")
    each_row(rows, holds)
    have = {name for name, each in CATALOGUE.models.items() if each.shape and each.shape.heads}
    assert have == {row["name"] for row in rows.values()}
    shapes = [each.shape for each in CATALOGUE.models.values() if each.shape and each.shape.heads]
    assert not any(layout.divides(3, shape) for shape in shapes), "docs/serving.md says so"


# --- memory


def test_each_holds_its_part_of_the_weights_and_its_layers_of_the_cache() -> None:
    one = model_of(100, SHAPE)
    four, three = (budget(one, one.best(), Use(utilization=0.8).shared(nodes)) for nodes in (4, 3))
    assert four.weights == pytest.approx(100 / 4 * SHARDING)
    assert three.weights == pytest.approx(100 / 3 * SHARDING)
    assert four.kv is not None and three.kv is not None
    whole = Use(context=32768, kv="bf16")
    assert page(SHAPE, whole.shared(4)).block_bytes * 4 == page(SHAPE, whole).block_bytes, "two of eight heads"
    assert page(SHAPE, whole.shared(3)).block_bytes * 3 == page(SHAPE, whole).block_bytes, "a third of the layers"
    assert "one part in 4" in " ".join(four.assumed) and "the sum of each of 4 was up to" in " ".join(four.assumed)
    assert "each of 3 stages holds its part of the layers" in " ".join(three.assumed)


def test_layers_that_do_not_divide_count_as_the_stage_with_most_of_them() -> None:
    shape = Shape(layers=(Full(kind="full", count=32, kv_heads=8, head_dim=128),), source="a test")
    one = model_of(96, shape)
    found = budget(one, one.best(), Use().shared(3))
    assert found.weights == pytest.approx(96 * 11 / 32 * SHARDING)
    assert page(shape, Use().shared(3)).block_bytes == page(shape, Use()).block_bytes * 11 / 32


def test_two_by_two_is_half_of_the_layers_and_half_of_the_heads() -> None:
    use = replace(Use(), nodes=4, stages=2)
    one = model_of(100, SHAPE)
    assert budget(one, one.best(), use).weights == pytest.approx(25 * SHARDING)
    assert page(SHAPE, use).block_bytes * 4 == page(SHAPE, Use()).block_bytes


def test_what_a_pair_has_does_not_depend_on_stages() -> None:
    """Byte for byte: a sizing that moved would put each server on trial again."""
    one = CATALOGUE.models["qwen3-235b-a22b"]
    found = budget(one, one.best(), Use(nodes=2))
    assert found == budget(one, one.best(), Use().shared(2)) and found.use.stages == 1


def test_the_fewest_of_a_cluster_share_each_layer_where_they_can() -> None:
    assert fewest_nodes(model_of(60, SHAPE), model_of(60, SHAPE).best(), Use(), (1, 2, 4)) == 1
    assert fewest_nodes(model_of(250, SHAPE), model_of(250, SHAPE).best(), Use(), (1, 2)) is None
    assert fewest_nodes(model_of(250, SHAPE), model_of(250, SHAPE).best(), Use(), (1, 2, 4)) == 4
    assert fewest_nodes(model_of(250, SHAPE), model_of(250, SHAPE).best(), Use(), (1, 2, 3)) == 3


# --- what is asked for


def shared(wish: Wish) -> tuple[int, Any, Any]:
    return wish.nodes, wish.flags.get("tensor-parallel-size"), wish.flags.get("pipeline-parallel-size")


def test_which_launch_follows_from_the_sparks_and_from_the_flags() -> None:
    def holds(data: dict[str, Any], *expected: Any) -> None:
        assert shared(asked(**{"model": BIG, **data})) == expected

    each_row(
        [
            ({"sparks": 2}, 2, 2, None),
            ({"sparks": 3}, 2, 2, None),
            ({"sparks": 3, "serve_nodes": 3}, 3, 1, 3),
            ({"sparks": 4, "serve_nodes": 4}, 4, 4, None),
            ({"sparks": 4, "serve_nodes": 4, "serve_flags": {"pipeline-parallel-size": 2}}, 4, 2, 2),
            ({"sparks": 8, "serve_nodes": 8}, 8, 8, None),
            ({"sparks": 6, "serve_nodes": 6}, 6, 2, 3),
            ({"sparks": 8, "model": "gpt-oss-120b"}, 1, 1, None),
        ],
        holds,
    )


def test_a_model_that_two_cannot_hold_takes_more_of_a_cluster_by_itself() -> None:
    huge = model_of(250, SHAPE).model_copy(update={"assumed": ("a test",), "context": 32768})

    def wish(sparks: int, **data: Any) -> Wish:
        return plan.wish(lambda _: huge, mine(model="a/b", **data), sparks)

    assert [shared(wish(sparks)) for sparks in (2, 3, 4, 8)] == [
        (1, None, None),  # as ever: its memory refuses it, with the figures
        (3, 1, 3),
        (4, 4, None),
        (4, 4, None),
    ]
    small = wish(4, serve_nodes=2)
    assert plan.larger(small, 4, 121.6) == "the same with --data serve_nodes=3, on which it fits"
    assert plan.larger(small, 2, 121.6) == "", "a pair has no more"


def test_a_draft_of_the_models_own_is_left_out_of_stages_and_said_to_be() -> None:
    name, drafting = next(
        (model.name, launch.checkpoint or model.best().id)
        for model in CATALOGUE.models.values()
        for launch in model.launches
        if "speculative-config" in launch.flags and model.shape and model.shape.depth > 3
        if model.base(model.checkpoint(launch.checkpoint or model.best().id), 3) == launch
    )
    staged = asked(drafting, 3, serve_nodes=3, serve_image="mine:1")
    assert "speculative-config" not in staged.flags, name
    assert any("the draft of the launch is left out" in each for each in staged.notes)
    kept = asked(drafting, 4, serve_nodes=4, serve_image="mine:1")
    assert "speculative-config" in kept.flags and not any("left out" in each for each in kept.notes)
    own = {"speculative-config": '{"method": "eagle3", "model": "/x", "num_speculative_tokens": 2}'}
    assert "speculative-config" in asked(drafting, 3, serve_nodes=3, serve_image="mine:1", serve_flags=own).flags


def test_sglang_serves_on_two_at_most() -> None:
    data = {"serve_engine": "sglang", "serve_image": "x:1"}
    with pytest.raises(Refusal) as error:
        asked("gpt-oss-120b", 4, serve_nodes=4, **data)
    assert "SGLang serves on 2 Sparks at most here, and 4 are asked for" in error.value.what
    assert error.value.cure == "the same with --data serve_nodes=2"


# --- the files and the very command


HEAD = IPv4Address("10.0.2.11")
RING: dict[str, Any] = {"cluster": "lab", "topology": "ring", "fabric_network": "10.20.0.0/16", "model": BIG}


def unit_of(wish: Wish, rank: int, **data: Any) -> tuple[str, str]:
    """ExecStart's words after start.sh, and the environment of that rank."""
    files = made(wish, Node(rank, HEAD, IPv4Address(f"10.0.2.{11 + rank}")), **data)
    (start,) = [row for row in files[served.SERVICE].splitlines() if row.startswith("ExecStart=")]
    return start.partition(f"{ID} ")[2], files[served.ENVIRONMENT]


COMMAND = (
    "vllm serve /models/Qwen/Qwen3-235B-A22B-GPTQ-Int4 --served-model-name qwen3-235b-a22b "
    "Qwen/Qwen3-235B-A22B-GPTQ-Int4 --tensor-parallel-size {tensor} --enable-expert-parallel --attention-backend "
    "TRITON_ATTN --quantization gptq_marlin --kv-cache-dtype fp8 --gpu-memory-utilization 0.87 --reasoning-parser "
    "qwen3{stages} --host 127.0.0.1"
)


@pytest.mark.parametrize(
    ("data", "tensor", "stages"),
    [
        ({"serve_nodes": 3}, 1, " --pipeline-parallel-size 3"),
        ({"serve_nodes": 2}, 2, ""),
        ({"serve_nodes": 4}, 4, ""),
        ({"serve_nodes": 4, "serve_flags": {"pipeline-parallel-size": 2}}, 2, " --pipeline-parallel-size 2"),
    ],
    ids=["three by stages", "two of three", "four by parts", "two by two"],
)
def test_each_rank_has_the_same_words_and_its_own_part(data: dict[str, Any], tensor: int, stages: str) -> None:
    wish = asked(BIG, 4, **data)
    for rank in range(wish.nodes):
        words, env = unit_of(wish, rank, model=BIG, **data)
        assert words == COMMAND.format(tensor=tensor, stages=stages)
        told = dict(row.partition("=")[::2] for row in env.splitlines() if row.startswith("SPARKRIG_"))
        assert told == {
            "SPARKRIG_FORM": "multinode",
            "SPARKRIG_PORT": "18000",
            "SPARKRIG_RANK": str(rank),
            "SPARKRIG_NODES": str(wish.nodes),
            "SPARKRIG_HEAD": "10.0.2.11",
            "SPARKRIG_ADDRESS": f"10.0.2.{11 + rank}",
        }


def test_the_watch_of_each_other_rank_follows_the_head() -> None:
    wish = asked(BIG, 3, serve_nodes=3)
    watches = [made(wish, Node(rank, HEAD, HEAD), model=BIG, serve_nodes=3)[served.WATCH] for rank in range(3)]
    assert [f"--head {HEAD}:29501" in text for text in watches] == [False, True, True]
    unit = made(wish, Node(2, HEAD, HEAD), model=BIG, serve_nodes=3)[served.SERVICE]
    assert "(node 2 of 3)" in unit and "StartLimitBurst=40" in unit


def test_lint_finds_no_error_in_any_of_the_launches() -> None:
    def holds(sparks: int, data: dict[str, Any]) -> None:
        wish = asked(BIG, sparks, **data)
        for form in ("multinode", "ray"):
            told = plan.lint_of(wish, CATALOGUE.find, form, (0, 19, 0), "aarch64", lint_rules.rules())
            assert [each.rule for each in told if each.severity == "error"] == []

    each_row(table(__file__, "lint finds no error in any of the launches"), holds)


def test_memory_of_three_and_four_is_decided_by_their_own_part() -> None:
    """Where 60 GiB are free on each, two are too few."""

    def decided(nodes: int) -> int:
        wish = asked(BIG, nodes, serve_nodes=nodes)
        return plan.size(wish, mine(model=BIG, serve_nodes=nodes), Room(121.7, 60.0)).context

    with pytest.raises(Refusal, match=r"takes \d+\.\d GiB of memory on each Spark"):
        decided(2)
    assert (decided(3), decided(4)) == (32768, 32768)


def test_the_order_of_the_hosts_is_kept_and_the_record_of_others_is_as_before() -> None:
    wish = asked(BIG, 3)
    kept = json.loads(made(wish, Node(0, HEAD, HEAD), model=BIG)[served.RECORD])
    assert "on" not in kept, "as every version wrote it"
    fleet = Fleet.parse({name: {**RING, "serve_on": "spark-c, spark-b"} for name in (A, B, C)})
    files = unit_files.files(wish, Chosen(ID), Node(0, HEAD, HEAD), fleet[C])
    named = json.loads(next(file.content for file in files if file.path == served.RECORD))
    assert named["on"] == ["spark-c", "spark-b"]
    record = Record(**{**kept, "on": ("spark-c",)})
    assert service_settings.remembered(mine(), record).serve_on == ["spark-c"]


# --- copies


def test_copies_of_a_switch_double_and_no_host_is_in_two_at_once() -> None:
    names = [f"spark-{letter}" for letter in "abcdefgh"]
    found = [*copies.rounds(names[:1], names[1:], switched=True)]
    assert [len(each) for each in found] == [1, 2, 4]
    have = {names[0]}
    for each in found:
        busy = [name for pair in each for name in pair]
        assert len({*busy}) == len(busy), "each host has one link"
        assert {source for source, _ in each} <= have
        have |= {name for _, name in each}
    assert have == {*names}


def test_copies_of_a_ring_take_one_round_over_cables_of_their_own() -> None:
    assert [*copies.rounds([A], [B, C], switched=False)] == [[(A, B), (A, C)]]
    assert [*copies.rounds([A, B], [C], switched=False)] == [[(A, C)]]
    assert [*copies.rounds([B], [A], switched=False)] == [[(B, A)]]
    assert [*copies.rounds([A, B], [C, D], switched=True)] == [[(A, C), (B, D)]]
    assert [*copies.rounds([A, B, C], [], switched=True)] == []


# --- how it comes up


def node(rank: int, nodes: int, *lines: str, **how: Any) -> Seen:
    begun = f"sparkrig: phase start T form=multinode rank={rank} nodes={nodes} head=10.0.2.11 address=10.0.2.11"
    return seen(logged(begun, *lines), **how)


ABSENT: dict[str, Any] = {"load": "not-found", "active": "inactive", "image": ""}


def judged(*hosts: Seen) -> dict[str, tuple[str, str]]:
    names = (A, B, C, D)
    found = trouble.judge({name: (each, read(each)) for name, each in zip(names, hosts, strict=False)})
    return {name: (each.cause, each.evidence) for name, each in found.items()}


def test_the_spare_of_a_ring_is_not_missed() -> None:
    found = judged(node(0, 2, now=5.0), node(1, 2, now=5.0), seen(**ABSENT))
    assert found[C] == ("", "it has no part in what spark-a serves")
    assert found[A][0] == found[B][0] == "starting", found


def test_a_node_without_a_unit_is_missed_where_all_have_a_part() -> None:
    waits = node(0, 3, now=900.0, quiet=600.0)
    found = judged(waits, node(1, 3), seen(**ABSENT))
    assert found[C][0] == "absent"
    assert found[A] == ("peer", "it waits for spark-c, whose unit is inactive")


def test_one_image_of_three_that_differs_is_told_and_the_spare_has_none() -> None:
    other = node(1, 2, image="sha256:ffff")
    found = judged(node(0, 2), other, seen(**ABSENT))
    assert found[A][0] == found[B][0] == "image-drift" and found[C][0] == ""
    assert re.search(r"spark-a runs .*, spark-b runs ", found[A][1])


# --- the settings


def test_the_hosts_that_serve_come_first_and_the_others_follow() -> None:
    names = ("@ssh/spark-a", "@ssh/spark-b", "@ssh/spark-c")
    assert serving_order(names, ["spark-c", "@ssh/spark-b"]) == (names[2], names[1], names[0])
    assert serving_order(names, []) == names
    assert serving_order(names, ["spark-gone"]) == names, "of a record that an older inventory wrote"


def test_hosts_that_cannot_serve_are_refused_by_name() -> None:
    def holds(data: dict[str, Any], names: tuple[str, ...], said: str) -> None:
        with pytest.raises(SettingsError) as error:
            Fleet.parse(dict.fromkeys(names, data))
        assert said in str(error.value)

    each_row(table(__file__, "hosts that cannot serve are refused by name"), holds)


def test_a_host_that_is_left_free_needs_neither_weights_nor_image() -> None:
    def needed(**data: Any) -> list[str]:
        fleet = Fleet.parse({name: {**RING, **data} for name in (A, B, C)})
        named = {
            name: storage.declared(fleet, name, CATALOGUE.find, lambda _: pytest.fail("no recipe"))
            for name in fleet
        }
        return [name for name, each in named.items() if each.checkpoints]

    assert needed() == [A, B]
    assert needed(serve_nodes=3) == [A, B, C]
    assert needed(serve_on=[C, A]) == [A, C]


# --- recipes


def recipe_wish(text: str, sparks: int, **data: Any) -> Wish:
    return plan.wish(CATALOGUE.find, mine(**data), sparks, recipe_launch.read(text))


def test_a_recipe_for_more_than_two_is_served_where_there_are_as_many() -> None:
    head = "recipe_version: '2'\nmodel: openai/gpt-oss-120b\nruntime: vllm\ncontainer: x/y:1\n"
    four = f"{head}defaults: {{tensor_parallel: 4}}\n"
    staged = f"{head}defaults: {{tensor_parallel: 2, pipeline_parallel: 2}}\n"
    assert shared(recipe_wish(four, 4)) == (4, 4, None)
    assert shared(recipe_wish(staged, 4)) == (4, 2, 2)
    with pytest.raises(Refusal, match="is for 4 Sparks, and this deploy would serve it with 2") as error:
        recipe_wish(four, 2)
    assert error.value.cure == "the same with --data serve_nodes=2 or fewer"
    with pytest.raises(Refusal, match="is for 4 Sparks, and this deploy would serve it with 3") as error:
        recipe_wish(four, 3)
    assert error.value.cure == "the same with --data serve_nodes=3 or fewer"


# --- sparkrig models


def test_sparkrig_models_shows_a_cluster_beside_one_and_two() -> None:
    shown = CliRunner().invoke(verb.models, ["show", "qwen3-235b-a22b", "--sparks", "3"])
    assert shown.exit_code == 0, shown.output
    assert "each of 3" in shown.output and "3 Sparks (--tensor-parallel-size 1" in shown.output
    told = json.loads(CliRunner().invoke(verb.models, ["show", "gpt-oss-120b", "--sparks", "4", "--json"]).output)
    assert sorted({room["nodes"] for room in told["models"][0]["rooms"]}) == [1, 2, 4]
    usual = json.loads(CliRunner().invoke(verb.models, ["show", "gpt-oss-120b", "--json"]).output)
    assert sorted({room["nodes"] for room in usual["models"][0]["rooms"]}) == [1, 2], "as ever"
    large = CliRunner().invoke(verb.models, ["show", "glm-5.2"]).output
    assert "each of 4" in large and "cache on each; --utilization 0.9 leaves 4.0 GiB" in " ".join(large.split())
    assert "199 GiB · 4 Sparks" in CliRunner().invoke(verb.models, ["show", "minimax-m3"]).output
    listed = CliRunner().invoke(verb.models, ["--sparks", "4", "--context", "262144"])
    assert "Needs 4 Sparks" in listed.output and "Fits neither" not in listed.output
    odd = CliRunner().invoke(verb.models, ["show", "qwen3-next-80b-a3b", "--sparks", "6"])
    assert odd.exit_code == 0 and "fits 6 Sparks (--tensor-parallel-size 2" in odd.output
