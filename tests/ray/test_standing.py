"""The nodes of a standing cluster with real Ray: the words of the units, what the look reads, and its cures."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from sparkrig import programs
from sparkrig.bandwidth import ray_gather as gather
from sparkrig.fleet import Fleet
from sparkrig.host.ray import STATE, Ray
from sparkrig.operations.ray import JOINED
from sparkrig.operations.subject import subject
from sparkrig.resources import ray
from sparkrig.resources.check import Check, Subject
from sparkrig.resources.ray import RAY
from tests.ray.spark import DEADLINE_S, FABRIC, SERVER, Node, Sparks
from tests.unit.states import SEEN, A, B

IMAGE = f"vllm@sha256:{'a' * 64}"
TOKEN = {"RAY_AUTH_TOKEN": "c4n4ry" * 8, "RAY_AUTH_MODE": "token"}
SETTINGS = {
    "pair": "sparks",
    "ray_image": IMAGE,
    "ray_cpus": 1,
    "ray_store_gib": 0.1,
    "secrets": {"RAY_AUTH_TOKEN": "env:TOKEN"},
}
DASHBOARD = f"http://127.0.0.1:{ray.DASHBOARD_PORT}"
DETACHED = """
import ray
ray.init(log_to_driver=False)
group = ray.util.placement_group([{"GPU": 1}], lifetime="detached")
ray.get(group.ready())
"""


def host(name: str, found: Ray = RAY.absent) -> Subject:
    """A host of the pair in spec. found: what its look saw of Ray."""
    data = {each: {**SETTINGS, "fabric": {"fabric0": f"{FABRIC[each]}/24"}} for each in (A, B)}
    seen = {each: replace(SEEN[each], others={**SEEN[each].others, "ray": found}) for each in (A, B)}
    return subject(name, Fleet.parse(data), seen)


class Standing:
    """A pair whose nodes run what their units say, less docker. folder: in the place of / for the look."""

    def __init__(self, pair: Sparks, folder: Path) -> None:
        self.pair, self.folder = pair, folder

    def start(self, name: str, **environment: str) -> Node:
        text = ray.unit_text(host(name))
        (command,) = (line for line in text.splitlines() if line.startswith("ExecStart="))
        words = shlex.split(command.partition(IMAGE)[2].replace(STATE, "/mnt/ray"))
        if name == A:
            self._write("etc/systemd/system/sparkrig-ray.service", text)
            self._write("etc/sparkrig/secrets.env", f"RAY_AUTH_TOKEN={TOKEN['RAY_AUTH_TOKEN']}\n")
        options = shlex.split(command.partition(IMAGE)[0])
        given = dict(word.split("=", 1) for before, word in pairwise(options) if before == "--env")
        return self.pair.run(name, "ray", *words, env={**TOKEN, **given, **environment})

    def serve(self, head: Node, **environment: str) -> Node:
        """Start a server on the cluster, beside its head, as its container would."""
        return self.pair.start_beside(head, *SERVER, form="standing", **{**TOKEN, **environment})

    def _write(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, encoding="utf-8")

    def on_head(self, program: str, *words: str) -> Node:
        """Run a program of the product beside the head."""
        return self.pair.run(A, "sh", "-c", program.replace("/etc/s", f"{self.folder}/etc/s"), "sh", *words)

    def look(self) -> Ray:
        asked = self.on_head("systemctl() { :; }\n" + programs.text("facts/ray.sh"))
        assert asked.ends() == 0, asked.printed
        return RAY.parse(asked.printed.splitlines())

    def job(self, *words: str) -> None:
        """Run a job as docs/ray.md has it, on the head: what `docker exec` would see there."""
        done = self.pair.run(A, "ray", "job", "submit", "--address", DASHBOARD, "--", *words, env=TOKEN)
        assert done.ends() == 0, done.printed

    def until(self, *addresses: str) -> Ray:
        """What the look sees once these nodes live, and no others."""
        end = time.monotonic() + DEADLINE_S
        while (found := self.look()).alive != {*addresses}:
            assert time.monotonic() < end, [found, *(node.printed[-2000:] for node in self.pair.nodes[:2])]
            time.sleep(1)  # each look asks Ray five times, which keeps a busy machine from starting it
        return found

    def checks(self, found: Ray) -> dict[str, Check]:
        return {check.id: check for check in ray.of_head(host(A, found), found)}


@pytest.fixture
def standing(pair: Sparks, tmp_path: Path) -> Iterator[Standing]:
    yield Standing(pair, tmp_path)


@pytest.mark.representative
def test_a_pair_stands_and_whoever_was_lost_joins_again(standing: Standing) -> None:
    standing.start(A)
    worker = standing.start(B)
    waited = standing.on_head(JOINED, "2", str(DEADLINE_S))
    assert waited.ends() == 0, waited.printed
    found = standing.until(FABRIC[A], FABRIC[B])
    checks = standing.checks(found)
    assert [check.status for check in checks.values()] == ["ok"] * 3
    assert checks["ray.nodes"].found.startswith("2 nodes with one GPU each, Ray 2.60.0, 0.0 of 0."), (
        "of one or two"
    )

    # without PyTorch, as here, Ray's own objects cross; NCCL and gloo need a container with it
    standing.job("python3", "-c", programs.file("ray_gather.py"), str(8 * 2**20))
    told = gather.parse(standing.pair.nodes[-1].printed)
    assert told and (told.backend, told.transport, told.fault) == ("objects", "TCP", "")
    assert {*told.nodes} == {FABRIC[A], FABRIC[B]} and told.bytes == 2 * 8 * 2**20 and told.seconds > 0

    standing.job("python3", "-c", DETACHED)
    held = standing.checks(standing.look())["ray.held"]
    assert "'python3 -c" in held.found and held.found.endswith("which has ended"), held
    words = shlex.split(held.cure.partition("`")[0])
    standing.job(*words[words.index("python3") :])
    assert standing.checks(standing.look())["ray.held"].status == "ok"

    worker.cut()
    lost = standing.until(FABRIC[A])
    assert standing.checks(lost)["ray.nodes"].found == "spark-b is missing"
    short = standing.on_head(JOINED, "2", "0")
    assert short.ends() == 1 and f"1 of 2 nodes of Ray live after 0 s: {FABRIC[A]}" in short.printed
    standing.start(B)
    standing.until(FABRIC[A], FABRIC[B])


def test_whoever_has_no_token_neither_joins_nor_reads(standing: Standing) -> None:
    standing.start(A)
    standing.until(FABRIC[A])
    stranger = standing.start(B, RAY_AUTH_TOKEN="another")
    assert stranger.ends() != 0
    (standing.folder / "etc/sparkrig/secrets.env").write_text("RAY_AUTH_TOKEN=another\n", encoding="utf-8")
    found = standing.look()
    assert found.nodes is None and standing.checks(found)["ray.nodes"].status == "unknown"


def test_a_server_on_the_cluster_holds_its_gpus_as_long_as_it_lives(standing: Standing) -> None:
    """What its container shares with the node's is needed: in processes of its own Ray would not answer it."""
    head = standing.start(A)
    standing.start(B)
    standing.until(FABRIC[A], FABRIC[B])
    server = standing.serve(head)
    workers = " ".join(f"{name}={FABRIC[name]}={FABRIC[name]}" for name in (A, B))
    assert server.says("workers on") == f"workers on {workers}"
    assert "--distributed-executor-backend ray" in server.says("served with")
    assert "model=stand-in" in server.says("phase answered")

    second = standing.serve(head, port="8001")
    second.says("0 of 2 GPUs are free")
    server.cut()
    assert second.says("workers on") == f"workers on {workers}"
    assert standing.checks(standing.look())["ray.held"].status == "ok", "who is dead left nothing"

    stranger = standing.serve(head, port="8002", RAY_AUTH_TOKEN="another")
    assert stranger.ends() != 0


def test_whoever_lost_the_head_joins_the_next_one(standing: Standing) -> None:
    """Its jobs end with it, the server on it too; systemd starts each again, and counts that."""
    lost = {"RAY_gcs_rpc_server_reconnect_timeout_s": "5"}
    head = standing.start(A)
    standing.until(FABRIC[A])  # in 5 s a node gives up
    worker = standing.start(B, **lost)
    standing.until(FABRIC[A], FABRIC[B])
    server = standing.serve(head)
    server.says("workers on")
    head.cut()
    assert server.ends() != 0
    again = standing.start(A)
    assert worker.ends() != 0
    standing.start(B)
    found = standing.until(FABRIC[A], FABRIC[B])
    assert standing.checks(replace(found, unit={"NRestarts": "1"}))["ray.restarts"].status == "drift"
    standing.serve(again).says("workers on")
