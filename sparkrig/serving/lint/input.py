"""Computed rules of words that vLLM would not take."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sparkrig.redaction.forms import shows_a_secret
from sparkrig.serving import engines
from sparkrig.serving.lint.case import Case, Hit
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


def not_json(case: Case) -> Iterator[Hit]:
    for flag in case.launch.broken:
        if _LEFT_OUT.search(case.launch.text(flag)):
            continue
        yield Hit(f"the value of --{flag} is no JSON")


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


def extra_words(case: Case) -> Iterator[Hit]:
    words = [word for word in case.launch.extra if "$" not in word and not _LEFT_OUT.search(word)]
    if words:
        yield Hit(f"{listed(f'`{word}`' for word in words)} beside the model {case.called}")


def no_model(case: Case) -> Iterator[Hit]:
    if not case.launch.model and "config" not in case.launch.flags:
        yield Hit("no model")


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


def other_engine(case: Case) -> Iterator[Hit]:
    if case.launch.engine != engines.VLLM:
        yield Hit(f"it launches {engines.name(case.launch.engine)}, and lint judges launches of vLLM")


def secret_argument(case: Case) -> Iterator[Hit]:
    """A shell puts the value of a variable into the arguments, so that `--api-key $KEY` shows it, too."""
    for name, value in case.launch.flags.items():
        if isinstance(value, (str, list)) and value and shows_a_secret(name, value):
            yield Hit(f"--{name} shows a secret in the list of processes")
