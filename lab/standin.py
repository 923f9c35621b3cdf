#!/usr/bin/env python3
"""A stand-in for vLLM: its HTTP, log and metrics, no model behind it; it does what it was told, when it was told.

    python3 lab/standin.py --first 0.3 --token 0.02 --fail 500:4
    STANDIN='--startup 5 --fail 500' vllm serve MODEL --port 8000 ...

As `vllm serve` it takes vLLM's own flags, and its options come from the variable STANDIN. Called as
`sglang/launch_server.py` or as `llama-server` it stands in for SGLang or llama.cpp in the same way; as `vllm bench
serve` or `sglang/bench_serving.py` it saves what others measured, as of the requests that are asked for. One file
of the standard library alone, for Python 3.9 and later, so that it can be put into a container in their place.

An answer takes `first` + `token` x its tokens in seconds from when it was let in (`--max-num-seqs` at a time).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import shlex
import signal
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CHARACTERS = 4  # of a token
WORDS = ("The", "capital", "of", "France", "is", "Paris.")
PHASES = ("start", "weights", "compile", "cache", "graphs", "ready")
VLLM, SGLANG, LLAMA = "vLLM", "SGLang", "llama.cpp"
# what vLLM 0.19 logs of each phase; the numbers are invented
LOG_OF_VLLM = {
    "start": (
        "INFO {day} [api_server.py:1351] vLLM API server version 0.19.0+standin",
        "INFO {day} [core.py:105] Initializing a V1 LLM engine (v0.19.0+standin) with config: model='{model}'",
        "INFO {day} [gpu_model_runner.py:4735] Starting to load model {model}...",
    ),
    "weights": (
        "Loading safetensors checkpoint shards: 100% Completed | 1/1 [00:01<00:00,  1.00s/it]",
        "INFO {day} [default_loader.py:384] Loading weights took {took:.2f} seconds",
        "INFO {day} [gpu_model_runner.py:4820] Model loading took 1.0 GiB memory and {took:.6f} seconds",
    ),
    "compile": ("INFO {day} [monitor.py:48] torch.compile took {took:.2f} s in total",),
    "cache": (
        "INFO {day} [gpu_worker.py:456] Available KV cache memory: 1.0 GiB",
        "INFO {day} [kv_cache_utils.py:1316] GPU KV cache size: 65,536 tokens",
    ),
    "graphs": (
        "INFO {day} [gpu_model_runner.py:5876] Graph capturing finished in {took:.0f} secs, took 0.10 GiB",
        "INFO {day} [core.py:281] init engine (profile, create kv cache, warmup model) took {took:.2f} seconds",
    ),
    "ready": (
        "INFO {day} [api_server.py:580] Starting vLLM server on http://{host}:{port}",
        "INFO:     Application startup complete.",
    ),
}
# as SGLang 0.5 does, in public logs of 2025 and 2026
LOG_OF_SGLANG = {
    "start": (
        "[{day}] server_args=ServerArgs(model_path='{model}', host='{host}', port={port})",
        "[{day}] Load weight begin. avail mem=110.00 GB",
    ),
    "weights": ("[{day}] Load weight end. elapsed={took:.2f} s, avail mem=50.00 GB, mem usage=60.00 GB.",),
    "compile": ("[{day}] Using KV cache dtype: torch.bfloat16",),
    "cache": (
        "[{day}] KV Cache is allocated. #tokens: 65536, K size: 1.00 GB, V size: 1.00 GB",
        "[{day}] Memory pool end. avail mem=40.00 GB",
        "[{day}] Capture cuda graph begin. This can take up to several minutes. avail mem=40.00 GB",
    ),
    "graphs": ("[{day}] Capture cuda graph end. Time elapsed: {took:.2f} s. avail mem=39.00 GB.",),
    "ready": (
        "[{day}] INFO:     Application startup complete.",
        "[{day}] INFO:     Uvicorn running on http://{host}:{port} (Press CTRL+C to quit)",
        "[{day}] The server is fired up and ready to roll!",
    ),
}
# as NVIDIA's playbook shows it for a Spark (dgx-spark-playbooks at 0db7c14, nvidia/llama-cpp)
LOG_OF_LLAMA = {
    "start": ("0.00.031.313 I srv    load_model: loading model '{model}'",),
    "weights": ("0.14.322.970 I slot   load_model: id  0 | task -1 | new slot, n_ctx = 32768",),
    "compile": (),
    "cache": ("0.14.323.063 I srv    load_model: prompt cache is enabled, size limit: 8192 MiB",),
    "graphs": (),
    "ready": (
        "0.14.342.935 I srv  llama_server: model loaded",
        "0.14.342.939 I srv  llama_server: server is listening on http://{host}:{port}",
        "0.14.342.944 I srv  update_slots: all slots are idle",
    ),
}
LOGS = {VLLM: LOG_OF_VLLM, SGLANG: LOG_OF_SGLANG, LLAMA: LOG_OF_LLAMA}
# what each dies with
DEATHS = {
    VLLM: (
        "ERROR {day} [core.py:866] EngineCore failed to start.",
        "RuntimeError: Engine core initialization failed. See root cause above.",
    ),
    SGLANG: ("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",),
    LLAMA: ("0.05.000.000 E srv  llama_server: exiting due to model loading error",),
}
# the metrics of vLLM by the names of the others, which have no more of them here
NAMES = {
    SGLANG: {
        "generation_tokens_total": "sglang:generation_tokens_total",
        "prompt_tokens_total": "sglang:prompt_tokens_total",
        "num_requests_running": "sglang:num_running_reqs",
        "num_requests_waiting": "sglang:num_queue_reqs",
    },
    LLAMA: {
        "generation_tokens_total": "llamacpp:tokens_predicted_total",
        "prompt_tokens_total": "llamacpp:prompt_tokens_total",
        "num_requests_running": "llamacpp:requests_processing",
        "num_requests_waiting": "llamacpp:requests_deferred",
    },
}


def fault(text: str) -> tuple[int, int]:
    """STATUS or STATUS:EVERY; without EVERY, each request."""
    status, _, every = text.partition(":")
    if not (status.isdigit() and 400 <= int(status) <= 599):
        raise argparse.ArgumentTypeError(f"{status} is no fault: an HTTP status of 400 to 599 expected")
    if every and not (every.isdigit() and int(every)):
        raise argparse.ArgumentTypeError(f"{every} is no number of requests")
    return int(status), int(every or 1)


def own_options() -> argparse.ArgumentParser:
    """The options that control it."""
    parser = argparse.ArgumentParser("standin", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--first", type=float, default=0.05, metavar="S", help="seconds to the first token")
    add("--token", type=float, default=0.01, metavar="S", help="seconds from one token to the next")
    add(
        "--fail",
        type=fault,
        action="append",
        default=[],
        metavar="STATUS[:EVERY]",
        help="each EVERYth request fails",
    )
    add("--startup", type=float, default=0.0, metavar="S", help="seconds until it listens")
    add("--stuck", choices=PHASES, help="phase of the startup that never ends")
    add("--crash", choices=PHASES, help="phase of the startup in which it dies, with exit code 1")
    add("--unhealthy", action="store_true", help="/health answers 503")
    add("--garbage", action="store_true", help="answers are exclamation marks, as of a broken kernel")
    add("--frozen", metavar="FILE", help="while it is there, the engine stands still, and all else goes on")
    add("--no-metrics", action="store_true", help="/metrics is not there")
    return parser


def served_options(parser: argparse.ArgumentParser) -> None:
    """Of vLLM's own flags, those that change what it does."""
    add = parser.add_argument
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=8000, help="0: any that is free")
    add("--served-model-name", nargs="+")
    add("--max-model-len", type=int, default=32768, metavar="N")
    add("--max-num-seqs", type=int, default=256, metavar="N", help="requests at a time; others wait")
    add("--api-key", default=os.environ.get("VLLM_API_KEY"))
    add("--runner", default="auto", help="pooling: it embeds, and does not write")
    add("--convert", default="auto", help="embed, or classify: it ranks")
    add("--hf-overrides", default="", metavar="JSON", help="with an architecture that classifies: it ranks")
    add("--headless", action="store_true", help="a node that only computes: it serves nothing, and waits")
    add("--nnodes", type=int, default=1)
    add("--node-rank", type=int, default=0)
    add("--master-addr", default="127.0.0.1")
    add("--master-port", type=int, default=29501)


def sglang_options(parser: argparse.ArgumentParser) -> None:
    """Of SGLang's own flags, those that change what it does."""
    add = parser.add_argument
    add("--model-path", "--model", dest="model", default="stand-in")
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=30000)
    add("--served-model-name", action="append")
    add("--context-length", type=int, default=32768, dest="max_model_len")
    add("--max-running-requests", type=int, default=256, dest="max_num_seqs")
    add("--enable-metrics", action="store_true", dest="metrics")
    add("--api-key")
    add("--nnodes", type=int, default=1)
    add("--node-rank", type=int, default=0)
    add("--dist-init-addr", default="127.0.0.1:29501")


def llama_options(parser: argparse.ArgumentParser) -> None:
    """Of llama-server's own flags, those that change what it does."""
    add = parser.add_argument
    add("--model", "-m", default="stand-in")
    add("--alias", "-a", action="append", dest="served_model_name")
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=8080)
    add("--ctx-size", "-c", type=int, default=32768, dest="max_model_len")
    add("--parallel", "-np", type=int, default=4, dest="max_num_seqs")
    add("--metrics", action="store_true")
    add("--api-key", default=os.environ.get("LLAMA_API_KEY"))


def role_of(program: str) -> str:
    """What it stands in for, by what it was called."""
    folder, name = os.path.split(program)
    if name.startswith("llama-server"):
        return LLAMA
    return SGLANG if os.path.basename(folder) == "sglang" else VLLM  # noqa: PTH119 - one file alone


def told_as(role: str, words: list[str], variable: str) -> argparse.Namespace:
    """The options of SGLang's or llama.cpp's command line, whose other flags are passed over."""
    options = own_options().parse_args(shlex.split(variable))
    parser = argparse.ArgumentParser(role, allow_abbrev=False)
    (sglang_options if role == SGLANG else llama_options)(parser)
    parser.parse_known_args(words, namespace=options)
    more = {"role": role, "headless": False, "nnodes": 1, "node_rank": 0}
    more |= {"convert": "auto", "runner": "auto", "hf_overrides": ""}  # it generates
    for name, value in more.items():
        if not hasattr(options, name):
            setattr(options, name, value)
    if role == SGLANG:
        options.master_addr, _, port = options.dist_init_addr.rpartition(":")
        options.master_port, options.headless = int(port), options.node_rank > 0
    return options


def told(words: list[str], variable: str, role: str = VLLM) -> argparse.Namespace:
    """The options of a command line: an unknown one is an error, or as `vllm serve` one of vLLM's other flags."""
    if role != VLLM:
        return told_as(role, words, variable)
    parser = own_options()
    parser.set_defaults(role=VLLM, metrics=True)
    if words[:1] != ["serve"]:
        served_options(parser)
        parser.add_argument("model", nargs="?", default="stand-in")
        options = parser.parse_args(words)
    else:
        options = parser.parse_args(shlex.split(variable))
        vllm = argparse.ArgumentParser("vllm serve", allow_abbrev=False)
        vllm.add_argument("model", nargs="?", default="stand-in")
        served_options(vllm)
        vllm.parse_known_args(words[1:], namespace=options)
    return options


class Engine:
    """What a server knows of all its requests."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.names: list[str] = options.served_model_name or [options.model]
        self.began = time.time()
        self.stopping = threading.Event()
        self.counters: dict[str, float] = {}
        self.gauges = {"num_requests_running": 0.0, "num_requests_waiting": 0.0}
        self._lock = threading.Lock()
        self._seats = threading.Semaphore(options.max_num_seqs)
        self._numbers = 0
        self.count("num_preemptions_total", 0)
        self.count("generation_tokens_total", 0)

    def count(self, name: str, by: float, labels: str = "") -> None:
        with self._lock:
            key = f"{name}|{labels}"
            self.counters[key] = self.counters.get(key, 0) + by

    def stand(self) -> None:
        """Until the engine goes on, where it was told to stand still."""
        while self.options.frozen and os.path.exists(self.options.frozen):  # noqa: PTH110 - one file alone
            if self.stopping.wait(0.05):
                return

    def fail(self) -> None:
        """Count a request. Raises Refused where it is to fail."""
        with self._lock:
            self._numbers += 1
            number = self._numbers
        for status, every in self.options.fail:
            if number % every == 0:
                raise Refused(status, f"told to fail with {status}")

    @contextmanager
    def seat(self) -> Iterator[None]:
        """One of the places of --max-num-seqs, which is waited for; an engine that stands still takes no other."""
        if self.gauges["num_requests_running"]:
            self.stand()
        self._gauge("num_requests_waiting", 1)
        with self._seats:
            self._gauge("num_requests_waiting", -1)
            self._gauge("num_requests_running", 1)
            try:
                yield
            finally:
                self._gauge("num_requests_running", -1)

    def answer(self, prompt: int, tokens: int) -> None:
        """Compute an answer, token by token. prompt: tokens of the question."""
        self.count("prompt_tokens_total", prompt)
        self.count("prefix_cache_queries_total", prompt)
        time.sleep(self.options.first)
        for _ in range(tokens):
            self.stand()
            self.count("generation_tokens_total", 1)
            time.sleep(self.options.token)
        self.count("request_success_total", 1, ',finished_reason="length"')

    def metrics(self) -> str:
        """As Prometheus reads them."""
        common = f'engine="0",model_name="{self.names[0]}"'
        with self._lock:
            counters, gauges = dict(self.counters), dict(self.gauges)
        if self.options.role != VLLM:
            names, values = NAMES[self.options.role], {**counters, **gauges}
            labels = f'{{model_name="{self.names[0]}",tp_rank="0"}}' if self.options.role == SGLANG else ""
            values = {name.partition("|")[0]: value for name, value in values.items()}
            found = [(name, values[each]) for each, name in names.items() if each in values]
            kinds = {name: "counter" if name.endswith("_total") else "gauge" for name, _ in found}
            return "".join(f"# TYPE {name} {kinds[name]}\n{name}{labels} {value}\n" for name, value in found)
        lines = []
        for key, value in sorted(counters.items()):
            name, _, labels = key.partition("|")
            lines += [f"# TYPE vllm:{name} counter", f"vllm:{name}{{{common}{labels}}} {value}"]
        for name, value in gauges.items():
            lines += [f"# TYPE vllm:{name} gauge", f"vllm:{name}{{{common}}} {value}"]
        return "\n".join([*lines, ""])

    def _gauge(self, name: str, by: int) -> None:
        with self._lock:
            self.gauges[name] += by


def ways(options: argparse.Namespace) -> tuple[str, ...]:
    """The paths that a model has, by vLLM's own flags; of a pooling model's the one that it is for."""
    if options.convert == "classify" or "ForSequenceClassification" in options.hf_overrides:
        return ("/rerank", "/v1/rerank")
    if options.convert == "embed" or options.runner == "pooling":
        return ("/v1/embeddings",)
    return ("/v1/chat/completions", "/v1/completions")


class Refused(Exception):
    """A request that gets an HTTP status and a sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    engine: Engine

    def do_GET(self) -> None:
        options, path = self.engine.options, self.path.partition("?")[0]
        if path == "/metrics" and options.metrics and not options.no_metrics:
            if options.role == LLAMA:  # the loop that computes answers it, and asks for the key
                self.engine.stand()
                if not self._authorized():
                    return
            self._send(200, self.engine.metrics(), "text/plain; version=0.0.4")
        elif path == "/health":
            self._send(503 if options.unhealthy else 200, '{"status":"ok"}' if options.role == LLAMA else "")
        elif path == "/version" and options.role == VLLM:
            self._send(200, json.dumps({"version": "0.19.0+standin"}))
        elif path == "/v1/models" and (options.role == LLAMA or self._authorized()):
            self._send(
                200, json.dumps({"object": "list", "data": [self._model(name) for name in self.engine.names]})
            )
        elif path != "/v1/models":
            self._error(404, "Not Found")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        if not self._authorized():
            return
        if path not in ways(self.engine.options):
            self._error(404, "Not Found")
            return
        try:
            self.engine.fail()
            asked = json.loads(body)
            made = completed if path.endswith("completions") else pooled
            document = made(self.engine, asked)
        except Refused as refused:
            self._error(refused.status, str(refused))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self._error(400, f"the request cannot be read: {error}")
        else:
            self._send(200, json.dumps(document))

    def log_message(self, *_: Any) -> None:
        print(f'INFO:     {self.client_address[0]}:{self.client_address[1]} - "{self.requestline}"', flush=True)

    def _model(self, name: str) -> dict[str, Any]:
        options = self.engine.options
        return {
            "id": name,
            "object": "model",
            "created": int(self.engine.began),
            "owned_by": "sparkrig-standin",
            "root": options.model,
            "max_model_len": options.max_model_len,
        }

    def _authorized(self) -> bool:
        key = self.engine.options.api_key
        if key and self.headers.get("Authorization") != f"Bearer {key}":
            self._error(401, "Unauthorized")
            return False
        return True

    def _error(self, status: int, message: str) -> None:
        self._send(status, json.dumps({"error": {"message": message, "type": "StandIn", "code": status}}))

    def _send(self, status: int, text: str, kind: str = "application/json") -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def pooled(engine: Engine, asked: dict[str, Any]) -> dict[str, Any]:
    """Vectors of `input`, or `documents` ranked by the words that they share with `query`."""
    model, broken = asked.get("model") or engine.names[0], engine.options.garbage
    if model not in engine.names:
        raise Refused(404, f"The model `{model}` does not exist.")
    if "query" in asked:
        wanted = set(asked["query"].lower().split())
        scores = [len(wanted & set(each.lower().split())) / len(wanted) for each in asked["documents"]]
        rows: list[dict[str, Any]] = [
            {"index": at, "document": {"text": text}, "relevance_score": 0.0 if broken else scores[at]}
            for at, text in enumerate(asked["documents"])
        ]
        ranked = sorted(rows, key=lambda row: row["relevance_score"], reverse=True)
        return {"id": "standin-rerank", "model": model, "results": ranked}
    texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
    rows = [
        {"index": at, "object": "embedding", "embedding": [0.0] * 8 if broken else vector(text)}
        for at, text in enumerate(texts)
    ]
    return {"id": "standin-embed", "object": "list", "model": model, "data": rows}


def vector(text: str) -> list[float]:
    """Eight numbers of a text, of which no two are the same by chance."""
    return [each / 255 - 0.5 for each in hashlib.sha256(text.encode()).digest()[:8]]


def completed(engine: Engine, asked: dict[str, Any]) -> dict[str, Any]:
    """An answer to `messages`, or to `prompt`. Raises Refused for what vLLM refuses, too."""
    chat, options, model = "messages" in asked, engine.options, asked.get("model") or engine.names[0]
    if model not in engine.names:
        raise Refused(404, f"The model `{model}` does not exist.")
    said = "".join(map(_text, asked["messages"])) if chat else _text(asked["prompt"])
    length = math.ceil(len(said) / CHARACTERS)
    most = asked.get("max_completion_tokens") or asked.get("max_tokens") or options.max_model_len - length
    if length + most > options.max_model_len or most < 1:
        raise Refused(
            400,
            f"This model's maximum context length is {options.max_model_len} tokens. However, you requested "
            f"{max(most, 1)} output tokens and your prompt contains {length} input tokens.",
        )
    with engine.seat():
        engine.answer(length, most)
    text = "!" * most if options.garbage else "".join(f"{WORDS[at % len(WORDS)]} " for at in range(most))
    what = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
    return {
        "id": "standin-1",
        "object": "chat.completion" if chat else "text_completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, **what, "finish_reason": "length"}],
        "usage": {"prompt_tokens": length, "completion_tokens": most, "total_tokens": length + most},
    }


def _text(what: Any) -> str:
    """Of a message, of a prompt, or of one in parts."""
    if isinstance(what, dict):
        what = what["content"] if "content" in what else what["text"]
    return what if isinstance(what, str) else "".join(_text(each) for each in what)


def start_up(options: argparse.Namespace, stopping: threading.Event, port: int) -> bool:
    """The startup as the engine logs it, in `--startup` seconds; False where it crashes or is to end."""
    share = options.startup / (len(PHASES) - 1)
    for phase in PHASES:
        if phase != "start":
            stopping.wait(share)
        if options.stuck == phase:
            stopping.wait()
        if stopping.is_set():
            return False
        if options.crash == phase:
            for line in DEATHS[options.role]:
                say(options, line, share, port)
            return False
        for line in () if phase == "ready" else LOGS[options.role][phase]:
            say(options, line, share, port)
    return True


def say(options: argparse.Namespace, line: str, took: float, port: int) -> None:
    day = time.strftime("%m-%d %H:%M:%S")
    print(line.format(day=day, model=options.model, took=took, host=options.host, port=port), flush=True)


class Server(ThreadingHTTPServer):
    """A thread a request, as many as vLLM would take."""

    daemon_threads = True
    request_queue_size = 128

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # http.server's asks DNS for a name, which may take its time

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that was dropped on purpose is no news; anything else is."""
        if not isinstance(sys.exc_info()[1], (OSError, ValueError)):
            super().handle_error(request, client_address)


def store(options: argparse.Namespace, stopping: threading.Event, met: threading.Event) -> None:
    """torch's store of several nodes, on the head: each other one stays connected, and does not end with it.

    met: set on the head once all the others have come, which it waits for before it loads anything.
    """
    held = []
    with suppress(OSError):
        if options.node_rank == 0:
            with socket.create_server((options.master_addr, options.master_port)) as server:
                while not stopping.is_set():
                    held.append(server.accept())
                    if len(held) == options.nnodes - 1:
                        met.set()
    while options.node_rank and not held and not stopping.wait(0.2):
        with suppress(OSError):
            held.append((socket.create_connection((options.master_addr, options.master_port), timeout=3), None))
    stopping.wait()


def serve(options: argparse.Namespace) -> int:
    """Until SIGTERM or SIGINT. Returns the exit code."""
    engine = Engine(options)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: engine.stopping.set())
    print(f"stand-in for {options.role}: no model computes here, every answer is made up", flush=True)
    met = threading.Event()
    if options.nnodes > 1:
        threading.Thread(target=store, args=(options, engine.stopping, met), daemon=True).start()
    else:
        met.set()
    if options.headless:
        engine.stopping.wait()
        return 0
    Handler.engine = engine
    server = Server((options.host, options.port), Handler, bind_and_activate=False)
    try:
        server.server_bind()  # as vLLM does: the port is taken early, and listened on when the model is there
        while not met.wait(0.2) and not engine.stopping.is_set():
            pass
        if not start_up(options, engine.stopping, server.server_address[1]):
            return 0 if engine.stopping.is_set() else 1
        server.server_activate()
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        for line in LOGS[options.role]["ready"]:
            say(options, line, 0.0, server.server_address[1])
        engine.stopping.wait()
        server.shutdown()
    finally:
        server.server_close()
    return 0


# of public runs: tests/fixtures/bench has all of what these tools saved
FIGURES_OF_VLLM: dict[str, Any] = {
    "duration": 347.16530900400085,
    "total_input_tokens": 1024000,
    "total_output_tokens": 256000,
    "output_throughput": 737.4008674266753,
    "median_ttft_ms": 162543.40455850025,
    "p99_ttft_ms": 336548.51582016953,
    "median_tpot_ms": 114.77380933333288,
    "p99_tpot_ms": 125.59385481772325,
}
FIGURES_OF_SGLANG: dict[str, Any] = {
    "request_rate": math.inf,
    "duration": 2.2138570342212915,
    "total_input_tokens": 14155,
    "total_output_tokens": 2888,
    "output_throughput": 1304.5106144425597,
    "median_ttft_ms": 22.38491177558899,
    "p99_ttft_ms": 43.880767952650785,
    "median_tpot_ms": 5.136430060075035,
    "p99_tpot_ms": 7.765636412456393,
    "accept_length": None,
}


def benchmark(words: list[str]) -> int:
    """Save the figures where a real tool would. Returns the exit code: 1 where no such server listens."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("--host", "--port", "--num-prompts", "--result-dir", "--result-filename", "--output-file"):
        parser.add_argument(name)
    asked, _ = parser.parse_known_args(words)
    try:
        socket.create_connection((asked.host, int(asked.port)), timeout=3).close()
    except OSError as error:
        sys.exit(f"ValueError: Initial test run failed: {error}")
    figures = FIGURES_OF_SGLANG if asked.output_file else FIGURES_OF_VLLM
    with open(asked.output_file or f"{asked.result_dir}/{asked.result_filename}", "a") as file:  # noqa: PTH123
        json.dump({**figures, "completed": int(asked.num_prompts)}, file)
        file.write("\n")
    return 0


def main() -> int:
    if sys.argv[1:3] == ["bench", "serve"] or os.path.basename(sys.argv[0]) == "bench_serving.py":  # noqa: PTH119
        return benchmark(sys.argv[1:])
    return serve(told(sys.argv[1:], os.environ.get("STANDIN", ""), role_of(sys.argv[0])))


if __name__ == "__main__":
    sys.exit(main())
