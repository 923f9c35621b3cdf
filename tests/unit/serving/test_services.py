"""Several servers on one host: what each is called, whose a file is, and what they share of the memory."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from sparkrig import programs
from sparkrig.fleet import Fleet
from sparkrig.operations import serving as operations
from sparkrig.refusal import Refusal
from sparkrig.serving import neighbours, served, service_settings, sizing
from sparkrig.serving.last_deploy import Record
from sparkrig.serving.served import Memory, Own, Service, Serving
from sparkrig.serving.wish import Sizing
from sparkrig.settings import Settings, SettingsError
from tests.plan.serving import BOTH, NAME, SOLO, embed_files, files
from tests.tables import each_row

EMBED = Service("embed")
GOOD = ("embed", "a", "x-1", "8", "a" * 24, "porter", "the-watcher")
BAD = (
    "",
    "-a",
    "a-",
    "A",
    "a_b",
    "a.b",
    "a b",
    "port",
    "watch",
    "memory",
    "a-port",
    "a-watch",
    "x-memory",
    "a" * 25,
)
UP = {"ActiveState": "active"}


def settings(**data: Any) -> Settings:
    return Fleet.parse({"spark": data})["spark"]


def record(**changes: Any) -> Record:
    given: dict[str, Any] = {"form": "solo", "nodes": 1, "rank": 0, "port": 8000, "trial_port": 18000}
    given |= {"weights": "/srv/models", "utilization": 0.6, "context": 8192}
    return Record("m", "a/b", "sha256:1", "image:1", **{**given, **changes})


def test_the_server_without_a_name_has_what_every_version_gave_it() -> None:
    """A host that the version before deployed is in spec, and its plan is empty."""
    unnamed = served.UNNAMED
    assert (unnamed.unit, unnamed.paths, unnamed.record) == (served.UNIT, served.PATHS, served.RECORD)
    assert unnamed.of(operations.BEGIN) == operations.BEGIN and unnamed.id == ""
    told = json.loads(record().file().content)
    assert "service" not in told and "settings" not in told and list(told)[-1] == "draft"


def test_a_named_one_shares_no_unit_file_or_folder_with_another() -> None:
    assert EMBED.unit == "sparkrig-serve-embed" and EMBED.watch_unit == "sparkrig-serve-embed-watch"
    assert EMBED.record == "/etc/sparkrig/serve/embed/serve.json"
    assert EMBED.of(served.TRIAL) == "/var/lib/sparkrig/serve-embed/trial"
    assert EMBED.of("/var/cache/sparkrig/serve") == "/var/cache/sparkrig/serve-embed"
    assert not {*EMBED.kept} & {*served.KEPT}
    names = [name for name in GOOD if served.usable(name)]
    paths = [path for name in ("", *names) for path in Service(name).kept]
    assert len(paths) == len({*paths})


@pytest.mark.parametrize("name", ["serving_begin", "serving_placed", "serving_roll_back", "serving_remove"])
def test_a_program_of_a_named_one_has_nothing_of_the_others(name: str) -> None:
    text = EMBED.of(programs.text(f"operations/{name}.sh"))
    for own in ("sparkrig-serve-embed", "/etc/sparkrig/serve/embed/", "/var/lib/sparkrig/serve-embed"):
        text = text.replace(own, "")
    assert "sparkrig-serve" not in text and "sparkrig/serve" not in text.replace("/lib/sparkrig/serve/embed/", "")


def test_a_watch_is_of_its_own_server() -> None:
    made = {file.path: file.content for file in embed_files()}
    watch = made[EMBED.of(served.WATCHER)]
    assert 'UNIT = "sparkrig-serve-embed"' in watch and '"var/lib/sparkrig/serve-embed/events"' in watch
    unit = made[EMBED.of(served.SERVICE)]
    assert "--name sparkrig-serve-embed " in unit and "docker stop -t 30 sparkrig-serve-embed\n" in unit
    assert "/var/cache/sparkrig/serve-embed/vllm:" in unit and served.START not in unit
    assert "!/var/lib/sparkrig/serve-embed/trial" in made[EMBED.of(served.SOCKET)]
    plain = {file.path: file.content for file in files(SOLO, 0, 1)}
    assert plain[served.WATCHER] == programs.file("serving/watch.py") and plain.keys().isdisjoint(made)


def test_names_that_would_give_the_units_of_another_one_are_none() -> None:
    for name in GOOD:
        assert served.usable(name) and settings(serve_name=name).serve_name == name
    for name in BAD:
        assert not served.usable(name)
        if name:
            with pytest.raises(SettingsError):
                settings(serve_name=name)


def test_whose_a_file_is() -> None:
    for name in ("", *GOOD):
        assert all(served.whose(path) == Service(name) for path in Service(name).paths), name
    others = (
        "/etc/nccl.conf",
        "/etc/systemd/system/sparkrig-serve-A.service",
        "/etc/sparkrig/serve/a/b/serve.json",
    )
    assert [served.whose(path) for path in (*others, served.RAY_ENV)] == [None] * 4


# --- what a look shows


def test_a_look_shows_each_service_by_itself() -> None:
    rows = [
        "looked",
        "unit ActiveState=active",
        "port active",
        "health 200",
        "listen 8000",
        "memory 1048576 524288",
    ]
    rows += ["other container sparkrig-serve-embed", "other container comfyui"]
    rows += [
        "service embed",
        "trial",
        "unit ActiveState=failed",
        "port inactive",
        "event x",
        "service A",
        "health 7",
    ]
    found = served.parse(rows)
    assert (found.active, found.health, found.trial, found.others) == (True, 200, False, ("container comfyui",))
    mine = found.of(EMBED)
    assert (mine.active, mine.health, mine.trial, mine.port) == (False, None, True, "inactive")
    assert mine.listening == (8000,) and mine.memory == found.memory
    assert mine.of(served.UNNAMED).health == 200 and found.of(Service("other")).unit == {}
    assert [*found.named] == ["embed"]


def test_no_more_than_some_services_are_looked_at() -> None:
    found = served.parse(["looked", *(f"service s{number}" for number in range(20))])
    assert len(found.named) == served.MOST


# --- the settings of one service


def test_a_named_service_has_what_was_given_for_it_and_what_is_of_the_host() -> None:
    mine = settings(serve_name="embed", model="chat", serve_flags={"seed": 1}, serve_image="i:1", patience=2)
    kept = record(service="embed", settings={"model": "a/b", "serve_port": 8001, "serve_trial_port": 18001})

    def holds(typed: set[str], expected: dict[str, Any]) -> None:
        found = service_settings.of(mine, "embed", kept, typed)
        shown = ("model", "serve_port", "serve_flags", "serve_image", "serve_trial_port")
        assert {name: getattr(found, name) for name in shown} == expected and found.patience == 2

    plain = {"model": "a/b", "serve_port": 8001, "serve_flags": {}, "serve_image": None, "serve_trial_port": 18001}
    rows = [
        ({"serve_name"}, plain),
        ({"serve_name", "serve_image"}, {**plain, "serve_image": "i:1"}),
        ({"serve_name", "model"}, {**plain, "model": "chat"}),
        ({"serve_name", "model", "serve_flags"}, {**plain, "model": "chat", "serve_flags": {"seed": 1}}),
    ]
    each_row(rows, holds)
    assert service_settings.of(mine, "embed", kept, set()) is mine, "the inventory's own"
    assert service_settings.of(mine, "", None, set()).model is None, "the other one is by its record"


def test_what_a_record_keeps_gives_the_same_settings_again() -> None:
    (file,) = [file for file in embed_files() if file.path == EMBED.record]
    kept = json.loads(file.content)
    assert kept["service"] == "embed" and kept["settings"]["serve_port"] == 8001
    again = service_settings.of(settings(serve_name="embed"), "embed", record(**{}), {"serve_name"})
    assert again.model is None
    loaded = record(service="embed", settings=kept["settings"])
    found = service_settings.of(settings(serve_name="embed"), "embed", loaded, {"serve_name"})
    assert service_settings.given(found) == kept["settings"] and found.serve_image == NAME


@pytest.mark.parametrize("kept", [{"serve_port": "x"}, {"serve_port": 18000}, {"serve_listen": "nowhere"}])
def test_settings_of_a_record_that_make_no_sense_are_refused(kept: dict[str, Any]) -> None:
    with pytest.raises(Refusal, match="the settings of service embed do not fit together"):
        service_settings.of(settings(serve_name="embed"), "embed", record(settings=kept), {"serve_name"})


# --- the memory


def there(embed: Own | None = None) -> Serving:
    named = {"embed": embed or Own(unit=UP, health=200)}
    return Serving(looked=True, unit=UP, health=200, memory=Memory(100.0, 40.0), named=named)


def test_what_another_server_holds_or_will_hold_is_no_room() -> None:
    records = {"": record(utilization=0.6), "embed": record(utilization=0.1, service="embed")}
    (chat,) = sizing.beside(there(), {"": records[""]})
    assert (str(chat), chat.loaded) == ("the server without a name (60.0 GiB)", True)
    (embed,) = sizing.beside(there(), {"embed": records["embed"]})
    assert (str(embed), embed.loaded) == ("service embed (10.0 GiB)", True)
    down = replace(there(), unit={"ActiveState": "inactive"}, health=None, memory=Memory(100.0, 95.0))
    beside = sizing.beside(down, records)
    assert [each.loaded for each in beside] == [False, True]
    assert sizing.room(down, None, others=beside).free == pytest.approx(20.0), "100 less 60 + 5 and 10 + 5"
    assert sizing.room(down, None).free == 95.0
    aside = {"": record(rank=served.ASIDE)}
    assert sizing.beside(there(), aside) == ()


def test_the_shares_of_all_stay_within_the_memory_whatever_is_free_now() -> None:
    """vLLM's own check is made anew after each boot, in any order."""
    records = {"": record(utilization=0.6)}
    beside = sizing.beside(replace(there(), memory=Memory(100.0, 90.0)), records)
    room = sizing.room(replace(there(), memory=Memory(100.0, 90.0)), None, others=beside)
    assert room.free == pytest.approx(35.0) and room.most == pytest.approx(0.3)
    with pytest.raises(Refusal) as caught:
        sizing.passes(Sizing(0.4, 8192), room)
    assert "asks for 40.0 GiB, and 35.0 of 100.0 GiB are free on this host, beside the server" in caught.value.what
    assert "a smaller --gpu-memory-utilization for the server without a name" in caught.value.cure


# --- who has what


def test_a_ninth_named_service_is_refused() -> None:
    full = Serving(named={f"s{number}": Own() for number in range(served.MOST)})
    mine = settings(serve_name="embed", serve_port=8001, serve_trial_port=18001)
    with pytest.raises(Refusal, match="8 named services already"):
        neighbours.judge(full, mine, {}, leads=True)
    neighbours.judge(full, settings(serve_name="s1"), {}, leads=True)
    neighbours.judge(full.of(Service("s1")), settings(serve_name="s1"), {}, leads=True)


def test_a_pair_has_one_server_of_each_form() -> None:
    for form in ("ray", "multinode"):
        with pytest.raises(Refusal, match=rf"the nodes of {form} meet at port \d+, which service embed has"):
            neighbours.meets(form, Serving(), None, {"embed": record(form=form, nodes=2)})
    neighbours.meets("ray", Serving(), None, {"embed": record(form="multinode", nodes=2), "": record()})
    neighbours.meets("solo", Serving(), None, {"embed": record()})
    with pytest.raises(Refusal, match="the standing Ray cluster has port 6379"):
        neighbours.meets("ray", Serving(), None, {}, standing=True)
    neighbours.meets("multinode", Serving(), None, {}, standing=True)
    with pytest.raises(Refusal, match="service embed has the GPUs of the standing Ray cluster"):
        neighbours.meets("standing", Serving(), None, {"embed": record(form="standing", nodes=2)}, standing=True)
    neighbours.meets("standing", Serving(), None, {"embed": record(form="multinode", nodes=2)}, standing=True)
    assert BOTH
