"""T1: a standing Ray cluster, as a whole deploy and its own file have it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from sparkrig.fleet import Fleet
from sparkrig.operations.subject import subject
from sparkrig.resources import ray
from sparkrig.resources.secrets import digest
from tests import warm
from tests.plan.clustered import Cluster
from tests.plan.conftest import A, B, Deploy, Host, converged, sections, well
from tests.plan.conftest import pair as hosts_of
from tests.plan.desk import Desk, write
from tests.unit.states import PAIR, SEEN

ID = f"sha256:{'b' * 64}"
ON: dict[str, Any] = {"ray_image": f"vllm@sha256:{'a' * 64}", "secrets": {"RAY_AUTH_TOKEN": "env:RAY_TOKEN"}}
SALT = "5a" * 16
PLACE, FETCH, JOINED, SETTLE = (
    "while read -r folder name mode",
    "docker pull -q",
    "nodes of Ray live",
    "rm -rf /var/lib/sparkrig/ray",
)


def unit(name: str) -> str:
    fleet = Fleet.parse({each: {**values, **ON} for each, values in PAIR.items()})
    return ray.unit_text(subject(name, fleet, SEEN))


def standing(letter: str, *, nodes: int = 2, state: str = "active", token: str = "c4n4ry") -> str:
    """A converged host whose node runs. nodes: how many the head has; state: of the unit; token: of the host."""
    seen, name = converged(letter), f"spark-{letter}"
    file = f"{ray.UNIT_FILE} 644 root:root {base64.b64encode(unit(name).encode()).decode()}"
    rows = [f"unit ActiveState={state}", "unit UnitFileState=enabled", f"image {ID}", f"container {ID}"]
    if letter == "a":
        there = [
            {"node_ip": f"192.168.100.1{number}", "state": "ALIVE", "resources_total": {"GPU": 1}}
            for number in range(1, nodes + 1)
        ]
        rows.append(f"nodes {json.dumps({'data': {'result': {'result': there}}})}")
    told = digest(SALT, "RAY_AUTH_TOKEN", SecretStr(token))
    secret = f"file 600 root:root\nsalt {SALT}\nsecret RAY_AUTH_TOKEN {told}"
    for noun, more in (("files", file), ("ray", "\n".join(rows)), ("secrets", secret)):
        end = f"\n#sparkrig:end {noun} 0"
        assert end in seen
        seen = seen.replace(end, f"\n{more}{end}")
    return seen


def pair(a: str, b: str, **data: Any) -> list[Host]:
    """Two hosts whose files, asked for again, are those of the look, without the empty rows of a recording."""
    hosts = hosts_of(a, b, **data)
    for each in hosts:
        each.later = read_again(each)
    return hosts


def read_again(host: Host) -> dict[str, str]:
    return {"files": "\n".join(filter(None, sections(host.seen)["files"].splitlines()))}


def on(run: list[tuple[str, str]], text: str) -> set[str]:
    return {host for host, command in run if text in command}


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TOKEN", "c4n4ry")


def test_a_pair_without_the_setting_has_no_step_of_it(deploy: Deploy) -> None:
    run = deploy(pair(converged("a"), converged("b")), "--json", "--dry")
    assert not {step for step in run.plan if step.startswith("Ray")}


def test_each_half_gets_its_node_and_the_head_waits(deploy: Deploy) -> None:
    hosts = pair(converged("a"), converged("b"), **ON)
    planned = deploy(hosts, "--json", "--dry", file="deploys/ray.py")
    assert {step: to for step, to in planned.plan.items() if to and step.startswith("Ray")} == {
        "Ray | node": {A, B},
        "Ray | all nodes join": {A},
    }
    run = well(deploy(hosts, "-y", file="deploys/ray.py"))
    both = {"spark-a", "spark-b"}
    assert on(run.changes, FETCH) == on(run.changes, PLACE) == on(run.changes, SETTLE) == both
    assert on(run.changes, JOINED) == {"spark-a"}
    assert "c4n4ry" not in "".join(command for _, command in run.commands)


def test_a_second_run_is_empty(deploy: Deploy) -> None:
    run = deploy(pair(standing("a"), standing("b"), **ON), "-y", file="deploys/ray.py")
    assert (run.code, run.changes) == (0, [])


def test_a_node_that_stopped_starts_and_one_that_is_missing_is_waited_for(deploy: Deploy, tmp_path: Path) -> None:
    hosts = pair(standing("a", nodes=1), standing("b", state="failed"), **ON)
    done = Desk(tmp_path / "desk").has(hosts).drift()
    rows = {id for ids in done.wrong.values() for id in ids}
    assert {"ray.nodes", "ray.unit"} <= rows
    run = well(deploy(hosts, "-y", file="deploys/ray.py"))
    assert on(run.changes, SETTLE) == {"spark-b"} and on(run.changes, JOINED) == {"spark-a"}


def test_another_token_comes_first_and_starts_the_nodes_again(deploy: Deploy) -> None:
    hosts = pair(standing("a", token="older"), standing("b", token="older"), **ON)
    planned = deploy(hosts, "--json", "--dry", file="deploys/ray.py")
    steps = [step for step, to in planned.plan.items() if to]
    assert steps == ["Secrets | variables for root alone", "Ray | node", "Ray | all nodes join"]
    run = deploy(hosts, "-y", file="deploys/ray.py")
    assert run.code == 0, run.stderr
    assert on(run.changes, SETTLE) == {"spark-a", "spark-b"} and not on(run.changes, "rm -f --")
    assert "c4n4ry" not in "".join(command for _, command in run.commands)


def test_without_the_setting_it_goes(deploy: Deploy) -> None:
    run = well(deploy(pair(standing("a"), standing("b")), "-y", file="deploys/ray.py"))
    assert on(run.changes, "rm -f") == on(run.changes, SETTLE) == {"spark-a", "spark-b"}
    assert not on(run.changes, JOINED)


def test_over_a_rail_that_was_not_measured_it_does_not_start(deploy: Deploy) -> None:
    hosts = pair(converged("a"), converged("b"), **ON)
    hosts[1].later = {"files": ""}
    run = deploy(hosts, "-y", file="deploys/ray.py")
    assert run.code == 1 and on(run.changes, SETTLE) <= {"spark-a"}
    assert (
        "Ray is not started, for the rail is not known to be good (bandwidth.enp1s0f0np0: not measured)"
        in run.stderr
    )


def test_two_images_are_refused_before_any_change(deploy: Deploy) -> None:
    hosts = pair(converged("a"), converged("b"), **ON)
    hosts[1].data = {**hosts[1].data, "ray_image": ID}
    run = deploy(hosts, "-y")
    assert (run.code, run.changes) == (1, [])
    assert "and a Ray cluster has one" in run.stderr


@pytest.mark.parametrize("form", ["ring", "switch"])
def test_three_meet_where_all_reach_each_other(deploy: Deploy, form: str) -> None:
    """A ring has no subnet of all three, so the head's address comes from the look at it, side by side."""
    cluster = Cluster(3, form, settings=(*ON.items(),))
    hosts = cluster.settled()
    for each in hosts:
        each.later = {**each.later, **read_again(each)}
    run = well(deploy(hosts, "-y", file="deploys/ray.py"))
    assert on(run.changes, PLACE) == on(run.changes, SETTLE) == {*cluster.names}
    assert on(run.changes, JOINED) == {"spark-a"}


FIGURES = 'sparkrig-ray {"nodes": ["192.168.100.11", "192.168.100.12"], "backend": "nccl", "transport": "%s", '
FIGURES += '"bytes": 2147483648, "seconds": 0.1, "wrong": 0}'


def test_the_verb_measures_on_the_head_alone(tmp_path: Path) -> None:
    for transport, code, words in (("IB", 0, ""), ("Socket", 2, "NCCL went over Socket, and IB is expected")):
        hosts = pair(standing("a"), standing("b"), **ON)
        hosts[0].responses = {"docker exec -i sparkrig-ray": [FIGURES % transport]}
        file = write(tmp_path, [host.entry() for host in hosts])
        for more in ((), ("--json",)):
            done = warm.run("sparkrig", "bandwidth", str(file), "--ray", *more, env={"NO_COLOR": "1"}, timeout=60)
            assert done.returncode == code, done.stdout + done.stderr
            assert "10.74 GB/s by NCCL over" in done.stdout + done.stderr and words in done.stdout + done.stderr
        assert json.loads(done.stdout)["ray"][0]["transport"] == transport


def test_the_verb_says_where_there_is_no_cluster(tmp_path: Path) -> None:
    file = write(tmp_path, [host.entry() for host in pair(converged("a"), converged("b"))])
    done = warm.run("sparkrig", "bandwidth", str(file), "--ray", env={"NO_COLOR": "1"}, timeout=60)
    assert done.returncode == 3 and "spark-a has no Ray cluster" in done.stdout
