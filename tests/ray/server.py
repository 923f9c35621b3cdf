"""Stands in for vLLM: an API that answers, and a task on each node of Ray, told when that changes."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Api(BaseHTTPRequestHandler):
    """As much of OpenAI's API as start.sh asks for."""

    def do_GET(self) -> None:
        self._answer({"data": [{"id": "stand-in"}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer({"model": asked["model"], "choices": [{"text": "1"}]})

    def _answer(self, body: object) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def where() -> str:
    import ray

    return f"{socket.gethostname()}={ray.util.get_node_ip_address()}"


def hold() -> None:
    """Hold a GPU of each node, the first of them here, and a worker there, as vLLM does [@vllm-source]."""
    import ray
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    ray.init(log_to_driver=False)
    bundles = [{"GPU": 1.0} for _ in range(int(os.environ["SPARKRIG_NODES"]))]
    bundles[0][f"node:{os.environ['VLLM_HOST_IP']}"] = 0.001
    group = ray.util.placement_group(bundles, strategy="PACK")
    ray.get(group.ready(), timeout=60)
    workers = [
        ray.remote(num_cpus=0, num_gpus=1)(Worker)
        .options(scheduling_strategy=PlacementGroupSchedulingStrategy(group, place))
        .remote()
        for place in range(len(bundles))
    ]
    print("workers on", *ray.get([worker.place.remote() for worker in workers]), flush=True)
    ray.get(workers[-1].stay.remote())


class Worker:
    def place(self) -> str:
        return f"{where()}={os.environ['VLLM_HOST_IP']}"

    def stay(self) -> None:
        time.sleep(3600)


def watch() -> None:
    """Run a task on each node for ever."""
    import ray
    from ray.exceptions import RayError
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ray.init(log_to_driver=False)
    task, before = ray.remote(num_cpus=0, max_retries=0)(where), ""
    while True:
        answers = [
            task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)).remote()
            for node in ray.nodes()
            if node["Alive"]
        ]
        try:
            told = "a task ran on " + " ".join(sorted(ray.get(answers, timeout=10)))
        except RayError:
            told = "a task was lost"
        if told != before:
            print(told, flush=True)
        before = told
        time.sleep(0.2)


if __name__ == "__main__":
    words = sys.argv[1:]
    print("served with", *words, flush=True)
    kept = Path("~/.config/vllm/ray_non_carry_over_env_vars.json").expanduser()
    print("each node keeps its own", kept.read_text(encoding="utf-8"), flush=True)
    port = int(words[words.index("--port") + 1])
    threading.Thread(target=ThreadingHTTPServer(("0.0.0.0", port), Api).serve_forever).start()
    hold() if os.environ["SPARKRIG_FORM"] == "standing" else watch()
