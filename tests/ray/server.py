"""Stands in for vLLM: an API that answers, and a task on each node of Ray, told when that changes."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


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
    port = int(words[words.index("--port") + 1])
    threading.Thread(target=ThreadingHTTPServer(("0.0.0.0", port), Api).serve_forever).start()
    watch()
