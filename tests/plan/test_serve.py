"""T1: deploys/serve.py on fake hosts."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig.serving import served, steps
from sparkrig.serving.checkpoint import files as checkpoint_files
from sparkrig.serving.io import catalogue_files, recipe_file
from sparkrig.serving.wish import Sizing
from tests.plan.conftest import A, B, Deploy, Host, Run, barred, well
from tests.plan.desk import Desk
from tests.plan.serve_runs import FILE, MODEL, PAIR, order, served_by, tail
from tests.plan.serving import (
    BOTH,
    GIB,
    HELD,
    IMAGE,
    NAME,
    OTHER,
    SOLO,
    Spark,
    answering,
    files,
    hosts,
    in_another_store,
    ready,
    serving,
)
from tests.tables import each_row, table

IMAGES, WEIGHTS, SERVER = "Serve | image", "Serve | weights", "Serve | server"
WRITE = "while read -r folder name mode content"


@pytest.mark.slow
def test_what_is_served_costs_one_exec_a_host_and_changes_nothing(deploy: Deploy) -> None:
    for model, nodes, ray, flags in ((SOLO, 1, False, MODEL), (BOTH, 2, False, PAIR), (BOTH, 2, True, PAIR)):
        pair = serving(model, "a", nodes, ray), serving(model, "b", nodes, ray)
        run = well(served_by(deploy, *pair, "-y", *flags))
        assert (len(run.commands), run.changes) == (2, [])
        run = served_by(deploy, *pair, "--dry", "--json", *flags)
        assert set().union(*run.plan.values()) == set(), run.plan


def test_a_pair_as_it_was_deployed_is_settled(deploy: Deploy) -> None:
    """Whatever is free now; with a copy of a pinned image, which has no digest, or one in another store.

    `docker save` keeps no digest, and an ID is a store's own (sparkrig/host/images.py).
    """

    def holds(a: Spark, b: Spark, **settings: Any) -> None:
        run = served_by(deploy, a, b, "-y", *PAIR, **settings)
        assert (run.code, len(run.commands), run.changes) == (0, 2, []), tail(run)

    def pair(first: dict[str, Any], second: dict[str, Any]) -> tuple[Spark, Spark]:
        return serving(BOTH, "a", 2, **first), serving(BOTH, "b", 2, **second)

    kept = [files(BOTH, rank, 2, serve_image=PINNED) for rank in (0, 1)]
    pinned = pair({"images": {PINNED: IMAGE}, "files": kept[0]}, {"images": {"other:1": IMAGE}, "files": kept[1]})
    for available in (20.0, 5.0):
        holds(*pair({"memory": (121.7, available)}, {"memory": (121.7, 9.0)}))
    holds(*pair({"commit": COMMIT}, {"commit": COMMIT}))
    holds(*pinned, serve_image=PINNED)
    holds(serving(BOTH, "a", 2, contents={IMAGE: HELD}), in_another_store(serving(BOTH, "b", 2), BOTH, 1, 2))


def test_without_a_model_it_is_the_one_that_was_served_last(deploy: Deploy) -> None:
    run = well(served_by(deploy, serving(BOTH, "a", 2), serving(BOTH, "b", 2), "-y", serve_image=None))
    assert (len(run.commands), run.changes) == (2, [])
    run = served_by(deploy, Spark(), Spark(), "-y")
    assert run.code == 1
    assert "Refused: no model is named, and this host serves none yet" in run.stderr


def test_a_first_server_is_planned_on_those_that_have_a_part(deploy: Deploy) -> None:
    run = well(served_by(deploy, Spark(), Spark(), "--dry", "--json", *PAIR))
    assert {step: found for step, found in run.plan.items() if found} == {
        step: {A, B} for step in (IMAGES, WEIGHTS, SERVER)
    }
    run = served_by(deploy, ready(), Spark(), "--dry", "--json", *MODEL)
    assert run.plan[SERVER] == {A, B} and not run.plan[IMAGES] and not run.plan[WEIGHTS]


def started(a: Spark, b: Spark, model: str, **changes: Any) -> list[Host]:
    return answering(hosts(a, b), model, **changes)


def paired(deploy: Deploy, a: Spark, b: Spark, *flags: str) -> Run:
    """A run that serves the large model on both, and ends well."""
    return well(deploy(started(a, b, "qwen3-235b-a22b"), "-y", *flags, *PAIR, file=FILE))


def test_a_pair_is_started_on_trial_asked_and_then_let_in(deploy: Deploy) -> None:
    run = paired(deploy, ready(BOTH), ready(BOTH))
    order(
        run,
        "spark-a",
        "docker run --rm --network none",
        'mv -T "$before.new" "$before"',
        "while read -r folder name mode content",
        "systemctl daemon-reload",
        "systemctl start sparkrig-serve.service",
        "port=$1 before=$2",
        "/v1/chat/completions",
        "systemctl start sparkrig-serve-port.socket",
    )
    order(
        run,
        "spark-b",
        "mv -T",
        "daemon-reload",
        "start sparkrig-serve.service",
        "port=$1 before=$2",
        f"rm -f {served.TRIAL}",
    )
    assert "qwen3-235b-a22b answers on port 8000" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_model_that_was_saved_in_the_inventory_s_project_is_served(deploy: Deploy, tmp_path: Path) -> None:
    """The inventory of a fake host lies in tmp_path, which is a project here."""
    words = ("-y", "--data", "model=Qwen/Qwen3-8B")
    a = ready("Qwen/Qwen3-8B", room=100 * GIB)
    unknown = served_by(deploy, a, Spark(), *words)
    assert unknown.code == 1 and unknown.changes == []
    assert "Refused: the catalogue has no model Qwen/Qwen3-8B" in unknown.stderr
    assert "Try: sparkrig models show Qwen/Qwen3-8B --save" in unknown.stderr
    (tmp_path / "deploys").mkdir()
    (tmp_path / "deploys" / "cluster.py").touch()
    config = Path("tests/fixtures/checkpoints/Qwen--Qwen3-8B/config.json").read_text(encoding="utf-8")
    files = checkpoint_files.Files(config, sizes={"model.safetensors": 16_381_470_720})
    model = checkpoint_files.read("Qwen/Qwen3-8B", files)
    catalogue_files.save(model, tmp_path / "models", "of a test")
    rows = tmp_path / "models" / "lint" / "memory.yaml"
    rows.parent.mkdir()
    claim = "{source: our own run, date: 2026-11-28, says: it ends}"
    told = f"severity: error, meaning: not that one, better: another one, reasons: [{claim}]"
    rows.write_text(f"not-ours: {{{told}, when: {{model: [qwen3-8b]}}}}\n")
    refused = served_by(deploy, a, Spark(), *words)
    assert refused.code == 1 and "Refused: not-ours: " in refused.stderr, "the project's own rule of lint"
    rows.unlink()
    run = well(deploy(started(a, Spark(), "qwen3-8b"), *words, file=FILE))
    assert "qwen3-8b answers on port 8000" in run.stderr
    assert "Qwen/Qwen3-8B is not verified by anyone" in run.stderr


def test_a_recipe_with_programs_of_strangers_is_refused_before_any_change(deploy: Deploy, tmp_path: Path) -> None:
    file = tmp_path / "recipe.yaml"
    file.write_text("recipe_version: '2'\nmodel: openai/gpt-oss-120b\nruntime: vllm\nmods: [mods/fix]\n")
    (tmp_path / "mods/fix").mkdir(parents=True)
    (tmp_path / "mods/fix/run.sh").write_text("touch /tmp/x\n")
    run = served_by(deploy, ready(), Spark(), "-y", "--data", f"recipe={file}")
    assert run.code == 1 and run.changes == []
    assert "Refused: recipe runs programs of its authors in its container: mods/fix" in run.stderr, tail(run)
    assert f"sparkrig models show {file}, read them, then the same with --data serve_mods=sha256:" in run.stderr


def test_a_recipe_with_programs_of_strangers_that_a_person_agreed_to_is_served(
    deploy: Deploy, tmp_path: Path
) -> None:
    file = tmp_path / "recipe.yaml"
    file.write_text(
        "recipe_version: '2'\nmodel: openai/gpt-oss-120b\ncontainer: a/b:1\npre_exec: [touch /tmp/x]\n"
    )
    agreed = f"serve_mods={steps.digest(recipe_file.read(str(file)).steps)}"
    hosts = started(ready(SOLO), ready(SOLO), "gpt-oss-120b")
    run = well(deploy(hosts, "-y", "--data", f"recipe={file}", "--data", agreed, file=FILE))
    order(run, "spark-a", WRITE, "systemctl start sparkrig-serve.service")


@pytest.mark.slow
def test_nodes_of_ray_get_a_token_that_no_log_has(deploy: Deploy) -> None:
    """That it is the same on both is for `serve.token` to say."""

    def handed(a: Spark, b: Spark, *image: str) -> list[str]:
        found = started(a, b, "qwen3-235b-a22b")
        for host in found:
            host.responses = {**host.responses, "command -v vllm": ["has vllm", *image, "version 0.19.0"]}
        run = well(deploy(found, "-y", "-vvv", *PAIR, file=FILE))
        assert not re.search("RAY_AUTH_TOKEN=[A-Za-z0-9]", run.stdout + run.stderr)
        return sorted(name for name, text in run.commands if f'mv -T "$new" {served.RAY_ENV}' in text)

    assert handed(ready(BOTH), ready(BOTH), "ray") == ["spark-a", "spark-b"]
    lost = serving(BOTH, "a", 2, ray=True), serving(BOTH, "b", 2, ray=True, token="")
    assert handed(*lost) == ["spark-a", "spark-b"]
    assert handed(ready(BOTH), ready(BOTH)) == [], "vLLM's own form needs none"
    closed = serving(BOTH, "a", 2, ray=True, port="inactive", listening=(22,))
    again = closed, serving(BOTH, "b", 2, ray=True)
    assert handed(*again) == [], "they have one"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"state": "active 1 000"}, "ended on @fake/spark-a (RuntimeError: out of memory)"),
        ({"choices": [{"message": {"content": "!" * 40}}]}, "its answer is garbage"),
    ],
    ids=["ends", "garbage"],
)
def test_what_fails_its_trial_goes_and_the_old_one_comes_back(
    deploy: Deploy, said: dict[str, Any], reason: str
) -> None:
    a, b = (serving(SOLO, letter, weights={SOLO: ("whole", 1), BOTH: ("whole", 1)}) for letter in "ab")
    run = deploy(started(a, b, "qwen3-235b-a22b", **said), "-y", *PAIR, file=FILE)
    assert run.code == 1
    assert f"Changed and rolled back: qwen3-235b-a22b: {reason}" in run.stderr, tail(run)
    backs = [host for host, command in run.commands if 'cp -a --remove-destination "$before$path"' in command]
    assert sorted(backs) == ["spark-a", "spark-b"]
    assert "gpt-oss-120b" in run.stderr.partition("rolled back")[2]
    assert not [text for _, text in run.commands if f"rm -f {served.TRIAL}\nrm -rf" in text], "it was never let in"
    noted = [host for host, text in run.commands if "/trial.new" in text]
    assert sorted(noted) == ["spark-a", "spark-b"], "sparkrig status has it from there"


DOWN: dict[str, Any] = {
    "unit": {"ActiveState": "failed"},
    "port": "inactive",
    "listening": (22,),
    "health": None,
    "image": "",
}


def test_what_cannot_be_served_is_refused_before_the_old_server_stops(deploy: Deploy) -> None:
    def holds(
        said: str,
        there: str = "ready",
        changes: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        model: str = "gpt-oss-120b",
    ) -> None:
        down = DOWN if there == "down" else {}
        if there == "ready":
            a, b = ready(BOTH if model == "qwen3-235b-a22b" else SOLO, **changes or {}), Spark()
        else:
            a, b = serving(SOLO, **{**down, **(changes or {})}), serving(SOLO, "b")
        run = served_by(deploy, a, b, "-y", "--data", f"model={model}", **settings or {})
        assert run.code == 1 and f"Refused: {said}" in run.stderr, tail(run)
        assert run.changes == [] and "Traceback" not in run.stderr

    each_row(table(__file__, "what cannot be served"), holds)


# --- who reaches it


def test_a_pair_whose_port_moves_is_told_so(deploy: Deploy) -> None:
    open_ = files(BOTH, 0, 2, serve_listen="all")
    a, b = serving(BOTH, "a", 2, files=open_, bound=("*:8000",)), serving(BOTH, "b", 2)
    run = deploy(started(a, b, "qwen3-235b-a22b"), "-y", *PAIR, file=FILE)
    said = "elsewhere from now on: 127.0.0.1:8000; asks for no key; until now: every address, port 8000; asks for"
    assert run.code == 0 and said in run.stderr, tail(run)
    way = "from here: ssh -fN -L 8000:127.0.0.1:8000 spark-a, then curl http://127.0.0.1:8000/v1/models"
    assert way in run.stderr
    run = served_by(deploy, a, b, "--dry", "--json", *PAIR, serve_listen="all")
    assert "elsewhere" not in run.stderr and "every client that reaches *:8000 may use the model" in run.stderr


def test_with_a_key_it_answers_the_management_network(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "sk-canary")
    found = started(ready(), Spark(), "gpt-oss-120b")
    given = {"secrets": {"VLLM_API_KEY": "env:KEY"}, "ssh_hostname": "spark-a.local"}
    found = [replace(each, data={**each.data, **given}) for each in found]
    run = well(deploy(found, "-y", "-vvv", *MODEL, file=FILE))
    assert "http://spark-a.local:8000/v1/models answers, with VLLM_API_KEY" in run.stderr
    assert "sk-canary" not in run.stdout + run.stderr


# --- memory and context

BEFORE = Sizing(0.87, 32768)


def test_a_pair_gets_one_share_of_the_memory_by_the_half_with_less_room(deploy: Deploy) -> None:
    a, b = ready(BOTH), ready(BOTH, memory=(121.7, 90.0))
    run = paired(deploy, a, b)
    said = "--gpu-memory-utilization 0.69, --max-model-len 32768, --kv-cache-memory-bytes 18630M"
    free = "116.7 of 121.7 GiB are free on spark-a; 90.0 of 121.7 GiB are free on spark-b"
    assert f"{said}: {free}" in run.stderr, tail(run)


def test_the_plan_tells_what_a_server_gets_of_the_memory_and_nothing_of_one_that_has_it(deploy: Deploy) -> None:
    run = served_by(deploy, ready(BOTH), ready(BOTH), "--dry", *PAIR)
    said = "it gets --gpu-memory-utilization 0.87, --max-model-len 32768, --kv-cache-memory-bytes 41062M"
    assert run.code == 0 and run.stderr.count(said) == 1, tail(run)
    run = served_by(deploy, serving(BOTH, "a", 2), serving(BOTH, "b", 2), "--dry", *PAIR)
    assert run.code == 0 and "it gets" not in run.stderr


def test_a_version_before_the_flag_sizes_its_cache_itself(deploy: Deploy) -> None:
    found = started(ready(BOTH), ready(BOTH), "qwen3-235b-a22b")
    for host in found:
        host.responses = {**host.responses, "command -v vllm": ["has vllm", "version 0.10.2"]}
    run = well(deploy(found, "-y", *PAIR, file=FILE))
    assert "--max-model-len 32768: 116.7 of" in run.stderr, tail(run)


def test_a_pair_that_was_deployed_before_its_cache_had_a_size_is_left_alone(deploy: Deploy) -> None:
    a, b = (serving(BOTH, each, 2, files=files(BOTH, rank, 2, sized=BEFORE)) for rank, each in enumerate("ab"))
    run = well(served_by(deploy, a, b, "--dry", "--json", *PAIR))
    assert not run.plan.get(SERVER), "nothing of it changes"


def test_what_was_decided_stays_where_only_files_change(deploy: Deploy) -> None:
    a, b = (serving(BOTH, each, 2, memory=(121.7, 5.0)) for each in "ab")
    found = [replace(each, data={**each.data, "memory_guard": 5}) for each in started(a, b, "qwen3-235b-a22b")]
    run = well(deploy(found, "-y", *PAIR, file=FILE))
    assert [host for host, text in run.commands if WRITE in text] and "GiB are free" not in run.stderr


def test_another_wish_is_decided_anew_with_what_our_own_server_gives_back(deploy: Deploy) -> None:
    a, b = (serving(BOTH, each, 2, memory=(121.7, 9.0)) for each in "ab")
    found = started(a, b, "qwen3-235b-a22b")
    found = [replace(each, data={**each.data, "serve_flags": {"seed": 7}}) for each in found]
    run = well(deploy(found, "-y", *PAIR, file=FILE))
    assert "--gpu-memory-utilization 0.87, " in run.stderr and "111.3 of 121.7 GiB are free on" in run.stderr


def test_halves_with_two_shares_are_brought_together(deploy: Deploy) -> None:
    other = files(BOTH, 1, 2, sized=Sizing(0.7, 8192))
    run = well(
        served_by(deploy, serving(BOTH, "a", 2), serving(BOTH, "b", 2, files=other), "--dry", "--json", *PAIR)
    )
    assert run.plan[SERVER], "what each host has is as it was deployed there"


def test_memory_that_goes_while_the_weights_come_is_seen_again(deploy: Deploy) -> None:
    """Hours lie between the look and the start."""
    a, b = started(ready(), Spark(), "gpt-oss-120b")
    later = replace(a, later={"serving": ready(memory=(121.7, 30.0)).rows()})
    run = deploy([later, b], "-y", *MODEL, file=FILE)
    assert run.code == 1
    assert "30.0 of 121.7 GiB are free on spark-a" in run.stderr, tail(run)
    assert not [text for _, text in run.commands if "systemctl start" in text or WRITE in text]


def test_a_file_of_the_server_that_cannot_be_written_is_refused_before_any_change(deploy: Deploy) -> None:
    """An immutable unit was found out when the old server had stopped."""
    row = f"barred immutable {served.SERVICE} {served.SERVICE}"
    (a, b) = hosts(ready(), Spark())
    run = deploy([replace(a, seen=barred(a.seen, row)), b], "-y", *MODEL, file=FILE)
    assert run.code == 1
    assert f"Refused: {served.SERVICE} is immutable (chattr +i). " in run.stderr, tail(run)
    assert f"Try: ssh spark-a sudo chattr -i {served.SERVICE}" in run.stderr
    assert run.changes == [] and "Traceback" not in run.stderr
    (a, b) = hosts(serving(SOLO, "a", 1, False), serving(SOLO, "b", 1, False))
    settled = deploy([replace(a, seen=barred(a.seen, row)), b], "-y", *MODEL, file=FILE)
    assert settled.code == 0 and settled.changes == [], tail(settled)


def test_what_only_the_image_shows_is_judged_before_the_old_server_stops(deploy: Deploy) -> None:
    """Which form two Sparks take, and so which port, follows from what is in the image."""
    run = deploy(
        started(ready(BOTH, listening=(22, 29501)), ready(BOTH), "qwen3-235b-a22b"), "-y", *PAIR, file=FILE
    )
    assert run.code == 1
    assert "port 29501 is taken by another program, and the nodes of multinode meet there" in run.stderr, tail(run)
    assert not [text for _, text in run.commands if 'mv -T "$before.new"' in text or WRITE in text]


def test_an_image_that_the_other_half_has_no_room_for_is_not_copied(deploy: Deploy) -> None:
    a, b = ready(BOTH, sizes={IMAGE: 20 * GIB}), ready(BOTH, images={}, store=30 * GIB)
    run = deploy(started(a, b, "qwen3-235b-a22b"), "-y", *PAIR, file=FILE)
    assert run.code == 1
    assert "takes about 40.0 GiB while it is unpacked, and 30.0 GiB are free for /var/lib/docker" in run.stderr
    assert not [text for _, text in run.commands if "docker save" in text]


def test_what_a_half_lacks_crosses_the_fabric_and_is_no_download(deploy: Deploy) -> None:
    lacks = ready(BOTH, weights={})
    run = paired(deploy, ready(BOTH), lacks)
    (copy,) = [
        command for host, command in run.commands if host == "spark-b" and "came in another size" in command
    ]
    assert f"sparkrig nvidia spark-a /srv/models/{BOTH}" in copy
    assert not [command for _, command in run.commands if "docker pull" in command or "--local-dir" in command]


DRAFT = "nvidia/a-draft"


def test_a_draft_is_downloaded_once_and_crosses_the_fabric_like_the_weights(deploy: Deploy) -> None:
    found = [
        replace(each, data={**each.data, "serve_draft": DRAFT, "serve_revision": COMMIT})
        for each in started(ready(BOTH, commit=COMMIT), ready(BOTH, commit=COMMIT), "qwen3-235b-a22b")
    ]
    run = well(deploy(found, "-y", *PAIR, file=FILE))
    (download,) = [text for _, text in run.commands if "--local-dir" in text or "snapshot_download" in text]
    assert DRAFT in download and COMMIT not in download, "the revision is that of the model"
    (copy,) = [text for host, text in run.commands if host == "spark-b" and "came in another size" in text]
    assert f"/srv/models/{DRAFT}" in copy


@pytest.mark.parametrize("there", [True, False])
def test_a_draft_that_is_a_folder_crosses_the_fabric_and_is_never_downloaded(deploy: Deploy, there: bool) -> None:
    weights = {BOTH: ("whole", 1)}
    first = ready(BOTH, weights={**weights, DRAFT: ("whole", 1)} if there else weights)
    found = [
        replace(each, data={**each.data, "serve_draft": f"/srv/models/{DRAFT}"})
        for each in started(first, ready(BOTH, weights=weights), "qwen3-235b-a22b")
    ]
    run = deploy(found, "-y", *PAIR, file=FILE)
    assert not [text for _, text in run.commands if "--local-dir" in text or "snapshot_download" in text]
    copies = [(host, text) for host, text in run.commands if "came in another size" in text]
    if there:
        assert run.code == 0, tail(run)
        ((host, copy),) = copies
        assert host == "spark-b" and f"/srv/models/{DRAFT}" in copy
    else:
        assert run.code == 1 and run.changes == [] and not copies, tail(run)
        assert f"Refused: serve_draft is /srv/models/{DRAFT}, and that folder is not there" in run.stderr


PINNED = "vllm-standin@sha256:77"


def test_a_copy_that_was_never_served_yet_is_not_copied_again(deploy: Deploy) -> None:
    found = hosts(*(ready(BOTH, images={name: IMAGE}) for name in (PINNED, "other:1")), serve_image=PINNED)
    run = well(deploy(answering(found, "qwen3-235b-a22b"), "-y", "-v", *PAIR, file=FILE))
    assert run.stderr.count(f"noop: {PINNED} is there") == 2


def test_an_image_that_did_not_arrive_is_said(deploy: Deploy) -> None:
    run = deploy(started(ready(BOTH), ready(BOTH, images={}), "qwen3-235b-a22b"), "-y", *PAIR, file=FILE)
    assert run.code == 1
    (copy,) = [command for host, command in run.commands if host == "spark-b" and "docker save" in command]
    assert copy.endswith(f"sparkrig nvidia spark-a {IMAGE}") and "bash -c" in copy
    assert f"still has no image {IMAGE[:19]} after it was copied" in run.stderr
    assert not [command for _, command in run.commands if "start sparkrig-serve.service" in command]


def test_a_stopped_half_is_started_with_the_image_by_the_id_of_its_own_store(deploy: Deploy) -> None:
    """Files that named it by the ID of the other host's store would be written anew."""
    a = serving(BOTH, "a", 2, contents={IMAGE: HELD})
    b = in_another_store(serving(BOTH, "b", 2, unit=STOPPED.unit), BOTH, 1, 2)
    run = paired(deploy, a, b)
    starts, writes = (
        [host for host, command in run.commands if piece in command]
        for piece in ("start sparkrig-serve.service", WRITE)
    )
    assert starts == ["spark-b"] and writes == [], tail(run)


def test_an_image_in_another_store_is_not_copied_again(deploy: Deploy) -> None:
    a, b = ready(BOTH, contents={IMAGE: HELD}), in_another_store(ready(BOTH), BOTH, 1, 2)
    run = paired(deploy, a, b, "-v")
    assert not [command for _, command in run.commands if "docker save" in command or "docker tag" in command]


@pytest.mark.parametrize("held", [{OTHER: "d4" * 32}, {}], ids=["another", "not known"])
def test_an_image_that_holds_something_else_is_copied(deploy: Deploy, held: dict[str, str]) -> None:
    a = ready(BOTH, contents={IMAGE: HELD})
    b = replace(in_another_store(ready(BOTH), BOTH, 1, 2), contents=held)
    run = deploy(started(a, b, "qwen3-235b-a22b"), "-y", *PAIR, file=FILE)
    assert run.code == 1
    assert [host for host, command in run.commands if "docker save" in command] == ["spark-b"]
    assert f"still has no image {IMAGE[:19]} after it was copied" in run.stderr


def test_a_copy_under_another_name_gets_the_one_that_is_asked_for(deploy: Deploy) -> None:
    a = ready(BOTH, contents={IMAGE: HELD})
    b = replace(in_another_store(ready(BOTH), BOTH, 1, 2), images={"other:1": OTHER})
    run = deploy(started(a, b, "qwen3-235b-a22b"), "-y", *PAIR, file=FILE)
    tags = [(host, command) for host, command in run.commands if 'docker tag "$1" "$2"' in command]
    assert [host for host, _ in tags] == ["spark-b"] and tags[0][1].endswith(f"{OTHER} {NAME}")
    assert not [command for _, command in run.commands if "docker save" in command]


def test_a_peer_that_may_not_log_in_gets_no_weights(deploy: Deploy) -> None:
    run = served_by(deploy, ready(BOTH), ready(BOTH, weights={}), "-y", *PAIR, node_ssh=False)
    assert run.code == 1
    assert "would get it from @fake/spark-a over the fabric, and cannot log in there" in run.stderr
    assert "node_ssh" in run.stderr and "Traceback" not in run.stderr


COMMIT, LATER = "b5c939de8f75" + 28 * "4", "dc61ed29c478" + 28 * "4"


def test_weights_of_another_commit_than_the_declared_one_change_nothing(deploy: Deploy) -> None:
    a, b = (serving(BOTH, each, 2, commit=COMMIT) for each in "ab")
    run = served_by(deploy, a, b, "-y", *PAIR, serve_revision=LATER)
    assert run.code == 1 and run.changes == []
    assert f"is of commit {COMMIT} of the hub, and serve_revision is {LATER}" in run.stderr


STOPPED = serving(BOTH, "a", 2, unit={"ActiveState": "failed"}, port="inactive", listening=(22,), health=None)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (STOPPED, serving(BOTH, "b", 2)),
        (serving(BOTH, "a", 2), serving(BOTH, "b", 2, images={NAME: OTHER})),
        (serving(BOTH, "a", 2, ray=True), serving(BOTH, "b", 2, ray=True, token="")),
        (serving(BOTH, "a", 2, ray=True), serving(BOTH, "b", 2, ray=True, token="4567")),
    ],
    ids=["stopped", "another image", "no token", "another token"],
)
def test_what_moved_is_due(deploy: Deploy, a: Spark, b: Spark) -> None:
    run = well(served_by(deploy, a, b, "--dry", "--json", *PAIR))
    assert run.plan[SERVER], run.plan


STOOD = (
    "2026-11-24T12:03:00Z stuck restarted the engine stood still for 300 s: requests running: 2, the GPU drew 14 W"
)
GONE = STOOD.replace("12:03", "12:31").replace("restarted", "stopped")


def test_each_half_has_a_watch_and_one_without_it_is_due(deploy: Deploy) -> None:
    pair = {letter: serving(BOTH, letter, 2) for letter in "ab"}
    for letter, words in (("a", "--port 18000 --seconds 300"), ("b", "--head 192.168.100.11:29501")):
        unit = next(each for each in pair[letter].files if each.path == served.WATCH)
        assert words in unit.content
        without = replace(pair[letter], files=[each for each in pair[letter].files if each is not unit])
        changed = {**pair, letter: without}
        run = served_by(deploy, changed["a"], changed["b"], "--dry", "--json", *PAIR)
        assert run.plan[SERVER], run.plan


def test_a_deploy_makes_up_for_what_the_watch_did_and_then_has_nothing_to_do(deploy: Deploy) -> None:
    """A server that it restarted is up: what is left is the note of it, which goes with the commit."""
    pair = serving(BOTH, "a", 2, events=(STOOD,)), serving(BOTH, "b", 2)
    assert served_by(deploy, *pair, "--dry", "--json", *PAIR).plan[SERVER]
    run = paired(deploy, *pair)
    assert [name for name, text in run.commands if served.EVENTS in text and "serve/trial" in text], run.commands
    assert not [text for _, text in run.commands if "docker rm -f" in text], "it goes on serving"
    stopped = replace(STOPPED, events=(STOOD, GONE)), serving(BOTH, "b", 2)
    run = paired(deploy, *stopped)
    order(run, "spark-a", "systemctl start sparkrig-serve.service", "port=$1 before=$2", f"/{served.EVENTS[1:]}")


def unbraked(spark: Spark) -> Spark:
    """The same as an earlier version deployed it, which had no brake."""
    kept = [each for each in spark.files if each.path != served.BRAKE]
    brake = re.compile(f".*(?:{served.BRAKE}|ssh\\.service).*\n")
    return replace(spark, files=[replace(each, content=brake.sub("", each.content)) for each in kept])


def test_a_server_that_gets_its_brake_goes_on(deploy: Deploy) -> None:
    """The unit changes, and what it starts does not; anything else in the same unit is put on trial."""
    pair = unbraked(serving(BOTH, "a", 2)), unbraked(serving(BOTH, "b", 2))
    assert served_by(deploy, *pair, "--dry", "--json", *PAIR).plan[SERVER]
    run = paired(deploy, *pair)
    assert not [text for _, text in run.commands if "docker rm -f" in text], "it goes on serving"
    assert {name for name, text in run.commands if "daemon-reload" in text} == {"spark-a", "spark-b"}
    edited = [
        replace(each, content=f"{each.content}#\n") if each.path == served.SERVICE else each
        for each in pair[0].files
    ]
    run = paired(deploy, replace(pair[0], files=edited), pair[1])
    assert {name for name, text in run.commands if "docker rm -f" in text} == {"spark-a", "spark-b"}


# --- drift


def test_a_pair_that_serves_is_in_spec_whatever_the_inventory_says_of_models(desk: Desk) -> None:
    for named in ({}, {"model": "qwen3-235b-a22b"}):
        done = desk.has(hosts(serving(BOTH, "a", 2), serving(BOTH, "b", 2), **named)).drift()
        assert (done.code, done.wrong) == (0, {A: set(), B: set()}), done.said
        assert done.row(A, "serve.unit")["status"] == "ok"


def test_drift_finds_what_moved_and_prints_what_mends_it(desk: Desk) -> None:
    done = desk.has(hosts(STOPPED, serving(BOTH, "b", 2, image=OTHER))).drift()
    assert (done.code, done.wrong) == (2, {A: {"serve.unit", "serve.alike"}, B: {"serve.image", "serve.alike"}})
    assert done.row(A, "serve.unit")["cure"].endswith("deploys/serve.py")
    shown = desk.typed("drift").out
    assert shown.count("deploys/serve.py") == 1, shown


def test_drift_tells_what_the_watch_did(desk: Desk) -> None:
    done = desk.has(hosts(serving(BOTH, "a", 2, events=(STOOD,)), serving(BOTH, "b", 2))).drift()
    assert done.code == 2 and "serve.stuck" in done.wrong[A] and not done.wrong[B] - {"deploy.plan"}, done.said
    row = done.row(A, "serve.stuck")
    assert (
        "restarted at 2026-11-24T12:03:00Z: the engine stood still for 300 s: requests running: 2" in row["found"]
    )
    assert "deploys/serve.py; if it comes again, try another --attention-backend" in row["cure"]


def test_drift_tells_of_a_launch_that_is_declared_otherwise(desk: Desk) -> None:
    """The flags of the inventory are in no check: what pyinfra would change is."""
    flags = {"model": "qwen3-235b-a22b", "serve_flags": {"max-model-len": 32768}}
    done = desk.has(hosts(serving(BOTH, "a", 2), serving(BOTH, "b", 2), **flags)).drift()
    assert (done.code, done.wrong) == (2, {A: {"deploy.plan"}, B: {"deploy.plan"}})
    row = done.row(A, "deploy.plan")
    assert row["found"] == "it would change: Serve | server" and row["cure"].endswith("deploys/serve.py")
