"""What serves a model, made of catalogue and settings: words, container, unit, files, refusals."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from sparkrig import cure, programs
from sparkrig.files import File, Found
from sparkrig.host import images
from sparkrig.host.images import Image
from sparkrig.network import environment
from sparkrig.refusal import Refusal
from sparkrig.serving import (
    arguments,
    last_deploy,
    listen,
    neighbours,
    plan,
    runtimes,
    served,
    sizing,
    smoke,
    unit_files,
)
from sparkrig.serving.budget import GIB
from sparkrig.serving.checkpoint import files as checkpoint_files
from sparkrig.serving.io import lint_rules
from sparkrig.serving.io.vllm_flags import knowledge
from sparkrig.serving.last_deploy import Record
from sparkrig.serving.model import IMAGE, Launch, Model
from sparkrig.serving.served import Service, Serving, Weights
from sparkrig.serving.service_settings import remembered
from sparkrig.serving.wish import Chosen, Node, Sizing, Wish
from tests.tables import each_row, table
from tests.unit.servings import CATALOGUE, ID, asked, made, mine

GPT, BIG = "openai/gpt-oss-120b", "Qwen/Qwen3-235B-A22B-GPTQ-Int4"
RELEASE = (
    "vllm/vllm-openai:v0.28.0-ubuntu2404@sha256:f8fe15a8039343336945db10494eaad80ef941fe2b2a5fa6649fa38636051a65"
)
HEAD, OTHER = IPv4Address("192.168.100.11"), IPv4Address("192.168.100.12")
RULES = lint_rules.rules()
LAUNCHES = [(model, launch) for model in CATALOGUE.models.values() for launch in model.launches]
NAMES = [f"{model.name}, {launch.title}" for model, launch in LAUNCHES]


def refused(**data: Any) -> str:
    with pytest.raises(Refusal) as caught:
        asked(**data)
    return caught.value.what


def started(unit: str) -> list[str]:
    """The words of ExecStart as systemd reads them: quotes as a shell's, `%%` and `$$` for one of each."""
    (line,) = [row.removeprefix("ExecStart=") for row in unit.splitlines() if row.startswith("ExecStart=")]
    assert not re.search(r"%|\$", line.replace("%%", "").replace("$$", "")), "systemd would fill something in"
    return [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(line)]


# --- what is asked for


def test_every_launch_of_the_catalogue_can_be_served() -> None:
    def holds(model: Model, launch: Launch) -> None:
        checkpoint = model.checkpoint(launch.checkpoint or model.best().id)
        if checkpoint.bad:
            assert "is not to be used" in refused(model=checkpoint.id)
            return
        wish = asked(checkpoint.id, max(2, launch.nodes), serve_nodes=launch.nodes, serve_image="image:1")
        base = model.base(checkpoint, launch.nodes)
        assert base is not None and base.nodes == launch.nodes
        found = arguments.read(wish.words[2:])
        assert found.model == f"/models/{checkpoint.id}" and not found.extra and not found.broken
        kept = {
            name.removeprefix("no-"): value
            for name, value in base.flags.items()
            if name not in {*runtimes.VLLM.ours, "served-model-name"}
        }
        assert set(kept) - {"tensor-parallel-size"} <= set(found.flags)
        assert found.flags["served-model-name"] == [model.name, checkpoint.id]
        assert found.flags["host"] == "127.0.0.1" and "port" not in found.flags
        if launch.nodes > 1:
            assert found.flags["tensor-parallel-size"] == f"{launch.nodes}"
        for form in ("ray", "multinode") if launch.nodes > 1 else ("solo",):
            errors = [
                each
                for each in plan.lint_of(wish, CATALOGUE.find, form, None, "aarch64", RULES, knowledge())
                if each.severity == "error"
            ]
            assert errors == []
        unit = made(wish, Node(0, HEAD, HEAD) if launch.nodes == 2 else Node())[served.SERVICE]
        assert started(unit)[-len(wish.words) :] == wish.words

    each_row(dict(zip(NAMES, LAUNCHES, strict=True)), holds)


def test_nodes_and_image_follow_from_the_checkpoint() -> None:
    def holds(data: dict[str, Any], nodes: int, image: str | None) -> None:
        wish = asked(**data)
        assert wish.nodes == nodes and (image is None or wish.image == image)

    each_row(table(__file__, "nodes and image follow from the checkpoint"), holds)


def test_no_launch_that_starts_needs_what_a_download_leaves_out() -> None:
    def holds(model: Model, launch: Launch) -> None:
        """consolidated.safetensors, which Mistral's own format is made of."""
        flags = {launch.flags.get(name) for name in ("load-format", "config-format")}
        assert "mistral" not in flags or "consolidated" in launch.obstacle, model.name

    each_row(dict(zip(NAMES, LAUNCHES, strict=True)), holds)


def test_flags_of_the_settings_win_and_false_leaves_one_out() -> None:
    flags = {"max-model-len": 32768, "moe-backend": False, "enable-prefix-caching": True}
    words = asked(serve_flags=flags).words
    found = arguments.read(words[2:]).flags
    assert found["max-model-len"] == "32768" and found["enable-prefix-caching"] is True
    assert "moe-backend" not in found and found["stream-interval"] == "20"


def test_what_cannot_be_is_one_sentence() -> None:
    def holds(data: dict[str, Any], said: str) -> None:
        assert said in refused(**data)

    each_row(table(__file__, "what cannot be is one sentence"), holds)


CHECKPOINT = Path(__file__).parents[2] / "fixtures" / "checkpoints" / "Qwen--Qwen3-8B" / "config.json"


def computed(**data: Any) -> Wish:
    """A model of nobody's catalogue, as it is saved."""
    files = checkpoint_files.Files(CHECKPOINT.read_text(), sizes={"model.safetensors": 16_381_470_720})
    model = checkpoint_files.read("Qwen/Qwen3-8B", files)
    known = CATALOGUE.model_copy(update={"models": {model.name: model, **CATALOGUE.models}})
    return plan.wish(known.find, mine(**{"model": "Qwen/Qwen3-8B", **data}), 2)


def test_a_model_that_was_computed_is_served_and_said_to_be_unverified() -> None:
    wish = computed()
    assert (wish.checkpoint.id, wish.nodes, wish.image, wish.flags) == (
        "Qwen/Qwen3-8B",
        1,
        IMAGE,
        {"reasoning-parser": "qwen3", "gpu-memory-utilization": 0.8},
    )
    assert computed(model="qwen3-8b").words == wish.words
    assert computed(serve_image="mine:1").image == "mine:1"
    assert computed(serve_nodes=2).flags["tensor-parallel-size"] == 2
    (said,) = plan.told(wish, [])
    assert said.startswith("Qwen/Qwen3-8B is not verified by anyone: ")
    assert asked().notes == ()


def test_a_computed_model_gets_a_context_that_fits_or_is_refused_with_figures() -> None:
    room = sizing.Room(121.7, 111.0)

    def size(**flags: Any) -> Sizing:
        wish, own = computed(serve_flags=flags), mine(serve_flags=flags)
        return plan.size(wish, own, room)

    assert size(**{"gpu-memory-utilization": 0.2}).context < 40_960
    with pytest.raises(Refusal, match=r"GiB with 40960 tokens of context, and 21\.9 GiB are for all of it"):
        size(**{"gpu-memory-utilization": 0.18, "max-model-len": 40_960})
    with pytest.raises(Refusal, match=r"does not fit: 15\.3 GiB of weights a node"):
        size(**{"gpu-memory-utilization": 0.1})


def test_a_checkpoint_that_is_not_known_says_how_to_make_it_known() -> None:
    for model in ("Qwen/Qwen3-9B", "foo/gpt-oss-120b"):
        with pytest.raises(Refusal) as error:
            asked(model)
        assert error.value.cure == f"sparkrig models show {model} --save"
    with pytest.raises(Refusal) as error:
        asked("qwen3-9b")
    assert error.value.cure == "sparkrig models"


def test_a_host_that_serves_is_told_by_its_own_record() -> None:
    record = Record("m", BIG, ID, "vllm:1", "ray", 2, 0, 8080, 18080, "/data", True)
    found = remembered(mine(), record)
    assert (found.model, found.serve_image, found.serve_nodes, found.serve_form) == (BIG, "vllm:1", 2, "ray")
    assert (found.serve_port, found.serve_trial_port, found.weights) == (8080, 18080, "/data")
    named = mine(model="gpt-oss-120b")
    assert remembered(named, record) is named and remembered(mine(), None) == mine()
    drafted = replace(record, draft=DRAFT)
    assert remembered(mine(), drafted).serve_draft == DRAFT and found.serve_draft is None
    assert remembered(mine(serve_draft=False), drafted).serve_draft == "none"
    opened = remembered(mine(), replace(record, listen="all"))
    assert (found.serve_listen, opened.serve_listen) == (None, "all")
    assert remembered(mine(serve_image="new:2"), record).serve_image == "new:2"


# --- what lands on a host


def test_a_node_of_a_pair_knows_its_part() -> None:
    wish = asked("qwen3-235b-a22b")
    files = made(wish, Node(1, HEAD, OTHER))
    told = dict(line.split("=", 1) for line in files[served.ENVIRONMENT].splitlines() if "=" in line)
    assert {name: told[name] for name in told if name.startswith("SPARKRIG")} == {
        "SPARKRIG_FORM": "multinode",
        "SPARKRIG_PORT": "18000",
        "SPARKRIG_RANK": "1",
        "SPARKRIG_NODES": "2",
        "SPARKRIG_HEAD": "192.168.100.11",
        "SPARKRIG_ADDRESS": "192.168.100.12",
    }
    assert served.SOCKET not in files and served.PROXY not in files, "the head alone answers"
    words = started(files[served.SERVICE])
    assert words[words.index("--device") :][:2] == ["--device", "/dev/infiniband"]
    assert made(wish, Node(0, HEAD, HEAD), ray=True)[served.ENVIRONMENT].count("SPARKRIG_FORM=ray\n") == 1


def test_a_lone_spark_is_told_nothing_of_others_and_needs_no_rdma() -> None:
    files = made(asked())
    assert "SPARKRIG_FORM=solo\n" in files[served.ENVIRONMENT] and "RANK" not in files[served.ENVIRONMENT]
    assert "/dev/infiniband" not in files[served.SERVICE]
    assert "ListenStream=127.0.0.1:8000\n" in files[served.SOCKET] and " 127.0.0.1:18000\n" in files[served.PROXY]


def test_a_lone_server_gets_nothing_of_the_fabric() -> None:
    """It would end with the cable, or when the other host is off."""
    given = {
        "VLLM_USE_V1": "1",
        "NCCL_DEBUG": "INFO",
        "NCCL_IB_TC": "106",
        "UCX_TLS": "rc",
        "VLLM_HOST_IP": "10.0.0.5",
    }
    files = made(asked(), environment=given)
    assert "container.env" not in files[served.SERVICE] and "/dev/infiniband" not in files[served.SERVICE]
    rows = dict(row.split("=", 1) for row in files[served.ENVIRONMENT].splitlines() if "=" in row)
    network = environment.container(environment.Node(["rocep1s0f0"], "enp1s0f0np0", HEAD, None), {})
    kept = {"NCCL_IGNORE_CPU_AFFINITY", "RAY_memory_monitor_refresh_ms"}
    assert {*network} & {*rows} == {*kept, "VLLM_HOST_IP"} and rows["VLLM_HOST_IP"] == "127.0.0.1"
    assert not [name for name in rows if name.startswith(("NCCL_IB", "NCCL_SOCKET", "UCX", "GLOO", "TP_SOCKET"))]
    assert (rows["VLLM_USE_V1"], rows["NCCL_DEBUG"]) == ("1", "INFO"), "what else the user sets is kept"
    pair = made(asked("qwen3-235b-a22b"), Node(0, HEAD, HEAD), environment=given)
    assert "VLLM_HOST_IP" not in pair[served.ENVIRONMENT] and "/etc/sparkrig/container.env" in pair[served.SERVICE]


def test_the_unit_runs_the_image_by_its_id_with_weights_that_cannot_be_changed() -> None:
    words = started(made(asked("qwen3-235b-a22b"), Node(0, HEAD, HEAD))[served.SERVICE])
    assert words.index("/etc/sparkrig/serve/serve.env") < words.index("/etc/sparkrig/container.env"), (
        "what the user sets wins over the catalogue"
    )
    words = started(made(asked(), weights="/data/models")[served.SERVICE])
    assert words[words.index("--entrypoint") :][:3] == ["--entrypoint", "/sparkrig/start.sh", ID]
    assert f"/data/models/{GPT}:/models/{GPT}:ro" in words
    assert "--rm" in words and words[words.index("--log-driver") + 1] == "none"


def test_the_unit_has_the_memory_that_was_decided_and_the_record_keeps_it() -> None:
    wish, node = asked(), Node()
    chosen = Chosen(ID, sizing=Sizing(0.61, 8192))
    files = {file.path: file.content for file in unit_files.files(wish, chosen, node, mine())}
    flags = arguments.read(started(files[served.SERVICE])).flags
    assert (flags["gpu-memory-utilization"], flags["max-model-len"]) == ("0.61", "8192"), "not the catalogue's"
    record = last_deploy.load(Found(files[served.RECORD], "0644", "root:root"))
    assert record and unit_files.decided(wish, record) == chosen.sizing
    assert unit_files.decided(asked(serve_flags={"seed": 1}), record) is None


def test_an_image_that_starts_its_arguments_keeps_its_own_entrypoint() -> None:
    wish = asked()
    nvidia = Chosen(ID, entrypoint="/opt/nvidia/nvidia_entrypoint.sh")
    files = {file.path: file.content for file in unit_files.files(wish, nvidia, Node(), mine())}
    words = started(files[served.SERVICE])
    assert "--entrypoint" not in words
    assert words[words.index(ID) :][:4] == [ID, "/sparkrig/start.sh", "vllm", "serve"]
    record = last_deploy.load(Found(files[served.RECORD], "0644", "root:root"))
    found = Serving(images=(Image(ID, "arm64", (wish.image,)),))
    assert record and unit_files.chosen(wish, found, record) == nvidia


def test_what_a_start_makes_or_fetches_outlives_the_container() -> None:
    words = started(made(asked())[served.SERVICE])
    kept = [word.rpartition(":")[2] for word in words if word.startswith("/var/cache/sparkrig/serve/")]
    assert {"/root/.cache/vllm", "/tmp/tiktoken-rs-cache"} <= set(kept)


KEY, MANAGED = {"VLLM_API_KEY": "env:KEY"}, Node(management=IPv4Address("10.0.0.5"))


def test_without_a_key_the_api_answers_its_own_host_alone() -> None:
    def holds(data: dict[str, Any], streams: list[str], at: str) -> None:
        files = made(asked(), MANAGED, **data)
        rows = [
            row.partition("=")[2] for row in files[served.SOCKET].splitlines() if row.startswith("ListenStream=")
        ]
        assert rows == streams
        record = last_deploy.load(Found(files[served.RECORD], "0644", "root:root"))
        assert record and listen.said(record.at, key=record.key) == at
        assert "env:KEY" not in "".join(files.values())

    both = ["127.0.0.1:8000", "10.0.0.5:8000"]
    each_row(
        {
            "no key": ({}, ["127.0.0.1:8000"], "127.0.0.1:8000; asks for no key"),
            "a key": ({"secrets": KEY}, both, "10.0.0.5:8000, 127.0.0.1:8000; asks for VLLM_API_KEY"),
            "a key, here alone": (
                {"secrets": KEY, "serve_listen": "local"},
                ["127.0.0.1:8000"],
                "127.0.0.1:8000; asks for VLLM_API_KEY",
            ),
            "no key, and all the same": (
                {"serve_listen": "management"},
                both,
                "10.0.0.5:8000, 127.0.0.1:8000; asks for no key",
            ),
            "all": ({"serve_listen": "all", "serve_port": 80}, ["80"], "every address, port 80; asks for no key"),
            "an address": (
                {"serve_listen": "192.168.100.11"},
                ["127.0.0.1:8000", "192.168.100.11:8000"],
                "127.0.0.1:8000, 192.168.100.11:8000; asks for no key",
            ),
        },
        holds,
    )


def test_the_default_by_its_name_is_no_change() -> None:
    assert made(asked(), MANAGED) == made(asked(), MANAGED, serve_listen="local")
    assert made(asked(), MANAGED, secrets=KEY) == made(asked(), MANAGED, secrets=KEY, serve_listen="management")


def test_an_address_that_is_not_known_is_no_place_to_answer() -> None:
    with pytest.raises(Refusal, match="no management address was found"):
        made(asked(), serve_listen="management")


def test_the_management_address_of_the_last_deploy_stays_while_the_host_has_it() -> None:
    wired, wireless = IPv4Address("10.0.0.5"), IPv4Address("10.1.0.5")
    record = last_deploy.load(Found(made(asked(), MANAGED, secrets=KEY)[served.RECORD], "0644", "root:root"))
    assert listen.management(record, [wired, wireless], wireless) == wired, "whichever network ssh came in on"
    assert listen.management(record, [wireless], wireless) == wireless == listen.management(None, [], wireless)


def test_the_way_to_it_is_the_login_of_the_inventory(monkeypatch: pytest.MonkeyPatch) -> None:
    curl = "curl http://127.0.0.1:8000/v1/models"
    tunnel = "it answers its own host alone; from here: ssh -fN -L 8000:127.0.0.1:8000"
    assert listen.way(mine(), "spark-a", "10.0.0.7") == f"{tunnel} spark-a, then {curl}"
    monkeypatch.setattr(cure, "LOGINS", {"spark-a": "ann@10.0.0.7"})
    assert listen.way(mine(), "spark-a", "10.0.0.7") == f"{tunnel} ann@10.0.0.7, then {curl}"
    monkeypatch.setattr(cure, "LOGINS", {"spark-a": cure.THIS_MACHINE})
    assert listen.way(mine(), "spark-a", "spark-a") == f"it answers its own host alone; from here: {curl}"
    opened = listen.way(mine(serve_listen="all"), "spark-a", "10.0.0.7")
    assert opened == "http://10.0.0.7:8000/v1/models answers"


def test_who_is_cut_off_and_who_is_let_in_is_said() -> None:
    local, everywhere = ("127.0.0.1:8000",), ("*:8000",)
    old = Record("m", BIG, ID, "vllm:1", "solo", 1, 0, 8000, 18000, "/srv", at=everywhere)

    def holds(data: dict[str, Any], record: Record | None, at: tuple[str, ...], *said: str) -> None:
        found = [*listen.warnings(mine(**data), record, at)]
        assert len(found) == len(said) and all(part in line for part, line in zip(said, found, strict=True))

    each_row(
        {
            "a first one": ({}, None, local),
            "as before": ({}, replace(old, at=local), local),
            "no longer everywhere": ({}, old, local, "until now: every address, port 8000; asks for no key"),
            "the other host answered nothing": ({}, replace(old, rank=1), local),
            "open, and no key": (
                {"serve_listen": "all"},
                old,
                everywhere,
                "every client that reaches *:8000 may use the model",
            ),
            "open, with a key": ({"serve_listen": "all", "secrets": KEY}, old, everywhere),
        },
        holds,
    )


def test_secrets_are_given_as_a_file_and_only_where_there_are_any() -> None:
    assert "secrets.env" not in made(asked())[served.SERVICE]
    words = started(made(asked(), MANAGED, secrets=KEY)[served.SERVICE])
    assert words[words.index("/etc/sparkrig/secrets.env") - 1] == "--env-file"


@pytest.mark.parametrize("name", ["", "embed"])
def test_each_unit_has_its_brake_and_comes_after_ssh(name: str) -> None:
    service = Service(name)
    for node, port in ((MANAGED, " 18000"), (Node(1, HEAD, HEAD), "")):
        rows = made(asked(), node, serve_name=name)[service.of(served.SERVICE)].splitlines()
        brake = service.of(served.BRAKE)
        assert [row for row in rows if brake in row] == [
            f"ExecCondition={brake} begin",
            f"ExecStartPost={brake} loads{port}",
            f"ExecStopPost={brake} end",
        ]
        assert "After=ssh.service ssh.socket sshd.service" in rows


def watched(wish: Wish, node: Node, ray: bool = False, **data: Any) -> str:
    """What the watch of a host is started with; empty where it has none."""
    files = made(wish, node, ray, **data)
    there = served.WATCH in files
    assert there == (served.WATCHER in files) == (f"{served.WATCH_UNIT}.service" in files[served.SERVICE])
    line = next((line for line in files.get(served.WATCH, "").splitlines() if line.startswith("ExecStart=")), "")
    return line.partition(f"{served.WATCHER} ")[2]


def test_each_host_is_watched_for_what_can_happen_there() -> None:
    one, two = asked(), asked("qwen3-235b-a22b")
    head, worker = Node(0, HEAD, HEAD), Node(1, HEAD, OTHER)
    other: dict[str, Any] = {"memory_guard": 3.5, "serve_trial_port": 9000, "serve_watch_seconds": 600}
    engine = "--port 18000 --seconds 300"

    def holds(expected: str, wish: Wish, node: Node, data: dict[str, Any]) -> None:
        assert watched(wish, node, **data) == expected

    each_row(
        [
            (f"--least 20 {engine}", one, Node(), {}),
            ("--least 35 --port 9000 --seconds 600", one, Node(), other),
            (engine, one, Node(), {"memory_guard": 0}),
            ("--least 20", one, Node(), {"serve_watch_seconds": 0}),
            ("", one, Node(), {"memory_guard": 0, "serve_watch_seconds": 0}),
            (f"--least 20 {engine}", one, Node(), {"patience": 5}),
            (f"--least 20 {engine}", two, head, {}),
            ("--least 20 --head 192.168.100.11:29501", two, worker, {}),
            ("--least 20", two, worker, {"ray": True}),
            ("--least 20", two, worker, {"serve_watch_seconds": 0}),
        ],
        holds,
    )
    unit = made(one)[served.WATCH]
    assert f"BindsTo={served.UNIT}.service\n" in unit and "ExecStart=/usr/bin/python3 -IB /usr/local/" in unit
    assert "\nMASTER_PORT=29501\n" in programs.file("serving/start.sh")


def test_the_guard_of_before_is_removed() -> None:
    """Hosts may have it, and nothing may end a server twice."""
    wanted = [File(path, text) for path, text in made(asked()).items()]
    found = {path: Found("", "0755", "root:root") for path in (served.START, *served.BEFORE)}
    assert unit_files.surplus(wanted, found) == [*served.BEFORE]


DRAFT = "nvidia/gpt-oss-120b-Eagle3"


def test_a_draft_model_is_mounted_beside_the_weights_and_named_to_vllm() -> None:
    def holds(data: dict[str, Any], expected: dict[str, Any] | None) -> None:
        wish = asked("nvidia/Qwen3.6-27B-NVFP4", **data)
        words = started(made(wish)[served.SERVICE])
        assert arguments.read(words).flags.get("speculative-config") == expected
        mounted = f"/srv/models/{DRAFT}:/models/{DRAFT}:ro" in words
        assert mounted is (wish.draft != "") is str(data.get("serve_draft")).endswith(DRAFT)

    own = {"serve_draft": DRAFT}
    path = {"model": f"/models/{DRAFT}"}
    given = {"speculative-config": '{"method": "eagle3", "num_speculative_tokens": 5, "model": "x"}'}
    each_row(
        {
            "the catalogue's": ({}, {"method": "mtp", "num_speculative_tokens": 3}),
            "none": ({"serve_draft": False}, None),
            "its own": (own, {"num_speculative_tokens": 3, **path}),
            "a folder": ({"serve_draft": f"/srv/models/{DRAFT}"}, {"num_speculative_tokens": 3, **path}),
            "with more": (
                {**own, "serve_flags": given},
                {"method": "eagle3", "num_speculative_tokens": 5, **path},
            ),
        },
        holds,
    )
    assert "is no JSON object" in refused(serve_draft=DRAFT, serve_flags={"speculative-config": "mtp"})


def test_a_draft_that_is_a_folder_has_to_be_one_of_the_first_host() -> None:
    def holds(rows: Sequence[str], said: str) -> None:
        assert judged(seen(*rows), serve_draft=f"/srv/models/{DRAFT}") == said

    each_row(table(__file__, "a draft that is a folder"), holds)
    for elsewhere in ("/data/draft", "/srv/models/draft", "/srv/models/a/b/c"):
        said = f"serve_draft is {elsewhere}, and a folder OWNER/NAME in /srv/models is expected"
        assert refused(serve_draft=elsewhere) == said


def test_a_draft_that_is_a_folder_stays_one_in_the_record() -> None:
    folder = f"/srv/models/{DRAFT}"
    file = made(asked(serve_draft=folder), serve_draft=folder)[served.RECORD]
    record = last_deploy.load(Found(file, "0644", "root:root"))
    assert record and record.draft == folder and record.ids[1:] == (DRAFT,)
    assert remembered(mine(), record).serve_draft == folder


def test_the_weights_of_a_draft_are_judged_and_counted_like_others() -> None:
    linked = Serving(images=FITS.images, weights={DRAFT: Weights("linked", GIB, "a.bin")}, room=900 * GIB)
    assert f"/srv/models/{DRAFT}/a.bin is a link that leads out" in judged(linked, serve_draft=DRAFT)
    found = Serving(weights={DRAFT: Weights("whole", 30 * GIB)})
    room = sizing.room(found, 121.7, draft=DRAFT)
    assert room.draft == 30 and sizing.room(found, 121.7).draft == 0
    wish, own = asked(serve_draft=DRAFT), mine(serve_draft=DRAFT)
    tight = replace(room, free=85.0)
    assert plan.size(wish, own, replace(tight, draft=0.0)).utilization == 0.65
    with pytest.raises(Refusal, match=r"takes \d+\.\d GiB of memory on each Spark"):
        plan.size(wish, own, tight)


def test_the_half_that_has_no_part_keeps_nothing_but_a_note_of_it() -> None:
    files = made(asked(), Node(served.ASIDE))
    assert set(files) == {served.RECORD}
    record = last_deploy.load(Found(files[served.RECORD], "0644", "root:root"))
    assert record and record.rank == served.ASIDE and record.model == "gpt-oss-120b"


def test_a_word_reaches_the_container_as_it_is() -> None:
    def holds(word: str) -> None:
        assert started(f"ExecStart={unit_files.command_line(['/usr/bin/docker', word])}\n") == [
            "/usr/bin/docker",
            word,
        ]

    each_row(['{"a": "b c"}', "100%", "$HOME", "back\\slash", "it's", "a b", "plain-1.0/x:y=z,@+"], holds)


@pytest.mark.parametrize(
    ("form", "ray", "expected"),
    [(None, True, "ray"), (None, False, "multinode"), ("multinode", True, "multinode"), ("ray", True, "ray")],
)
def test_a_pair_is_formed_by_what_the_image_has(form: str | None, ray: bool, expected: str) -> None:
    assert unit_files.form(asked("qwen3-235b-a22b"), Chosen(ID, ray), mine(serve_form=form)) == expected
    assert unit_files.form(asked(), Chosen(ID, ray), mine(serve_form=form)) == "solo"


def test_beside_a_standing_ray_cluster_a_pair_needs_no_ray() -> None:
    standing = mine(ray_image=f"vllm@{ID}", secrets={"RAY_AUTH_TOKEN": "env:TOKEN"})
    assert unit_files.form(asked("qwen3-235b-a22b"), Chosen(ID, True), standing) == "multinode"


def test_on_a_standing_ray_cluster_the_head_alone_has_a_unit() -> None:
    wish = asked("qwen3-235b-a22b")
    secrets = {"RAY_AUTH_TOKEN": "env:TOKEN"}
    head = made(wish, Node(0, HEAD, HEAD, standing=True), secrets=secrets)
    unit, environment = head[served.SERVICE], head[served.ENVIRONMENT]
    assert "Requires=sparkrig-ray.service\nAfter=sparkrig-ray.service\n" in unit
    words = " ".join(started(unit))
    for word in ("--ipc", "--pid"):
        assert f"{word} container:sparkrig-ray" in words
    assert "--ipc host" not in words and "--volume /var/lib/sparkrig/ray:/var/lib/sparkrig/ray" in words
    assert (
        "SPARKRIG_FORM=standing\n" in environment and "VLLM_RPC_BASE_PATH=/var/lib/sparkrig/ray\n" in environment
    )
    assert served.RAY_ENV not in words and "secrets.env" in words, "its token is the cluster's"
    assert [*made(wish, Node(1, HEAD, OTHER, standing=True), secrets=secrets)] == [served.RECORD]
    elsewhere = made(wish, Node(0, HEAD, HEAD), secrets=secrets)[served.SERVICE]
    assert "sparkrig-ray" not in elsewhere and "--ipc host" in " ".join(started(elsewhere))


def test_ray_in_an_image_without_it_is_refused() -> None:
    with pytest.raises(Refusal, match="has no Ray"):
        unit_files.form(asked("qwen3-235b-a22b"), Chosen(ID, False), mine(serve_form="ray"))


# --- before anything is changed

FITS = Serving(images=(Image(ID, "arm64", ("image:1",)),), room=900 * GIB)


def judged(found: Serving = FITS, model: str = "gpt-oss-120b", memory: float = 121.7, **data: Any) -> str:
    """What a lone Spark says to it; empty where it would serve it."""
    given = {"model": model, "serve_image": "image:1", **data}
    wish = asked(sparks=1, **given)
    try:
        plan.size(wish, mine(**given), sizing.Room(memory, memory))
        plan.judge(wish, found, "aarch64", mine(**given), leads=True)
    except Refusal as refusal:
        return refusal.what
    return ""


def weights(standing: Any, size: int) -> Serving:
    return Serving(images=FITS.images, weights={GPT: Weights(standing, size)}, room=10 * GIB)


def test_what_fits_is_not_refused() -> None:
    assert judged() == ""
    assert judged(weights("whole", 60 * GIB)) == judged(weights("loose", 60 * GIB)) == ""
    assert judged(weights("partial", 58 * GIB)) == "", "what is there is not counted twice"
    assert judged(Serving(room=900 * GIB)) == "", "an image that is absent is pulled"


def seen(*rows: str) -> Serving:
    """What the fact makes of these rows, of a host that has image:1 and room."""
    return served.parse(["looked", *rows, f"room {900 * GIB}", f"image {ID} arm64 image:1"])


def test_what_does_not_fit_is_refused() -> None:
    def holds(said: str, rows: Sequence[str] = (), data: dict[str, Any] | None = None) -> None:
        assert said in judged(seen(*rows), **data or {})

    each_row(table(__file__, "what does not fit"), holds)


def test_weights_that_a_container_would_not_find_are_refused() -> None:
    linked = Serving(images=FITS.images, weights={GPT: Weights("linked", 60 * GIB, "a b.bin")}, room=900 * GIB)
    assert f"/srv/models/{GPT}/a b.bin is a link that leads out of its folder" in judged(linked)


def test_an_id_crosses_the_fabric_like_any_other_image() -> None:
    id = f"sha256:{'b2' * 32}"
    wish = asked("qwen3-235b-a22b", serve_image=id)
    plan.judge(wish, FITS, "aarch64", mine(), leads=False)
    with pytest.raises(Refusal, match="no registry can be asked for an ID"):
        plan.judge(wish, FITS, "aarch64", mine(), leads=True)


PINNED = "nvcr.io/nvidia/vllm@sha256:77"


def test_a_copy_is_known_by_what_its_digest_means() -> None:
    def holds(name: str, kept: str | None, head: tuple[str, ...], found: bool) -> None:
        wish, copy = asked("qwen3-235b-a22b", serve_image=name), Serving(images=(Image(ID, "arm64"),))
        last = Record("m", BIG, ID, kept or "", "ray", 2, 1, 8000, 18000, "/srv", vllm="0.19.0", entrypoint="")
        record = last if kept else None
        there = unit_files.image_of(wish, copy, record, Serving(images=(Image(ID, "arm64", head),)))
        assert (there is not None) is found
        known = unit_files.chosen(wish, copy, record)
        assert known == (Chosen(ID, vllm="0.19.0") if found and record else None)

    each_row(table(__file__, "a copy is known by what its digest means"), holds)


def test_a_copy_in_another_store_is_known_by_what_it_holds() -> None:
    heads = f"sha256:{'e5' * 32}"

    def holds(name: str, held: str, found: bool) -> None:
        wish = asked("qwen3-235b-a22b", serve_image=name)
        copy = Serving(images=(Image(ID, "arm64", (), "c3" * 32),))
        head = Serving(images=(Image(heads, "arm64", (PINNED,), held),))
        there = unit_files.image_of(wish, copy, None, head)
        assert (there and there.id) == (ID if found else None)

    each_row(
        {
            "by its digest": (PINNED, "c3" * 32, True),
            "by the ID of the head's store": (heads, "c3" * 32, True),
            "it holds something else": (PINNED, "d4" * 32, False),
            "it is not known what it holds": (heads, "", False),
            "a tag is each host's own": ("vllm:1", "c3" * 32, False),
        },
        holds,
    )


def test_room_for_the_image_is_asked_of_dockers_own_disk() -> None:
    tight = Serving(room=900 * GIB, store="/var/lib/docker", store_room=20 * GIB)
    assert "image:1 takes about 30.0 GiB while it is unpacked, and 20.0 GiB are free for /var/lib/d" in judged(
        tight
    )
    assert judged(replace(tight, store_room=40 * GIB)) == "" == judged(replace(tight, images=FITS.images))
    plan.stores("image:1", 9 * GIB, tight)
    with pytest.raises(Refusal, match=r"takes about 22\.0 GiB"):
        plan.stores("image:1", 11 * GIB, tight)


def test_a_port_at_which_the_nodes_meet_is_judged_on_the_head() -> None:
    record = Record("m", BIG, ID, "vllm:1", "ray", 2, 0, 8000, 18000, "/srv")

    def holds(form: str, said: str, rows: Sequence[str] = (), ours: bool = False) -> None:
        taken = seen("listen 22", "listen 6379", "listen 29501", *rows)
        try:
            neighbours.meets(form, taken, record if ours else None, {})
        except Refusal as refusal:
            assert said and said in refusal.what
        else:
            assert not said

    each_row(table(__file__, "where the nodes meet"), holds)
    neighbours.meets("ray", seen("listen 22"), None, {})
    script = (Path(__file__).resolve().parents[3] / "templates/serving/start.sh").read_text()
    assert all(f"_PORT={port}\n" in script for port in neighbours.MEETING.values())


def test_ports_that_are_ours_are_not_somebody_elses() -> None:
    up = {"ActiveState": "active"}
    found = Serving(room=900 * GIB, images=FITS.images, listening=(8000, 18000), port="active", unit=up)
    assert judged(found) == ""


def test_what_would_be_started_of_the_catalogue_has_no_warning_of_its_own() -> None:
    def holds(name: str) -> None:
        sparks = max(CATALOGUE.models[name].nodes, CATALOGUE.models[name].best().nodes)
        wish = asked(name, sparks, serve_image="image:1")
        for form in ("ray", "multinode") if wish.nodes > 1 else ("solo",):
            found = plan.lint_of(wish, CATALOGUE.find, form, None, "aarch64", RULES, knowledge())
            assert [each.rule for each in found if each.fails] == []

    each_row([*CATALOGUE.models], holds)


def test_the_lint_reads_the_very_command() -> None:
    wish = asked(serve_flags={"gpu-memory-utilization": 0.95})
    with pytest.raises(Refusal, match=r"utilization-refused: --gpu-memory-utilization 0\.95"):
        plan.refuse(plan.lint_of(wish, CATALOGUE.find, "solo", None, "aarch64", RULES))
    pair = asked("qwen3-235b-a22b", serve_image="nvcr.io/nvidia/vllm:26.10-py3")
    for form in ("ray", "multinode"):
        plan.refuse(plan.lint_of(pair, CATALOGUE.find, form, None, "aarch64", RULES))
    old = asked(serve_image="vllm/vllm-openai:v0.28.0", serve_flags={"swap-space": 4})
    with pytest.raises(Refusal, match="flag-unknown: --swap-space"):
        plan.refuse(plan.lint_of(old, CATALOGUE.find, "solo", (0, 28, 0), "aarch64", RULES, knowledge()))


# --- what a host has


def test_an_image_is_known_by_every_name_that_docker_takes() -> None:
    def holds(wanted: str, names: tuple[str, ...], found: bool) -> None:
        assert (images.find([Image(ID, "arm64", names)], wanted) is not None) is found

    each_row(table(__file__, "an image is known by every name that docker takes"), holds)


def test_a_row_that_makes_no_sense_is_an_error() -> None:
    def holds(row: str) -> None:
        with pytest.raises(ValueError):
            served.parse(["looked", row])

    each_row(["weights a/b gone 5", "weights a/b whole x", "image", "listen x", "health ok"], holds)


def test_a_record_that_is_not_ours_counts_as_none() -> None:
    def holds(text: str) -> None:
        assert last_deploy.load(Found(text, "0644", "root:root")) is None

    each_row(["", "{", "[]", '{"model": "m"}', '{"files": {}}'], holds)


def test_what_is_not_wanted_any_more_is_told() -> None:
    found = {path: Found("", "0644", "root:root") for path in (served.SOCKET, served.SERVICE, "/etc/nccl.conf")}
    assert unit_files.surplus([File(served.SERVICE, "")], found) == [served.SOCKET]


# --- the question


def answer(text: str = "Paris is the capital.", code: int = 200, **more: Any) -> str:
    body = {"model": "gpt", "choices": [{"message": {"content": text}}], **more}
    return f"{json.dumps(body)}\n{code}\n"


def test_an_answer_is_judged() -> None:
    def holds(printed: str, said: str | None) -> None:
        found = smoke.amiss(printed, ["gpt"])
        assert (found is None) if said is None else said in str(found)

    each_row(table(__file__, "an answer is judged"), holds)


def test_a_model_without_chat_is_asked_the_plain_way() -> None:
    assert smoke.other_way(smoke.status(answer(code=400))) and not smoke.other_way(smoke.status(answer()))
    assert json.loads(smoke.request("m", smoke.PLAIN))["prompt"] == smoke.QUESTION


def test_a_model_that_embeds_answers_with_a_vector_for_each_text() -> None:
    def holds(vectors: list[Any], said: str | None) -> None:
        body = json.dumps({"model": "e5", "data": [{"embedding": each} for each in vectors]})
        found = smoke.amiss(f"{body}\n200\n", ["e5"])
        assert (found is None) if said is None else said in str(found)

    good, other = [0.25, -0.5, 0.125], [0.5, 0.0, -0.25]
    each_row(
        [
            ([good, other], None),
            ([good], "it was given 2 texts, and answered with 1 vectors"),
            ([], "it was given 2 texts, and answered with 0 vectors"),
            ([good, [0.0] * 3], "garbage (a vector whose numbers are all the same)"),
            ([good, good], "garbage (the same vector for two texts)"),
            ([good, [0.5, 0.25]], "its vectors have 2 and 3 numbers"),
            ([[], []], "its answer is empty"),
            ([good, [math.nan, 0.5, 0.25]], "another form than vLLM's"),
            ([["a", "b"], good], "another form than vLLM's"),
            ([7, good], "another form than vLLM's"),
        ],
        holds,
    )
    assert json.loads(smoke.request("e5", smoke.EMBED)) == {"model": "e5", "input": [*smoke.TEXTS]}


def test_a_model_that_ranks_puts_the_text_that_answers_first() -> None:
    def holds(ranked: list[tuple[Any, Any]], said: str | None) -> None:
        rows = [{"index": at, "document": {"text": "t"}, "relevance_score": score} for at, score in ranked]
        found = smoke.amiss(f"{json.dumps({'model': 'r', 'results': rows})}\n200\n", ["r"])
        assert (found is None) if said is None else said in str(found)

    each_row(table(__file__, "a model that ranks puts the text that answers first"), holds)
    asked = json.loads(smoke.request("r", smoke.RERANK))
    assert asked == {"model": "r", "query": smoke.QUESTION, "documents": [*smoke.TEXTS]}
