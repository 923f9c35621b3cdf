"""The benchmark of each engine, as its makers ship it: its command, and the figures in the result that it saves.

`vllm bench serve` [@vllm-bench] and `sglang.bench_serving` [@sglang-bench] make random prompts with the server's
own tokenizer, so they need nothing from the internet. Neither sends a request first that warms up, for that is the
first prompt, which the server then has in its prefix cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sparkrig.parsing import bounds
from sparkrig.serving import arguments, engines
from sparkrig.serving.bench.workload import Workload
from sparkrig.serving.launches.command import served
from sparkrig.serving.runtimes import SGLANG, runtime

RESULT = "result.json"


@dataclass(frozen=True)
class Spread:
    """Of all requests: the median, and what 99 of 100 are at least as good as: the bad end."""

    p50: float
    p99: float


@dataclass(frozen=True)
class Figures:
    """What the tool measured.

    asked, done: requests, and how many were answered; seconds: of all of them together; prompt_tokens, tokens: of
    all prompts and all answers, as the tool counts them; decode_rate: tokens a second of one request after its
    first; aggregate: tokens a second of all together; acceptance_percent: of drafted tokens; tokens_per_step: of
    speculative decoding, the one that is always there included. None where the tool has none.
    """

    asked: int
    done: int
    seconds: float
    prompt_tokens: int
    tokens: int
    first_token_s: Spread | None
    decode_rate: Spread | None
    aggregate: float | None
    acceptance_percent: float | None
    tokens_per_step: float | None


@dataclass(frozen=True)
class CommandLine:
    """A server by its own command line.

    path: of its weights; name: by which the API is asked; context: its longest request, None where the command
    does not say; tokenizer: its flags that the tool needs as well.
    """

    path: str
    name: str
    context: int | None
    tokenizer: tuple[str, ...] = ()


def launched(engine: str, words: list[str]) -> CommandLine:
    """What a container runs. words: of its command. Raises ValueError where no server of that engine is in it."""
    server, its = served(words), runtime(engine)
    if server is None or server.engine != engine:
        raise ValueError(f"no server of {engines.name(engine)} in it")
    read = engines.read(engine, server.rest)
    flags = read.flags
    if not read.model:
        raise ValueError("no model in it")
    called = flags.get(its.names) or read.model
    mode = flags.get("tokenizer-mode")
    given = ("--trust-remote-code",) if flags.get("trust-remote-code") is True else ()
    return CommandLine(
        read.model,
        str(called[0] if isinstance(called, list) else called).split()[0],
        arguments.whole_number(str(flags.get(its.context, ""))),
        (*given, *(("--tokenizer-mode", mode) if isinstance(mode, str) else ())),
    )


def words(engine: str, server: CommandLine, asked: Workload, folder: str, seed: int) -> list[str]:
    """The command of the tool in the server's container, but for where the server listens.

    folder: that it saves RESULT in; seed: of the prompts, so that no cache has them from an earlier run.
    """
    lengths = ["--random-input-len", str(asked.prompt), "--random-output-len", str(asked.answer)]
    many = ["--num-prompts", str(asked.requests), "--max-concurrency", str(asked.concurrency), "--seed", str(seed)]
    if engine == SGLANG.id:
        return [
            *("python3", "-m", "sglang.bench_serving", "--backend", "sglang", "--model", server.path),
            # `random` would fetch a data set; a ratio of 1 makes each prompt exactly as long
            *("--dataset-name", "random-ids", "--random-range-ratio", "1", *lengths, *many),
            *("--warmup-requests", "0", "--disable-tqdm", "--output-file", f"{folder}/{RESULT}"),
        ]
    return [
        *("vllm", "bench", "serve", "--backend", "openai", "--model", server.path),
        *("--served-model-name", server.name, *server.tokenizer),
        *("--dataset-name", "random", *lengths, *many, "--ignore-eos", "--temperature", "0"),
        *("--ready-check-timeout-sec", "0", "--disable-tqdm"),
        *("--save-result", "--result-dir", folder, "--result-filename", RESULT),
    ]


def parse(text: str, asked: int) -> Figures:
    """The figures of a result. asked: requests. Raises ValueError where it is none, or of other requests."""
    lines = text.strip().splitlines()
    found = bounds.loads(lines[-1], finite_only=False) if lines else None  # SGLang writes Infinity for no rate
    if not isinstance(found, dict):
        raise ValueError("its result is no JSON object")  # noqa: TRY004 - it is data
    done = found.get("completed")
    if not isinstance(done, int) or not 0 <= done <= asked:
        raise ValueError(f"its result has {done!r:.20} of {asked} requests completed")
    rates = {name: _number(found, f"{name}_tpot_ms") if done else None for name in ("median", "p99")}
    return Figures(
        asked=asked,
        done=done,
        seconds=_number(found, "duration") or 0.0,
        prompt_tokens=int(_number(found, "total_input_tokens") or 0),
        tokens=int(_number(found, "total_output_tokens") or 0),
        first_token_s=_spread(*(_number(found, f"{name}_ttft_ms", 1000) for name in rates)) if done else None,
        decode_rate=_spread(*(1000 / rate if rate else None for rate in rates.values())),
        aggregate=_number(found, "output_throughput") if done else None,
        acceptance_percent=_number(found, "spec_decode_acceptance_rate"),
        tokens_per_step=_number(found, "spec_decode_acceptance_length") or _number(found, "accept_length"),
    )


def _number(found: dict[str, Any], name: str, unit: float = 1) -> float | None:
    value = found.get(name)
    return value / unit if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def _spread(p50: float | None, p99: float | None) -> Spread | None:
    return None if p50 is None or p99 is None else Spread(p50=p50, p99=p99)
