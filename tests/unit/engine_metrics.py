"""Servers of this machine that answer /metrics as an engine does, and their records on a made host."""

from __future__ import annotations

import json
import socket
from typing import Any, Protocol

from tests.attacks.servers import Answer

# each as the engine prints it: [@vllm-metrics], [@sglang-metrics], [@llama-server]
ENGINES = {
    "vllm": """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="Qwen/Qwen3} 4"} 2.0
vllm:num_requests_running{engine="1",model_name="Qwen/Qwen3} 4"} 1.0
vllm:num_requests_waiting{engine="0",model_name="Qwen/Qwen3} 4"} 5.0
vllm:prompt_tokens_total{engine="0",model_name="Qwen/Qwen3} 4"} 8.128902e+06
vllm:generation_tokens_total{engine="0",model_name="Qwen/Qwen3} 4"} 12.0 1795600000000
vllm:generation_tokens_created{engine="0"} 1.7e+09
""",
    "sglang": """\
sglang:num_running_reqs{model_name="m"} 3.0
sglang:num_queue_reqs{model_name="m"} 5.0
sglang:prompt_tokens_total{model_name="m"} 8.128902e+06
sglang:generation_tokens_total{model_name="m"} 12.0
""",
    "llama.cpp": """\
llamacpp:prompt_tokens_total 8128902
llamacpp:tokens_predicted_total 12
llamacpp:requests_processing 3
llamacpp:requests_deferred 5
""",
}


def says(text: str, status: str = "200 OK") -> Answer:
    whole = f"HTTP/1.0 {status}\r\nContent-Type: text/plain\r\n\r\n{text}".encode()

    def answer(client: socket.socket) -> None:
        for part in (whole[:150], whole[150:]):
            client.sendall(part)

    return answer


class Has(Protocol):
    """What files can be put into."""

    def has(self, path: str, text: str) -> None: ...


def record(host: Has, port: int, engine: str = "vllm", service: str = "", **more: Any) -> None:
    told = {"rank": 0, "trial_port": port, **({"engine": engine} if engine != "vllm" else {}), **more}
    host.has(f"etc/sparkrig/serve/{service}/serve.json", json.dumps(told))
