"""What needs each checkpoint and image, and the command by which the rest goes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sparkrig.fleet import Fleet
from sparkrig.refusal import Refusal
from sparkrig.serving import engines, recipe, recipe_launch, served
from sparkrig.serving.io.catalogue_files import catalogue
from sparkrig.storage import report as judgement
from sparkrig.storage.report import Declared, Disk
from tests.tables import each_row
from tests.unit.disks import BASE, IMAGE, LOOSE, ONE, ROWS, TWO, disk, kept, record, run

IDLE = ROWS.replace(f"record {kept(record())}\n", "").replace(" running ", " exited ")
FIND = catalogue().find


def needs(found: Disk, name: str) -> list[str]:
    (item,) = [each for each in found.seen.checkpoints if each.name == name]
    return found.needs(item)


def of_image(found: Disk, id: str) -> list[str]:
    return found.needs(next(each for each in found.seen.images if each.id == id))


# --- what needs it


def test_what_is_served_is_needed_by_its_record_and_its_container() -> None:
    runs, served_now = (
        "container sparkrig-serve, which runs",
        "the server serves it, by the record of its last deploy",
    )
    assert needs(disk(), ONE) == [runs, served_now] == of_image(disk(), IMAGE)
    assert needs(disk(), TWO) == [] == of_image(disk(), BASE) == of_image(disk(), LOOSE)
    assert needs(disk(IDLE), ONE) == [] and of_image(disk(IDLE), IMAGE) == [
        "container sparkrig-serve, which is stopped"
    ]


def test_a_record_alone_is_enough() -> None:
    rows = ROWS.replace(" running ", " exited ")
    assert needs(disk(rows), ONE) == ["the server serves it, by the record of its last deploy"]
    renamed = rows.replace(kept(record()), kept(record(ONE.upper(), image="sha256:old", name="vllm-sm121")))
    assert needs(disk(renamed), ONE) and of_image(disk(renamed), BASE)
    for draft in (TWO, f"/srv/models/{TWO}"):
        drafted = rows.replace(kept(record()), kept(replace(record(), weights="/srv/models", draft=draft)))
        assert needs(disk(drafted), TWO) == ["the server serves it, by the record of its last deploy"], (
            "and its draft model"
        )
    aside = rows.replace(kept(record()), kept(record(rank=served.ASIDE, image="", name="")))
    assert needs(disk(aside), ONE) == []


def test_the_folder_of_a_gguf_file_is_needed_and_what_it_was_made_of_is_not() -> None:
    rows = ROWS.replace(" running ", " exited ")
    llama = record(ONE, engine="llama.cpp", gguf=f"{TWO}/model-00001-of-00002.gguf")
    found = disk(rows.replace(kept(record()), kept(llama)))
    assert needs(found, TWO) == ["the server serves it, by the record of its last deploy"]
    assert needs(found, ONE) == []


def test_what_a_named_service_serves_is_needed_while_it_is_stopped() -> None:
    found = disk(f"{IDLE}\nrecord embed {kept(record(TWO, BASE))}")
    why = ["service embed serves it, by the record of its last deploy"]
    assert needs(found, TWO) == why == of_image(found, BASE)


def test_what_was_served_before_a_trial_is_needed() -> None:
    found = disk(f"{IDLE}\ntrial {kept(record(TWO, BASE))}")
    assert (
        needs(found, TWO)
        == ["the server served it before the configuration that is on trial"]
        == of_image(found, BASE)
    )


def test_what_undo_brings_back_is_needed() -> None:
    """The newest run that changed what is served; older ones are history."""
    records = {"R1": record("org/older", LOOSE), "R2": record(TWO, BASE), "R3": record(TWO)}
    rows = "\n".join([IDLE, *(f"kept {id} {kept(each)}" for id, each in records.items())])
    found = disk(rows, [run(1), run(2), run(3, before="644 root:root b")])
    assert found.undo == {served.UNNAMED: "R2"}, "R3 changed nothing of it"
    assert needs(found, TWO) == ["undo of run R2 brings it back"] == of_image(found, BASE)
    assert of_image(found, LOOSE) == []
    first = disk(rows, [run(1, before="absent")])
    assert first.undo == {} and needs(first, TWO) == []


def test_what_undo_brings_back_of_a_named_service_is_needed() -> None:
    """Each service has its own newest run, and the record of one says nothing of another one."""
    embed = served.Service("embed")
    rows = f"{IDLE}\nkept R1 embed {kept(record(TWO, BASE))}\nkept R2 {kept(record('org/older', LOOSE))}"
    found = disk(rows, [run(1, of=embed), run(2)])
    assert found.undo == {embed: "R1", served.UNNAMED: "R2"}
    assert needs(found, TWO) == ["undo of run R1 brings it back"] == of_image(found, BASE)
    assert of_image(found, LOOSE) == ["undo of run R2 brings it back"]
    assert needs(disk(rows, [run(1), run(2)]), TWO) == [], "R1 changed nothing of that service"


def test_a_container_that_runs_needs_what_it_has_mounted() -> None:
    def holds(mount: str, state: str, needed: bool) -> None:
        found = disk(f'{IDLE}\ncontainer {LOOSE} {state} "/mine" "x"\nmounted "/etc"\nmounted "{mount}"')
        assert bool(needs(found, TWO)) is needed

    each_row(
        (
            *((f"/srv/models/{TWO}", "running", True), (f"/srv/models/{TWO}/", "paused", True)),
            *((f"/srv/models/{TWO}", "exited", False), (f"/srv/models/{TWO}", "created", False)),
            *(
                ("/srv/models", "running", True),
                ("/srv", "restarting", True),
                (f"/srv/models/{TWO}/x", "running", True),
            ),
            # the whole disk is what a monitor has
            *(("/", "running", False), (f"/srv/models/{TWO}-2", "running", False), ("/srv/mod", "running", False)),
            (f"/srv/models/{ONE}", "running", False),
        ),
        holds,
    )
    linked = IDLE.replace("weights /srv/models /srv/models", "weights /srv/models /data/models")
    for mount in ("/srv/models", "/data/models"):
        assert needs(disk(f'{linked}\ncontainer {LOOSE} running "/mine" "x"\nmounted "{mount}"'), TWO), mount


TWO_SPARKS = recipe.Recipe("recipe x", engines.VLLM, "", "org/image:1", f"vllm serve {TWO}")
RECIPES = {
    "good.yaml": recipe_launch.read(
        f"{{recipe_version: '1', model: {ONE}, container: r.io/x:1, command: vllm serve {ONE}}}"
    ),
    "two.yaml": TWO_SPARKS,
}


def declared(model: str | None = None, sparks: int = 1, at: int = 0, **more: Any) -> Declared:
    names = ["spark-a", "spark-b"][:sparks]
    pair = [{"pair": "p", "fabric": {"enp1s0f0np0": f"192.168.100.1{end}/24"}} for end in range(2)]
    alone: list[dict[str, Any]] = [{}]
    data = {
        name: {**own, "model": model, **more}
        for name, own in zip(names, pair if sparks > 1 else alone, strict=True)
    }
    return judgement.declared(Fleet.parse(data), names[at], FIND, RECIPES.__getitem__)


def test_what_the_settings_name_is_needed() -> None:
    assert declared() == Declared()
    assert TWO.lower() in declared("gpt-oss-120b", serve_draft=TWO).checkpoints
    mine = declared("gpt-oss-120b")
    assert mine.checkpoints == {ONE: "the setting model (gpt-oss-120b)"} and len(mine.images) == 1
    found = disk(IDLE, declared=declared(ONE, serve_image=f"{BASE}", nccl_image=LOOSE))
    assert needs(found, ONE) == [f"the setting model ({ONE})"]
    assert of_image(found, BASE) == ["the setting serve_image"] and of_image(found, LOOSE) == [
        "the setting nccl_image"
    ]
    assert of_image(disk(IDLE), BASE) == [], "a default declares nothing"


def test_what_a_recipe_of_the_settings_names_is_needed() -> None:
    mine = declared(recipe="good.yaml", serve_draft=TWO)
    why = "the setting recipe (good.yaml)"
    assert mine.checkpoints == {ONE: why, TWO.lower(): why} and mine.images == {"r.io/x:1": why}
    given = declared(recipe="good.yaml", serve_image=BASE)
    assert given.images == {BASE: "the setting serve_image"}
    assert needs(disk(IDLE, declared=mine), ONE) == [why] == needs(disk(IDLE, declared=mine), TWO)


def test_a_recipe_that_is_refused_keeps_what_it_means() -> None:
    """It is for two Sparks, and this one is on its own."""
    why = "the setting recipe (two.yaml)"
    mine = declared(recipe="two.yaml", serve_nodes=2)
    assert mine.checkpoints == {TWO.lower(): why} and mine.images == {"org/image:1": why} and not mine.unknown


def test_nothing_goes_while_a_recipe_cannot_be_read() -> None:
    def read(named: str) -> recipe.Recipe:
        raise Refusal(f"{named} cannot be read: no such file", "ls")

    fleet = Fleet.parse({"spark-a": {"recipe": "gone.yaml", "model": ONE}})
    mine = judgement.declared(fleet, "spark-a", FIND, read)
    assert [*mine.checkpoints] == [ONE]
    found, why = disk(IDLE, declared=mine), "the setting recipe (gone.yaml) cannot be read: "
    assert found.unknown == [f"{why}gone.yaml cannot be read: no such file"]
    assert ways(found) == {}


@pytest.mark.parametrize("image", ["llama.cpp:server-cuda", None], ids=["whole", "refused, without an image"])
def test_a_gguf_file_that_the_settings_name_is_needed(image: str | None) -> None:
    llama = declared(ONE, serve_engine="llama.cpp", serve_gguf=f"{TWO}/model.gguf", serve_image=image)
    assert llama.checkpoints[TWO.lower()] == f"the setting model ({ONE})"


def test_a_half_that_has_no_part_needs_nothing_of_it() -> None:
    assert declared("gpt-oss-120b", 2, at=0, serve_nodes=1).checkpoints
    assert not declared("gpt-oss-120b", 2, at=1, serve_nodes=1).checkpoints
    assert declared("gpt-oss-120b", 2, at=1, serve_nodes=2).checkpoints


def test_a_model_that_cannot_be_served_keeps_what_it_means() -> None:
    assert [*declared("qwen3-235b-a22b").checkpoints], "it is for two Sparks"
    assert [*declared("Org/Unknown").checkpoints] == ["org/unknown"]


# --- how the rest goes


def ways(found: Disk) -> dict[str, str]:
    """The command of each thing that has one, by its name."""
    named = [(each.name, found.way(each)) for each in found.seen.checkpoints]
    named += [(each.id, found.way(each)) for each in found.seen.images]
    return {name: str(way) for name, way in named if way}


def test_what_nothing_needs_has_the_command_that_removes_it() -> None:
    """What is needed, a link and what has a file system mounted in it have none."""
    assert ways(disk()) == {
        TWO: f"sudo rm -r --one-file-system /srv/models/{TWO}",
        BASE: f"sudo docker image rm {BASE[7:19]}",
        LOOSE: f"sudo docker image rm {LOOSE[7:19]}",
    }
    mounted = ROWS.replace(f"{TWO} partial 120000000000 none", f"{TWO} partial 120000000000 mount")
    assert TWO not in ways(disk(mounted))
    assert ONE not in ways(disk(IDLE, declared=declared("gpt-oss-120b")))


def test_where_it_is_not_known_what_is_needed_nothing_goes() -> None:
    def holds(rows: str, runs: list[Any], why: str) -> None:
        found = disk(rows, runs)
        assert ways(found) == {} and why in found.unknown[0]

    each_row(
        (
            (ROWS.replace(kept(record()), "eA=="), [], "the record of the server without a name"),
            (f"{ROWS}\ntrial eA==", [], "the record of the server without a name before the trial"),
            (f"{ROWS}\nrecord embed eA==", [], "the record of service embed"),
            (f"{ROWS}\nkept R1 eA==", [run(1)], "the record of the server without a name before run R1"),
            (
                f"{ROWS}\nkept R1 embed eA==",
                [run(1, of=served.Service("embed"))],
                "the record of service embed before run R1",
            ),
            (f"{IDLE}\ncut containers", [], "there are more containers than are looked at"),
            (IDLE.replace("docker running", "docker failed"), [], "docker does not answer"),
        ),
        holds,
    )
    assert TWO in ways(disk(f"{ROWS}\nkept R7 eA==", [run(1)])), "of a run that undo would not take"
