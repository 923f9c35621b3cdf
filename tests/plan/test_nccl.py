"""T1: NCCL's place in deploys/bandwidth.py; the check itself is tested on docker's stand-in (tests/unit)."""

from __future__ import annotations

from typing import Any

from tests.plan.conftest import Deploy, converged, pair
from tests.unit.ranks import HEALTHY, PREFLIGHT


def settled(**changes: Any) -> list[Any]:
    """A pair that is as it should be, with docker, a GPU and an image; it counts no bytes, being a virtual one."""
    hosts = pair(converged("a"), converged("b"), **changes)
    printed = [*HEALTHY.splitlines(), "", "sparkrig-nccl exit 0"]
    for host in hosts:
        host.responses = {
            "image=$1 port=$2": PREFLIGHT.splitlines(),
            "sparkrig-nccl exit": printed,
            "life=$1 wait=$2": ["flaps 0 0", "server 0 18515", "flaps 1 0", "server 1 18516"],
            "run=$1 why=$2": ["flaps 0 0", "flaps 1 0"],
        }
    return hosts


def nccl(commands: list[tuple[str, str]]) -> list[str]:
    return [host for host, text in commands if "docker run --rm" in text]


def test_a_thorough_measurement_asks_nccl_and_believes_no_log_alone(deploy: Deploy) -> None:
    run = deploy(settled(nccl_image="nccl:1"), "-y", file="deploys/bandwidth.py")
    assert sorted(nccl(run.commands)) == ["spark-a", "spark-b"]
    assert "pair: counters-unread: 23.74 GB/s at 8 GiB by NCCL 2.28.9" in run.stderr
    ends = [host for host, text in run.commands if "docker rm -f" in text]
    assert sorted(ends) == ["spark-a", "spark-b"]
    assert "Traceback" not in run.stderr


def test_without_an_image_no_container_is_started(deploy: Deploy) -> None:
    run = deploy(settled(), "-y", file="deploys/bandwidth.py")
    assert not [text for _, text in run.changes if "docker" in text]


def test_the_deploy_itself_asks_for_rails_only(deploy: Deploy) -> None:
    run = deploy(settled(nccl_image="nccl:1", bandwidth_floor=200.0), "-y", file="deploys/cluster.py")
    assert any("ping=$1 limit=$2" in text for _, text in run.commands), "the rails are due, with that floor"
    assert not nccl(run.commands)
