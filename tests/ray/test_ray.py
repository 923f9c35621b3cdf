"""templates/serving/start.sh with real Ray, on two nodes whose own names lead to loopback, as DGX OS has it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from sparkrig.serving.startup import Seen, parse, read
from sparkrig.serving.trouble import judge
from tests.ray.spark import FABRIC, MANAGEMENT, RING, SERVER, START, SWITCH, Cluster, Node, Sparks, sparks

BOTH = f"spark-a={FABRIC['spark-a']} spark-b={FABRIC['spark-b']}"
ALONE = f"spark-a={FABRIC['spark-a']}"


def diagnosed(*nodes: Node) -> dict[str, str]:
    """What `sparkrig startup` would tell of the logs, by host: the causes."""
    units = {node.name: unit(node) for node in nodes}
    return {name: verdict.cause for name, verdict in judge({n: (s, read(s)) for n, s in units.items()}).items()}


def unit(node: Node) -> Seen:
    """The log as the journal has it, of a unit that goes on."""
    rows = [f"log {time.time():.6f} {node.name} docker[1]: {line}" for line in node.printed.splitlines()]
    memory = ("MemTotal 126877696", "MemAvailable 88080384")
    return parse([f"now {time.time()}", "unit LoadState=loaded", "unit ActiveState=active", *memory, *rows])


@pytest.mark.representative
def test_a_pair_forms_over_the_fabric_and_a_lost_worker_comes_back(pair: Sparks) -> None:
    head = pair.start("spark-a", *SERVER, NCCL_IB_HCA="rocep1s0f0", UCX_NET_DEVICES="fabric0")
    worker = pair.start("spark-b", *SERVER)
    assert head.says("a task ran on").endswith(f"ran on {BOTH}")
    assert "--port 8000 --distributed-executor-backend ray" in head.says("served with")
    kept = head.says("each node keeps its own").partition("own ")[2]
    assert {*json.loads(kept)} == {"NCCL_IB_HCA", "UCX_NET_DEVICES"}
    assert "model=stand-in" in head.says("phase answered")
    assert "name=spark-a=127.0.0.1" in head.says("phase start")

    assert diagnosed(head, worker) == {"spark-a": "", "spark-b": ""}

    worker.cut()
    head.says(f"a task ran on {ALONE}")
    again = pair.start("spark-b", *SERVER)
    head.says(f"a task ran on {BOTH}", times=2)
    assert "head-up" in again.says("phase head-up")


@pytest.mark.parametrize("cluster", [RING, SWITCH], ids=["ring", "switch"])
def test_three_form_and_a_lost_worker_comes_back(programs: Path, tmp_path: Path, cluster: Cluster) -> None:
    """A ring's nodes meet over the management network, for no subnet of its fabric joins all three."""
    a, b, c = cluster.meeting
    three = " ".join(f"{name}={address}" for name, address in cluster.meeting.items())
    with sparks(programs, tmp_path, cluster) as made:
        head, kept, lost = (made.start(name, *SERVER) for name in (a, b, c))
        assert head.says("a task ran on").endswith(f"ran on {three}")
        assert diagnosed(head, kept, lost) == {a: "", b: "", c: ""}
        lost.cut()
        head.says(f"a task ran on {a}={cluster.meeting[a]} {b}={cluster.meeting[b]}")
        made.start(c, *SERVER)
        head.says(f"a task ran on {three}", times=2)
        assert kept.process.poll() is None, "who was left stays"


def test_a_ring_whose_nodes_should_meet_over_the_fabric_does_not_form(programs: Path, tmp_path: Path) -> None:
    """Why they meet over the management network: an address of a cable is not seen from the third node."""
    with sparks(programs, tmp_path, RING) as made:
        on_fabric = {"head": "192.168.200.11", "GLOO_SOCKET_IFNAME": "p0", "wait": "10"}
        head = made.start("spark-a", *SERVER, address="192.168.200.11", **on_fabric)
        made.start("spark-b", *SERVER, address="192.168.200.12", **on_fabric)
        third = made.start("spark-c", *SERVER, address="192.168.202.11", **on_fabric)
        assert third.ends() == 1 and head.ends() == 1
        assert "phase server" not in head.printed


def test_a_head_that_comes_back_is_joined_by_whoever_was_left(pair: Sparks) -> None:
    head, worker = pair.start("spark-a", *SERVER), pair.start("spark-b", *SERVER)
    head.says(f"a task ran on {BOTH}")
    head.cut()
    again = pair.start("spark-a", *SERVER)  # systemd is back long before the worker noticed
    assert worker.ends() != 0  # Ray gives it up after a minute
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
    assert diagnosed(head, worker) == {"spark-a": "peer", "spark-b": "interface"}


def test_without_addresses_ray_falls_into_the_trap_of_the_hostname(pair: Sparks) -> None:
    """What start.sh is for: the same Ray, told nothing, listens on loopback, and its peer finds nobody."""
    head = pair.run("spark-a", "sh", "-c", "ray start --head --port=6379 --include-dashboard=false; sleep 600")
    assert "Local node IP: 127.0.0.1" in head.says("Local node IP")
    head.says("Ray runtime started")
    worker = pair.start("spark-b", *SERVER, wait="5")
    assert worker.ends() == 1
    assert f"nothing answered at {FABRIC['spark-a']}:6379" in worker.says("trouble no-head")
    assert diagnosed(head, worker) == {"spark-a": "loopback", "spark-b": "peer"}


def test_with_a_token_nobody_else_joins(pair: Sparks) -> None:
    secret = {"RAY_AUTH_TOKEN": "c4n4ry" * 8}
    head = pair.start("spark-a", *SERVER, **secret)
    head.says("phase head-up")
    stranger = pair.start("spark-b", *SERVER)
    assert stranger.ends() != 0
    pair.start("spark-b", *SERVER, **secret)
    head.says(f"a task ran on {BOTH}")
    assert not any("c4n4ry" in node.printed for node in pair.nodes)


LATE = """
ip address del $SPARKRIG_ADDRESS/24 dev fabric0
(sleep 3; ip address add $SPARKRIG_ADDRESS/24 dev fabric0) &
exec sh "$@"
"""


def test_a_link_that_is_late_is_waited_for(pair: Sparks) -> None:
    """Its address goes with the carrier, which goes with the peer's power."""
    orders = {"form": "ray", "port": "8000", "nodes": "2", "rank": "1", "wait": "15"}
    addresses = {"head": FABRIC["spark-a"], "address": FABRIC["spark-b"]}
    env = {f"SPARKRIG_{key.upper()}": value for key, value in {**orders, **addresses}.items()}
    worker = pair.run("spark-b", "sh", "-c", LATE, "sh", START, *SERVER, env=env)
    assert f"nothing answered at {FABRIC['spark-a']}:6379" in worker.says("trouble no-head")
    assert "trouble address" not in worker.printed


@pytest.mark.representative
def test_a_worker_without_a_head_says_so_in_time(pair: Sparks) -> None:
    worker = pair.start("spark-b", *SERVER, wait="1", GLOO_SOCKET_IFNAME="")
    assert worker.ends() == 1
    assert worker.says("trouble name").endswith("GLOO_SOCKET_IFNAME is not set, and spark-b is 127.0.0.1 here")
    assert f"nothing answered at {FABRIC['spark-a']}:6379 within 1 s" in worker.says("trouble no-head")
