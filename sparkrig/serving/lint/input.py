"""Rules of words that vLLM would not take."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sparkrig.secrecy.values import shows_a_secret
from sparkrig.serving import engines
from sparkrig.serving.lint.case import Case, Hit
from sparkrig.serving.lint.claims import (
    MARCH,
    READ,
    THREAD,
    VLLM,
    Claim,
)
from sparkrig.serving.lint.rule import Rules
from sparkrig.text import listed

_WHOLE = (
    "tensor-parallel-size",
    "pipeline-parallel-size",
    "data-parallel-size",
    "nnodes",
    "node-rank",
    "max-model-len",
    "max-num-seqs",
    "max-num-batched-tokens",
    "max-cudagraph-capture-size",
)


_NONE = range(-1, 1)
_COUNTS = ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "nnodes")
# what stands for something that a page leaves out
_LEFT_OUT = re.compile(r"\.\.\.|\u2026|`")


RULES = Rules("input")


@RULES.rule(
    "not-json",
    "error",
    "JSON arguments are JSON",
    (Claim("vLLM reads it as JSON, or ends; most often a shell took the quotation marks", VLLM, READ),),
    "single quotes around the whole, double ones inside",
)
def not_json(case: Case) -> Iterator[Hit]:
    for flag in case.launch.broken:
        if _LEFT_OUT.search(case.launch.text(flag)):
            continue
        yield Hit(f"the value of --{flag} is no JSON")


@RULES.rule(
    "not-a-number",
    "error",
    "numbers are numbers, and sizes are at least 1",
    (Claim("vLLM ends with the usage", VLLM, READ),),
    "a plain number",
)
def not_a_number(case: Case) -> Iterator[Hit]:
    launch = case.launch
    wrong = [
        flag for flag in _WHOLE if launch.whole_number(flag, 0) is None and launch.text(flag) not in ("auto", "-1")
    ]
    share = "gpu-memory-utilization"
    wrong += [share] if share in launch.flags and launch.number(share) is None else []
    wrong += [flag for flag in _COUNTS if launch.whole_number(flag, 1) in _NONE]
    for flag in wrong:
        if "$" not in launch.text(flag):
            yield Hit(f"--{flag} {launch.text(flag)}".rstrip())


@RULES.rule(
    "extra-words",
    "warning",
    "each word belongs to a flag",
    (Claim("vLLM refuses what it does not know; switches such as --enforce-eager take no value", VLLM, READ),),
    "leave it away",
)
def extra_words(case: Case) -> Iterator[Hit]:
    words = [word for word in case.launch.extra if "$" not in word and not _LEFT_OUT.search(word)]
    if words:
        yield Hit(f"{listed(f'`{word}`' for word in words)} beside the model {case.called}")


@RULES.rule(
    "no-model",
    "warning",
    "a model is named",
    (
        Claim("vLLM serves a small default model where none is named", VLLM, READ),
        Claim("an image that was built anew served Qwen3-0.6B in place of the model", THREAD, MARCH),
    ),
    "vllm serve MODEL ...",
)
def no_model(case: Case) -> Iterator[Hit]:
    if not case.launch.model and "config" not in case.launch.flags:
        yield Hit("no model")


@RULES.rule(
    "unseen",
    "note",
    "all that is set can be seen",
    (
        Claim(
            "a file of settings is not read here, so what it sets is not judged",
            "sparkrig/serving/lint/input.py",
            READ,
        ),
    ),
    "docker inspect NAME | sparkrig lint -, once it runs",
)
def unseen(case: Case) -> Iterator[Hit]:
    if "config" in case.launch.flags:
        yield Hit(f"--config {case.launch.text('config')} sets flags of its own")
    wrapped = case.launch.container is None or case.launch.wrapper
    if not wrapped and not case.container.whole:
        yield Hit("what the container is given cannot all be seen")
    elif not wrapped and not case.launch.whole:
        yield Hit("an env file sets variables of its own")
    given = [*case.launch.flags.values(), *case.launch.extra, case.launch.model]
    variables = [value for value in given if isinstance(value, str) and "$" in value]
    if variables:
        yield Hit(f"the value of {listed(variables)} is not known")


@RULES.rule(
    "other-engine",
    "note",
    "the engine is vLLM",
    (
        Claim(
            "the flags of other engines are read and not judged; of all are asked an image for arm64, the GPU and "
            "secrets, and of SGLang whether the weights fit",
            "sparkrig/serving/lint/judgement.py",
            READ,
        ),
    ),
    "sparkrig bench INVENTORY, once deploys/serve.py serves it: it runs the engine's own benchmark",
)
def other_engine(case: Case) -> Iterator[Hit]:
    if case.launch.engine != engines.VLLM:
        yield Hit(f"it launches {engines.name(case.launch.engine)}, and lint judges launches of vLLM")


@RULES.rule(
    "secret-argument",
    "warning",
    "no secret stands in the arguments of a server",
    (
        Claim("each user of the host sees the arguments of a process", "sparkrig/settings.py", READ),
        Claim("vLLM takes the key from VLLM_API_KEY", VLLM, READ),
        Claim("SGLang writes its arguments, the key among them, into its log", "sglang-source", "2026-11-25"),
        Claim("llama.cpp takes the key from LLAMA_API_KEY or --api-key-file", "llama-server", "2026-11-25"),
    ),
    "a variable or a file that has the key",
)
def secret_argument(case: Case) -> Iterator[Hit]:
    """A shell puts the value of a variable into the arguments, so that `--api-key $KEY` shows it, too."""
    for name, value in case.launch.flags.items():
        if isinstance(value, (str, list)) and value and shows_a_secret(name, value):
            yield Hit(f"--{name} shows a secret in the list of processes")
