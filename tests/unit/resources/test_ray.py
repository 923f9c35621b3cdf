"""A standing Ray cluster: what hosts print, the unit, what is refused, checked, and keeps it from starting."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig.cure import Cure
from sparkrig.files import MEASURED, Found
from sparkrig.fleet import Fleet
from sparkrig.host.ray import STATE, Held, Node, Ray
from sparkrig.operations.ray import FETCH, JOINED
from sparkrig.operations.subject import subject
from sparkrig.refusal import Refusal
from sparkrig.resources import ray
from sparkrig.resources.check import Subject
from sparkrig.resources.ray import RAY
from sparkrig.settings import SettingsError
from tests.plan.clustered import Cluster
from tests.tables import each_row
from tests.unit import states
from tests.unit.simulated import SimulatedHost
from tests.unit.states import PAIR, SEEN, A, B

IMAGE = f"vllm@sha256:{'a' * 64}"
ID = f"sha256:{'b' * 64}"
ON: dict[str, Any] = {"ray_image": IMAGE, "secrets": {"RAY_AUTH_TOKEN": "env:TOKEN"}}
UP = {"ActiveState": "active", "UnitFileState": "enabled", "NRestarts": "0"}
BOTH = (Node("192.168.100.11", True, 1), Node("192.168.100.12", True, 1))
FINE = Ray(UP, ID, ID, "2.60.0", BOTH, (0.25, 2.0))


def host(
    found: Ray = FINE,
    name: str = A,
    change: states.Change = states.same,
    peer: dict[str, Any] | None = None,
    **data: Any,
) -> Subject:
    """A host of a pair in spec. change: of its look; peer: settings that the other one has."""
    values = {each: {**PAIR[each], **ON, **data, **((peer or {}) if each != name else {})} for each in (A, B)}
    seen = {each: replace(SEEN[each], others={**SEEN[each].others, "ray": found}) for each in (A, B)}
    seen[name] = change(seen[name])
    return subject(name, Fleet.parse(values), seen)


def deployed(found: Ray = FINE, name: str = A, **data: Any) -> Subject:
    """The same with the unit that it should have."""
    bare = host(found, name, **data)
    files = {**bare.found.files, ray.UNIT_FILE: Found(ray.unit_text(bare), "0644", "root:root")}
    return replace(bare, found=replace(bare.found, files=files))


def state(*rows: dict[str, Any]) -> str:
    """A document of Ray 2.60's state API."""
    return json.dumps({"result": True, "msg": "", "data": {"result": {"total": len(rows), "result": rows}}})


def node(address: str, **resources: float) -> dict[str, Any]:
    return {"node_ip": address, "state": "ALIVE", "resources_total": {"CPU": 4.0, **resources}}


USAGE = {"loadMetricsReport": {"usage": {"CPU": [0.0, 2.0], "objectStoreMemory": [0.25 * 2**30, 2.0 * 2**30]}}}
GROUP = {"placement_group_id": "c59e54", "creator_job_id": "01000000", "state": "CREATED"}
JOB = {"job_id": "01000000", "status": "SUCCEEDED", "entrypoint": "python train.py"}
ROWS = [
    *(f"unit {name}={value}" for name, value in UP.items()),
    f"image {ID}",
    f"container {ID}",
    'version {"version": "4", "ray_version": "2.60.0"}',
    f"nodes {state(node('192.168.100.11', GPU=1.0), node('192.168.100.12', GPU=1.0))}",
    f"usage {json.dumps({'data': {'clusterStatus': USAGE}})}",
]
PARSED: dict[str, tuple[Sequence[str], Ray]] = {
    "nothing told": ([], Ray()),
    "the head of a pair": (ROWS, FINE),
    "a node": (ROWS[:5], Ray(UP, ID, ID)),
    "no GPU": ([f"nodes {state(node('10.0.0.1'))}"], Ray(nodes=(Node("10.0.0.1", True, 0),))),
    "another token": (["token stale"], Ray(stale=True)),
    "cut off": ([ROWS[6][:60]], Ray()),
    "another document": (["nodes []", 'usage {"data": 1}', "version 7"], Ray()),
    "a node without an address": ([f"nodes {state(node('$(reboot)'))}"], Ray(nodes=())),
    "left": ([f"groups {state(GROUP)}", f"jobs {state(JOB)}"], Ray(held=(Held("c59e54", "python train.py"),))),
    "in use": ([f"groups {state(GROUP)}", f"jobs {state({**JOB, 'status': 'RUNNING'})}"], Ray()),
    "of an unknown job": ([f"groups {state(GROUP)}"], Ray()),
    "no ID": ([f"groups {state({**GROUP, 'placement_group_id': '; rm'})}", f"jobs {state(JOB)}"], Ray()),
}


def test_parse() -> None:
    def holds(rows: Sequence[str], expected: Ray) -> None:
        assert RAY.parse(rows) == expected

    each_row(PARSED, holds)
    with pytest.raises(ValueError, match="no row begins with 'nods'"):
        RAY.parse(["nods x"])


def test_the_unit_of_each_node() -> None:
    head, other = (ray.unit_text(host(name=name)) for name in (A, B))
    assert "start --head --port=6379" in head and "--node-ip-address=192.168.100.11" in head
    assert "start --address=192.168.100.11:6379" in other and "--node-ip-address=192.168.100.12" in other
    assert "Dashboard=127.0.0.1:8265\n" in head and "Dashboard=\n" in other
    for text in (head, other):
        assert f"Image={IMAGE}\n" in text and "Restart=always" in text and "--env RAY_AUTH_MODE=token" in text
        assert "TOKEN=" not in text and "--shm-size 2147483648" in text
    assert "--head" in ray.unit_text(host(name=B, ray_head=B))
    assert "--head" not in ray.unit_text(host(ray_head=B))


def test_a_server_on_it_finds_what_its_workers_have() -> None:
    text = ray.unit_text(host(name=B))
    assert "--ipc shareable" in text and "--env VLLM_HOST_IP=192.168.100.12" in text
    assert "--volume /var/cache/sparkrig/serve/vllm:/root/.cache/vllm" in text


def test_nodes_of_a_ring_meet_in_the_management_network() -> None:
    """No subnet of its fabric reaches all three; where the head was not looked at, its address is not known."""
    cluster = Cluster(3, "ring", settings=(*ON.items(),))
    looks = dict(zip(cluster.names, (SEEN[A], SEEN[B], SEEN[B]), strict=True))
    management = SEEN[A].network.management
    assert management
    text = ray.unit_text(subject("spark-b", cluster.fleet, looks))
    assert f"--address={management[1].ip}:6379" in text
    with pytest.raises(Refusal, match="the management address of spark-a is not known"):
        ray.unit_text(subject("spark-b", cluster.fleet, {"spark-b": SEEN[B]}))


def test_of_a_ring_whoever_was_not_read_is_missing_unless_a_node_lives_that_is_nobody_elses() -> None:
    """Only a look at a host tells its address there; one that is off was an error in the head's own report."""
    cluster = Cluster(3, "ring", settings=(*ON.items(),))
    mine = subject("spark-a", cluster.fleet, {"spark-a": SEEN[A], "spark-b": SEEN[B]})
    places = [look.network.management[1].ip for look in (SEEN[A], SEEN[B]) if look.network.management]
    two = [Node(str(place), True, 1) for place in places]
    assert len({node.address for node in two}) == 2
    assert ray.missing(mine, replace(FINE, nodes=(*two,))) == ["spark-c is missing"]
    assert ray.missing(mine, replace(FINE, nodes=(*two, Node("10.0.2.17", True, 1)))) == []


def test_what_changes() -> None:
    assert not RAY.changes(deployed()) and not RAY.changes(host(Ray(), ray_image=None))
    changes = RAY.changes(host(Ray()))
    assert changes.fetch and changes.paths == (ray.UNIT_FILE,) and changes.reload == (ray.UNIT_FILE,)
    gone = replace(deployed(), fleet=host(ray_image=None).fleet)
    assert RAY.changes(gone).remove == (ray.UNIT_FILE,) and not RAY.changes(gone).fetch
    lacks: dict[str, dict[str, Any]] = {
        "it is failed": {"unit": {**UP, "ActiveState": "failed"}},
        "it runs with another token than the host has": {"stale": True},
        "it does not start with the host": {"unit": {**UP, "UnitFileState": "disabled"}},
        "the declared image is not there": {"image": ""},
        f"it runs {'c' * 19}, and the declared image is {ID[:19]}": {"runs": "c" * 64},
    }
    for lack, fields in lacks.items():
        changes = RAY.changes(deployed(replace(FINE, **fields)))
        assert changes and changes.lack == lack and not changes.write


def test_what_is_refused() -> None:
    rows: dict[str, tuple[dict[str, Any], str]] = {
        "another image": ({"peer": {"ray_image": ID}}, f"ray_image is {IMAGE} here and {ID} on spark-b"),
        "another head": ({"peer": {"ray_head": B}}, "ray_head is none here and spark-b on spark-b"),
        "no such head": ({"ray_head": "spark-c"}, "ray_head is spark-c, and the hosts are spark-a and spark-b"),
        "no room": (
            {"ray_memory_gib": 120, "memory_gib": 119.0},
            "Ray would take 121.0 GiB and the servers take 0.0",
        ),
    }

    def holds(data: dict[str, Any], expected: str) -> None:
        one = host(**data)
        with pytest.raises(Refusal, match=expected.replace("(", r"\(")):
            RAY.judge(one)
        (check,) = RAY.checks(one)
        assert (check.id, check.status) == ("ray.files", "drift") and expected in check.found

    each_row(rows, holds)
    RAY.judge(host())
    for data, words in (
        ({"ray_image": "vllm:latest"}, "may be another image on each host"),
        ({"ray_image": IMAGE, "secrets": {}}, "RAY_AUTH_TOKEN is expected"),
    ):
        with pytest.raises(SettingsError, match=words):
            Fleet.parse({A: data})


SAID = "2 nodes with one GPU each, Ray 2.60.0, 0.2 of 2.0 GiB of objects"
CHECKS: dict[str, tuple[Ray, dict[str, tuple[str, str]]]] = {
    "in spec": (FINE, {"ray.nodes": ("ok", SAID)}),
    "a node is missing": (replace(FINE, nodes=BOTH[:1]), {"ray.nodes": ("drift", "spark-b is missing")}),
    "a node is dead": (
        replace(FINE, nodes=(BOTH[0], replace(BOTH[1], alive=False))),
        {"ray.nodes": ("drift", "spark-b is missing")},
    ),
    "no GPU": (
        replace(FINE, nodes=(replace(BOTH[0], gpus=0), BOTH[1])),
        {"ray.nodes": ("drift", "spark-a has 0 GPUs")},
    ),
    "silent": (replace(FINE, nodes=None), {"ray.nodes": ("unknown", "the dashboard of the head does not answer")}),
    "left": (
        replace(FINE, held=(Held("c59e54", "python train.py"),)),
        {"ray.held": ("drift", "c59e54 of 'python train.py', which has ended")},
    ),
    "again": (
        replace(FINE, unit={**UP, "NRestarts": "2"}),
        {"ray.restarts": ("drift", "it was started again 2 times; its jobs ended")},
    ),
    "stopped": (replace(FINE, unit={**UP, "ActiveState": "inactive"}), {"ray.unit": ("drift", "it is inactive")}),
}


def test_what_is_checked() -> None:
    def holds(found: Ray, expected: dict[str, tuple[str, str]]) -> None:
        checks = {check.id: (check.status, check.found) for check in RAY.checks(deployed(found))}
        assert expected.items() <= checks.items(), checks
        assert {id for id, (status, _) in checks.items() if status != "ok"} <= expected.keys()

    each_row(CHECKS, holds)
    assert [check.id for check in RAY.checks(deployed(name=B))] == ["ray.files", "ray.unit"]
    assert [*RAY.checks(host(Ray(), ray_image=None))] == []
    assert isinstance(ray.free("c59e54"), Cure) and "c59e54" in ray.free("c59e54")


def test_a_host_whose_unit_is_gone_and_runs_on_is_told() -> None:
    (check,) = RAY.checks(host(Ray(UP), ray_image=None))
    assert (check.id, check.want) == ("ray.files", "no node of Ray")


def test_what_keeps_it_from_starting() -> None:
    rows: dict[str, tuple[states.Change, str]] = {
        "not measured": (states.no_file(MEASURED), "the rail is not known to be good"),
        "a stale GID": (states.moved_gids((states.NETDEV, states.TWIN), 2), "another GID than that of now"),
        "another clock": (
            lambda seen: replace(
                seen, preflight=replace(seen.preflight, skew_s=90.0), time=replace(seen.time, synchronised=False)
            ),
            "the clocks differ (time.synchronised: not kept by NTP, 90 s ahead)",
        ),
    }

    def holds(change: states.Change, expected: str) -> None:
        unfit = ray.unfit(host(change=change))
        assert unfit and unfit.what.startswith("Ray is not started, for ") and expected in unfit.what, unfit

    each_row(rows, holds)
    assert ray.unfit(host()) is None


class Machine(SimulatedHost):
    """A host with stand-ins for systemctl, docker and curl that note what they were asked."""

    own = r"/(?:etc|var/lib|sys/fs)\b"

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        there = state(node("192.168.100.11", GPU=1.0), node("192.168.100.12", GPU=1.0))
        answer = f"read -r header; echo \"$header\" >&2; printf '%s' '{there}'"
        self.active("active")
        for name, text in (("docker", 'echo "$*"'), ("sleep", ""), ("curl", answer)):
            self.tool(name, f'echo "{name} $*" >>{root}/did\n{text}')

    def active(self, said: str) -> None:
        """What systemctl says."""
        self.tool("systemctl", f'echo "systemctl $*" >>{self.root}/did\necho {said}')

    def standing(self, token: str = "c4n4ry", name: str = A) -> None:
        """The unit and the secrets of a host of the pair."""
        self.has(ray.UNIT_FILE, ray.unit_text(host(name=name)))
        self.has("/etc/sparkrig/secrets.env", f"HF_TOKEN=x\nRAY_AUTH_TOKEN={token}\n")


def test_the_look_asks_the_head_with_the_token_in_no_argument(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert machine.prints(RAY.script) == ""
    machine.standing()
    done = machine.sh(RAY.script)
    found = RAY.parse(row for row in done.stdout.splitlines() if not row.startswith("unit"))
    assert found.alive == {"192.168.100.11", "192.168.100.12"} and IMAGE in found.image
    assert 'header = "Authorization: Bearer c4n4ry"' in done.stderr and "c4n4ry" not in "".join(machine.did)
    machine.standing('x"\nurl = http://elsewhere')
    assert "nodes" not in machine.prints(RAY.script), "what is no token asks nobody"
    machine.standing()
    assert "token stale" not in machine.prints(RAY.script)
    machine.tool("docker", "case $* in *Config.Env*) echo RAY_AUTH_TOKEN=older ;; esac")
    printed = machine.prints(RAY.script)
    assert "token stale\n" in printed and "older" not in printed
    machine.standing(name=B)
    assert "nodes" not in machine.prints(RAY.script), "the head alone knows"


def test_what_is_settled(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.standing()
    machine.prints(ray.SETTLE)
    assert "systemctl restart sparkrig-ray.service" in machine.did
    machine.active("activating")
    failed = machine.sh(ray.SETTLE)
    assert failed.returncode == 1 and "journalctl -u sparkrig-ray.service" in failed.stderr
    machine.at(ray.UNIT_FILE).unlink()
    machine.has(f"{STATE}/spill/x", "")
    machine.prints(ray.SETTLE)
    assert {"systemctl stop sparkrig-ray.service", "docker rm -f sparkrig-ray"} <= {*machine.did}
    assert not machine.at(STATE).exists()


def test_the_wait_ends_with_those_that_live(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.standing()
    machine.prints(JOINED, "2", "9")
    late = machine.sh(JOINED, "3", "0")
    assert late.returncode == 1
    assert "2 of 3 nodes of Ray live after 0 s: 192.168.100.11 192.168.100.12" in late.stderr


def test_a_ray_that_asks_for_no_token_is_not_taken(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    rows = {"2.52.0": "", "2.60.0": "", "3.0.0rc1": "", "2.51.2": "2.51.2 asks nobody", "1.13.0": "asks nobody"}

    def holds(version: str, expected: str) -> None:
        machine.tool("docker", f"echo 'ray, version {version}'")
        done = machine.sh(FETCH, IMAGE)
        assert (done.returncode == 0) is (not expected) and expected in done.stderr, done.stderr

    each_row([*rows.items()], holds)
    machine.tool("docker", "echo 'no such command'")
    assert "does not tell its version" in machine.sh(FETCH, IMAGE).stderr
    machine.tool("docker", "case $* in image*) exit 1 ;; pull*) exit 7 ;; esac")
    assert machine.sh(FETCH, IMAGE).returncode == 7
