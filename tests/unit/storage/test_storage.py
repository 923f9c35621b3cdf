"""What lies on a disk: the look at a host in a folder, with stand-ins, and what is read of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyinfra.api.exceptions import FactProcessError

from sparkrig.facts.storage import Storage as StorageFact
from sparkrig.parsing import hub
from sparkrig.serving import served
from sparkrig.serving.served import UNNAMED, Service
from sparkrig.storage.storage import Checkpoint, Kept, Room
from tests.attacks.texts import WORST
from tests.tables import each_row
from tests.unit.disks import BASE, IMAGE, LOOSE, MOUNTS, ONE, ROWS, TWO, Spark, encoded, kept, record, seen


@pytest.fixture
def spark(tmp_path: Path) -> Spark:
    return Spark(tmp_path / "spark")


def only(spark: Spark, name: str = ONE) -> Checkpoint:
    (found,) = [each for each in spark.look().checkpoints if each.name == name]
    return found


# --- checkpoints


def test_a_checkpoint_has_its_size_and_its_state(spark: Spark) -> None:
    at = spark.checkpoint(ONE, size=1_000_000)
    (at / served.REVISION).write_text("d" * 40 + "\n")
    state = only(spark)
    assert state.standing == "damaged", "the revision is one of its files, and the manifest has no line for it"
    assert state.size and 1_000_000 <= state.size < 1_200_000
    assert (state.path, state.given, state.bar) == (f"{spark.weights}/{ONE}", f"{spark.weights}/{ONE}", "none")
    (at / "same").hardlink_to(at / "config.json")
    assert only(spark).size == state.size, "a file with two names in it counts once"


def test_states_of_checkpoints(spark: Spark) -> None:
    spark.checkpoint("org/whole")
    spark.checkpoint("org/loose", sealed=False)
    (spark.checkpoint("org/partial", sealed=False) / "x.part").write_text("")
    (spark.checkpoint("org/damaged") / "model.safetensors").write_text("x")
    (spark.checkpoint("org/linked") / "more").symlink_to("/")
    found = {each.name: each.standing for each in spark.look().checkpoints}
    assert found == {f"org/{each}": each for each in ("whole", "loose", "partial", "damaged", "linked")}


def test_a_folder_with_too_many_entries_is_not_counted_and_not_judged(spark: Spark) -> None:
    at = spark.checkpoint(ONE)
    script = StorageFact.script.replace("most=20000", "most=5")
    assert script != StorageFact.script
    for number in range(9):
        (at / str(number)).write_text("")
    rows = spark.sh(f"weights={spark.weights}\n{script}").splitlines()
    (found,) = StorageFact().process(rows).checkpoints
    assert (found.standing, found.size) == ("unknown", None)


def test_a_look_that_is_late_counts_nothing_more(spark: Spark) -> None:
    spark.checkpoint(ONE)
    script = StorageFact.script.replace("+ 120))", "- 1))")
    assert script != StorageFact.script
    (found,) = StorageFact().process(spark.sh(f"weights={spark.weights}\n{script}").splitlines()).checkpoints
    assert found.size is None


def test_there_is_an_end_to_folders(spark: Spark) -> None:
    for number in range(4):
        (spark.weights / "org" / f"n{number}").mkdir(parents=True)
    script = StorageFact.script.replace("folders=200", "folders=3")
    assert script != StorageFact.script
    found = StorageFact().process(spark.sh(f"weights={spark.weights}\n{script}").splitlines())
    assert len(found.checkpoints) == 3 and found.cut == ("weights",)


def test_a_link_and_a_mount_are_seen_as_such(spark: Spark, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "name"
    elsewhere.mkdir(parents=True)
    (spark.weights / "org").mkdir()
    (spark.weights / "org" / "link").symlink_to(elsewhere)
    (spark.weights / "owner").symlink_to(elsewhere.parent)
    spark.checkpoint("org/mounted")
    below = f"30 22 8:1 /x {spark.weights}/org/mounted/sub rw - ext4 /dev/root rw\n"
    spark.has(mountinfo=MOUNTS + below)
    bars = {each.name: each.bar for each in spark.look().checkpoints}
    assert bars == {"org/link": "link", "owner/name": "link", "org/mounted": "mount"}


def test_the_folder_of_all_may_be_a_link(spark: Spark) -> None:
    spark.checkpoint(ONE)
    given = spark.root / "given"
    given.symlink_to(spark.weights)
    (found,) = spark.look(given).checkpoints
    assert (found.path, found.given, found.bar) == (f"{spark.weights}/{ONE}", f"{given}/{ONE}", "none")


def test_names_that_are_none_are_counted_alone(spark: Spark) -> None:
    for name in ("a b", "x\nrecord x", "$(touch x)", "-rf", "é", "a--b", f"x{WORST.replace('/', '')}"):
        (spark.weights / "org" / name).mkdir(parents=True)
    found = spark.look()
    assert (found.checkpoints, found.odd) == ((), 7)


def test_a_folder_that_is_not_there_is_an_empty_one(spark: Spark) -> None:
    found = spark.look(spark.root / "none" / "here")
    assert found.checkpoints == () and found.rooms


# --- images, records, caches, room


def test_docker_is_asked_for_images_and_containers(spark: Spark) -> None:
    spark.has(
        images=f"{IMAGE}\n{IMAGE}\n{LOOSE}\n",
        containers="c1\n",
        inspected=f"image {IMAGE} 7 a:1\nimage {LOOSE} 8 <none>:<none>\n",
        started=f'container {IMAGE} exited "/x" "a:1"\nmounted "/srv/a b"\n',
    )
    state = spark.look()
    one, dangling = state.images
    assert (one.names, one.size) == (("a:1",), 7) and dangling.names == ()
    (container,) = state.containers
    assert (container.name, container.mounts, container.runs, container.asked) == (
        "x",
        ("/srv/a b",),
        False,
        "a:1",
    )
    assert f" {IMAGE} {LOOSE}" in spark.log.read_text(), "each once"


def test_a_docker_that_does_not_run_is_not_started(spark: Spark) -> None:
    spark.has(**{"no-docker": ""})
    assert spark.look().docker == "stopped" and spark.calls == []


def test_a_docker_that_does_not_answer_is_said(spark: Spark) -> None:
    (spark.root / "containers").unlink()
    assert spark.look().docker == "failed"


def test_records_are_read_and_garbage_is_named(spark: Spark) -> None:
    for path, text in (
        ("etc/sparkrig/serve/serve.json", record().file().content),
        ("var/lib/sparkrig/serve/before/etc/sparkrig/serve/serve.json", "no JSON"),
        ("var/lib/sparkrig/serve/trial", ""),
        ("etc/sparkrig/serve/embed/serve.json", record(TWO).file().content),
        ("var/lib/sparkrig/serve-embed/before/etc/sparkrig/serve/embed/serve.json", record().file().content),
        ("var/lib/sparkrig/serve-embed/trial", ""),
        ("etc/sparkrig/serve/Odd name/serve.json", "of no service"),
        ("var/lib/sparkrig/runs/R1/before/files/etc/sparkrig/serve/serve.json", record(TWO).file().content),
        ("var/lib/sparkrig/runs/R1/before/files/etc/sparkrig/serve/embed/serve.json", record().file().content),
        ("var/lib/sparkrig/runs/R1/before/files/etc/sparkrig/serve/port/serve.json", "a name that is none"),
        ("var/lib/sparkrig/runs/R 2/before/files/etc/sparkrig/serve/serve.json", "a name that is none"),
    ):
        (spark.root / path).parent.mkdir(parents=True, exist_ok=True)
        (spark.root / path).write_text(text)
    of = Service("embed")
    assert spark.look().kept == (
        Kept("now", UNNAMED, record()),
        Kept("now", of, record(TWO)),
        Kept("trial", UNNAMED, None),
        Kept("trial", of, record()),
        Kept("run", UNNAMED, record(TWO), "R1"),
        Kept("run", of, record(), "R1"),
    )


def test_caches_and_room_are_counted(spark: Spark) -> None:
    at = spark.root / "var/cache/sparkrig/serve/vllm"
    at.mkdir(parents=True)
    (at / "kernel").write_text("x" * 100_000)
    (spark.weights / ".huggingface").mkdir()
    (spark.root / "var/cache/sparkrig/serve/link").symlink_to("/")
    hub_cache = spark.cached("ann", ONE).parent
    found = spark.look()
    assert set(found.caches) == {str(at), f"{spark.weights}/.huggingface", str(hub_cache)}
    assert 100_000 <= (found.caches[str(at)] or 0) < 150_000
    assert found.rooms and all(0 <= each.free <= each.size for each in found.rooms)


# --- reading


def test_rows_make_what_there_is() -> None:
    found = seen()
    assert [each.name for each in found.checkpoints] == [ONE, TWO, "org/elsewhere"]
    assert found.rooms == (Room("/", 4 * 10**12, 10**12),) and found.kept == (Kept("now", UNNAMED, record()),)
    image, base, loose = found.images
    for name in (
        "vllm/vllm-openai:v0.17.0-cu130",
        f"vllm/vllm-openai@sha256:{'7' * 64}",
        IMAGE,
        IMAGE[7:19],
        IMAGE[:30],
    ):
        assert found.find(name) is image, name
    assert found.find("vllm-sm121") is base and found.find(LOOSE[7:]) is loose
    assert not any(map(found.find, ("a1a1", "vllm/vllm-openai", "", "zzzzzzzzzzzz")))


def test_the_start_of_two_ids_names_none() -> None:
    twin = IMAGE[:-2] + "00"
    found = seen(ROWS + f"\nimage {twin} 1")
    assert found.find(IMAGE[7:30]) is None and found.find(twin) is not None


def test_rows_that_make_no_sense_are_refused() -> None:
    def holds(row: str) -> None:
        with pytest.raises(FactProcessError):
            StorageFact().process([*ROWS.split("\n"), row])

    each_row(
        (
            *("", "nothing", "odd x", "weights /a", "weights a b c", f"checkpoint {ONE} whole 1 -"),
            *(
                f"checkpoint {ONE} good 1 none",
                f"checkpoint {ONE} whole x none",
                f"checkpoint {ONE} whole 1 other",
            ),
            *("docker maybe", "image -f 1", f"image {IMAGE} x", "image", "room 1 2", "room 1 2 x", "container x"),
            *("mounted {", f'container {IMAGE} running "x', "cache x 1", "record port eA==", "trial a b eA=="),
            *("kept $x eA==", "kept R1 port eA==", "kept R1 a b eA=="),
        ),
        holds,
    )
    with pytest.raises(FactProcessError, match="'docker' is not there"):
        StorageFact().process(["weights /a /a"])


def test_a_record_with_other_things_than_names_is_garbage() -> None:
    for text in ("", "[]", "{}", record().file().content.replace(f'"{ONE}"', "7")):
        found = seen(ROWS.replace(kept(record()), encoded(text)))
        assert found.kept == (Kept("now", UNNAMED, None),), text


# --- names


def test_what_is_a_checkpoint_by_its_name() -> None:
    good = (ONE, TWO, "a/b", "a.b/c_d-e", "0/1", f"{'a' * 96}/b")
    bad = (
        "",
        "a",
        "/a",
        "a/",
        "a/b/c",
        "../a",
        "a/..",
        "./a",
        "a/.",
        "a/.b",
        "-a/b",
        "a/-b",
        "a//b",
        "a/b\n",
        "a /b",
    )
    more = (
        "a/b;c",
        "a/$(x)",
        "é/b",
        "a..b/c",
        "a/b..c",
        "a--b/c",
        f"{'a' * 97}/b",
        "a\\b/c",
        f"a/b{WORST}",
        "a/b-",
    )
    assert [each for each in good if not hub.CHECKPOINT.fits(each)] == []
    assert [each for each in (*bad, *more) if hub.CHECKPOINT.fits(each)] == []


def test_what_is_an_image_by_its_name() -> None:
    good = ("vllm/vllm-openai:v1", IMAGE, BASE[7:19], "r.io:5000/a/b@sha256:77", "ubuntu")
    bad = ("", "-f", "--force", "a b", "a;b", "$(x)", "a\n", f"a{WORST}", "a" * 600, "/a")
    assert [each for each in good if not hub.IMAGE.fits(each)] == []
    assert [each for each in bad if hub.IMAGE.fits(each)] == []
