#!/usr/bin/env python3
"""A stand-in for nodes of Ray: `ray start`, as a standing cluster has it, with the head's dashboard.

    ray start --head --port=6379 --node-ip-address=A --dashboard-host=127.0.0.1 --dashboard-port=8265 ...
    ray start --address=A:6379 --node-ip-address=B ...

As the module `ray` it is as much of a driver as start.sh has: every node that lives does its task.

A node holds a connection to the head, with the token of RAY_AUTH_TOKEN, and ends when that is lost; the head calls
a node alive as long as it hears of it. The dashboard has those documents of Ray 2.60 that sparkrig reads. Real Ray
is in tests/ray; this is small enough for an emulated guest.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import socket
import sys
import threading
import time
import types
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

BEAT_S, LOST_S = 2, 15
TOKEN = os.environ.get("RAY_AUTH_TOKEN", "")


class Cluster:
    """What the head knows: when each node, by its address, was last heard of, and its GPUs."""

    def __init__(self) -> None:
        self.heard: dict[str, tuple[float, float]] = {}

    def nodes(self) -> list[dict[str, Any]]:
        now = time.monotonic()
        return [
            {"node_ip": address, "state": "ALIVE", "resources_total": {"GPU": gpus}}
            for address, (at, gpus) in sorted(self.heard.items())
            if now - at < LOST_S
        ]


def rows(*found: dict[str, Any]) -> dict[str, Any]:
    return {"result": True, "msg": "", "data": {"result": {"total": len(found), "result": [*found]}}}


def dashboard(cluster: Cluster, host: str, port: int, store: float) -> None:
    class Documents(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                self.send_error(401)
                return
            nodes = cluster.nodes()
            usage = {"usage": {"objectStoreMemory": [0.0, store * len(nodes)]}}
            documents: dict[str, Any] = {
                "/api/version": {"version": "4", "ray_version": "2.60.0"},
                "/api/v0/nodes": rows(*nodes),
                "/api/cluster_status": {"data": {"clusterStatus": {"loadMetricsReport": usage}}},
                "/api/v0/placement_groups": rows(),
                "/api/v0/jobs": rows(),
            }
            body = json.dumps(documents.get(self.path.partition("?")[0], {})).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    threading.Thread(target=ThreadingHTTPServer((host, port), Documents).serve_forever, daemon=True).start()


def lead(cluster: Cluster, address: str, port: int, gpus: float) -> None:
    """Hear the nodes for ever."""

    def hear(peer: socket.socket) -> None:
        with peer, suppress(OSError, ValueError):
            peer.settimeout(LOST_S)
            for line in peer.makefile(encoding="utf-8"):
                node = json.loads(line)
                if node["token"] != TOKEN:
                    return
                cluster.heard[node["address"]] = (time.monotonic(), node["gpus"])

    with socket.create_server((address, port)) as server:
        server.settimeout(BEAT_S)
        while True:
            cluster.heard[address] = (time.monotonic(), gpus)
            with suppress(TimeoutError):
                threading.Thread(target=hear, args=(server.accept()[0],), daemon=True).start()


def follow(head: str, address: str, gpus: float) -> None:
    """Tell the head of this node until one of them is lost. Raises OSError."""
    name, _, port = head.rpartition(":")
    with socket.create_connection((name, int(port)), LOST_S, (address, 0)) as peer:
        peer.settimeout(LOST_S)
        # a head without power answers nothing: the kernel gives up after so long
        peer.setsockopt(socket.IPPROTO_TCP, 18, LOST_S * 1000)  # TCP_USER_TIMEOUT
        print(f"joined {head}", flush=True)
        while True:
            told = {"token": TOKEN, "address": address, "gpus": gpus}
            peer.sendall(json.dumps(told).encode() + b"\n")
            time.sleep(BEAT_S)


def main() -> None:
    if sys.argv[1:] == ["--version"]:
        print("ray, version 2.60.0")
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("start")
    parser.add_argument("--head", action="store_true")
    for name in ("address", "node-ip-address", "dashboard-host", "temp-dir"):
        parser.add_argument(f"--{name}", default="")
    for name in ("port", "dashboard-port", "num-gpus", "object-store-memory"):
        parser.add_argument(f"--{name}", type=int, default=0)
    asked, _ = parser.parse_known_args()
    Path("/dev/shm/plasma").write_bytes(b"\0" * 4096)  # noqa: S108 - of a container
    if not asked.head:
        follow(asked.address, asked.node_ip_address, asked.num_gpus)
    (Path(asked.temp_dir) / "session_latest").mkdir(parents=True, exist_ok=True)
    cluster = Cluster()
    dashboard(cluster, asked.dashboard_host, asked.dashboard_port, asked.object_store_memory)
    lead(cluster, asked.node_ip_address, asked.port, asked.num_gpus)


# --- the module, beside the head


def init(**_: object) -> None:
    pass


def nodes() -> list[dict[str, Any]]:
    asked = http.client.HTTPConnection("127.0.0.1", 8265, timeout=20)
    asked.request("GET", "/api/v0/nodes", headers={"Authorization": f"Bearer {TOKEN}"})
    found = json.load(asked.getresponse())["data"]["result"]["result"]
    return [{"NodeID": row["node_ip"], "NodeManagerAddress": row["node_ip"], "Alive": True} for row in found]


def available_resources() -> dict[str, float]:
    return {"GPU": float(len(nodes()))}


class Task:
    """One that each node does at once."""

    def options(self, scheduling_strategy: str) -> Task:
        self.node = scheduling_strategy
        return self

    def remote(self) -> str:
        return self.node


def remote(**_: object) -> Any:
    return lambda _: Task()


def wait(tasks: list[str], timeout: float, **_: object) -> tuple[list[str], list[str]]:
    time.sleep(timeout)
    return tasks, []


def get(_: str) -> None:
    pass


def affinity(node: str, *, soft: bool) -> str:  # noqa: ARG001 - Ray's own word
    return node


if __name__ == "__main__":
    main()
elif __name__ == "ray":
    exceptions, util = types.ModuleType("ray.exceptions"), types.ModuleType("ray.util")
    exceptions.RayError = OSError  # type: ignore[attr-defined]
    strategies = types.ModuleType("ray.util.scheduling_strategies")
    strategies.NodeAffinitySchedulingStrategy = affinity  # type: ignore[attr-defined]
    sys.modules |= {each.__name__: each for each in (exceptions, util, strategies)}
