"""templates/serving/start.sh with real Ray, on two nodes whose own names lead to loopback, as DGX OS has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ray.spark import FABRIC, MANAGEMENT, Sparks

SERVER = ("python3", str(Path(__file__).with_name("server.py")), "vllm", "serve", "MODEL")
BOTH = " ".join(f"{name}={address}" for name, address in FABRIC.items())
ALONE = f"spark-a={FABRIC['spark-a']}"


@pytest.mark.representative
def test_a_pair_forms_over_the_fabric_and_a_lost_worker_comes_back(pair: Sparks) -> None:
    head = pair.start("spark-a", *SERVER, NCCL_IB_HCA="rocep1s0f0", UCX_NET_DEVICES="fabric0")
    worker = pair.start("spark-b", *SERVER)
    assert head.says("a task ran on").endswith(f"ran on {BOTH}")
    assert "--port 8000 --distributed-executor-backend ray" in head.says("served with")
    assert "model=stand-in" in head.says("phase answered")
    assert "name=spark-a=127.0.0.1" in head.says("phase start")

    worker.cut()
    head.says(f"a task ran on {ALONE}")
    again = pair.start("spark-b", *SERVER)
    head.says(f"a task ran on {BOTH}", times=2)
    assert "head-up" in again.says("phase head-up")


def test_a_head_that_comes_back_is_joined_by_whoever_was_left(pair: Sparks) -> None:
    head, worker = pair.start("spark-a", *SERVER), pair.start("spark-b", *SERVER)
    head.says(f"a task ran on {BOTH}")
    head.cut()
    again = pair.start("spark-a", *SERVER)  # systemd is back long before the worker noticed
    assert worker.ends() != 0
    pair.start("spark-b", *SERVER)
    again.says(f"a task ran on {BOTH}")


def test_a_worker_on_the_wrong_network_is_named_and_no_server_begins(pair: Sparks) -> None:
    head = pair.start("spark-a", *SERVER, wait="25")
    worker = pair.start("spark-b", *SERVER, address=MANAGEMENT["spark-b"])
    told = worker.says("trouble interface")
    assert f"speaks to {FABRIC['spark-a']} from {FABRIC['spark-b']}, not from {MANAGEMENT['spark-b']}" in told
    assert head.ends() == 1
    assert f"{MANAGEMENT['spark-b']} is silent" in head.printed and "trouble not-formed" in head.printed
    assert "phase server" not in head.printed


def test_without_addresses_ray_falls_into_the_trap_of_the_hostname(pair: Sparks) -> None:
    """What start.sh is for: the same Ray, told nothing, listens on loopback, and its peer finds nobody."""
    head = pair.run("spark-a", "sh", "-c", "ray start --head --port=6379 --include-dashboard=false; sleep 600")
    assert "Local node IP: 127.0.0.1" in head.says("Local node IP")
    head.says("Ray runtime started")
    worker = pair.start("spark-b", *SERVER, wait="5")
    assert worker.ends() == 1
    assert f"nothing answered at {FABRIC['spark-a']}:6379" in worker.says("trouble no-head")


def test_with_a_token_nobody_else_joins(pair: Sparks) -> None:
    secret = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "c4n4ry" * 8}
    head = pair.start("spark-a", *SERVER, **secret)
    head.says("phase head-up")
    stranger = pair.start("spark-b", *SERVER)
    assert stranger.ends() != 0
    pair.start("spark-b", *SERVER, **secret)
    head.says(f"a task ran on {BOTH}")


@pytest.mark.representative
def test_a_worker_without_a_head_says_so_in_time(pair: Sparks) -> None:
    worker = pair.start("spark-b", *SERVER, wait="1")
    assert worker.ends() == 1
    assert f"nothing answered at {FABRIC['spark-a']}:6379 within 1 s" in worker.says("trouble no-head")
