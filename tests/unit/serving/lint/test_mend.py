"""`sparkrig lint --fix`: the text with what is certain, and nothing else of it changed."""

from __future__ import annotations

import pytest

from sparkrig.serving import launch_text
from sparkrig.serving.lint import mend
from sparkrig.serving.lint.case import Change
from tests.tables import each_row

LONG = """# serve it, and don't stop
docker run --gpus all -e VLLM_OLD=1 -p 8000:8000 \\
  image vllm serve M --gpu-memory-utilization=0.95 \\
  --swap-space 16 \\
  --max-model-lenn 131072  # as long as can be
"""
LISTED = """services:
  a:
    environment:
      VLLM_OLD: "1"
      OTHER: "2"
    command:
      - --swap-space
      - "16"
      - --gpu-memory-utilization
      - "0.95"
"""


def test_only_the_words_that_are_asked_for_change() -> None:
    def holds(given: str, change: Change, made: str) -> None:
        assert mend.text(given, [change]) == made

    each_row(
        [
            ("vllm serve M --swap-space 16 -tp 2", Change("swap-space"), "vllm serve M -tp 2"),
            ("vllm serve M --swap_space=16 -tp 2", Change("swap-space"), "vllm serve M -tp 2"),
            ("vllm serve M -tp 2 --enforce-eager", Change("enforce-eager"), "vllm serve M -tp 2"),
            (
                "vllm serve M --max-model-lenn=1K",
                Change("max-model-lenn", renamed="max-model-len"),
                "vllm serve M --max-model-len=1K",
            ),
            (
                "vllm serve M --quantization 'awq' -tp 2",
                Change("quantization", "fp8"),
                "vllm serve M --quantization 'fp8' -tp 2",
            ),
            ("vllm serve M -q awq -tp 2", Change("quantization"), "vllm serve M -tp 2"),
            (
                "vllm serve M -tp 2",
                Change("headless", ""),
                "vllm serve M --headless -tp 2",
            ),
            ("vllm serve M --port 1", Change("headless", ""), "vllm serve M --headless --port 1"),
            (
                "vllm serve M --port 1",
                Change("async-scheduling", "no"),
                "vllm serve M --no-async-scheduling --port 1",
            ),
            (
                "vllm serve M --async-scheduling --port 1",
                Change("async-scheduling", "no"),
                "vllm serve M --no-async-scheduling --port 1",
            ),
            (
                """vllm serve M -sc '{"method":"mtp"}' --port 1""",
                Change("speculative-config.moe_backend", "triton"),
                """vllm serve M -sc '{"method":"mtp","moe_backend":"triton"}' --port 1""",
            ),
            (
                "vllm serve M --port 1 -sc.method mtp",
                Change("speculative-config.num_speculative_tokens", "4"),
                "vllm serve M --speculative-config.num_speculative_tokens 4 --port 1 -sc.method mtp",
            ),
            ("A=1 VLLM_OLD=1 vllm serve M", Change("VLLM_OLD", variable=True), "A=1 vllm serve M"),
            (
                "export VLLM_OLD=1\nvllm serve M",
                Change("VLLM_OLD", "0", variable=True),
                "export VLLM_OLD=0\nvllm serve M",
            ),
            (
                "docker run --rm i vllm serve M",
                Change("NEW", "0", variable=True),
                "docker run -e NEW=0 --rm i vllm serve M",
            ),
            (LONG, Change("swap-space"), LONG.replace("  --swap-space 16 \\\n", "")),
            (LONG, Change("VLLM_OLD", variable=True), LONG.replace(" -e VLLM_OLD=1", "")),
            (LONG, Change("gpu-memory-utilization", "0.85"), LONG.replace("=0.95", "=0.85")),
            (LONG, Change("max-model-lenn", renamed="max-model-len"), LONG.replace("lenn", "len")),
            (LISTED, Change("swap-space"), LISTED.replace('      - --swap-space\n      - "16"\n', "")),
            (LISTED, Change("gpu-memory-utilization", "0.85"), LISTED.replace("0.95", "0.85")),
            (LISTED, Change("VLLM_OLD", variable=True), LISTED.replace('      VLLM_OLD: "1"\n', "")),
            (LISTED, Change("VLLM_OLD", "0", variable=True), LISTED.replace('VLLM_OLD: "1"', 'VLLM_OLD: "0"')),
        ],
        holds,
    )


def test_words_that_are_not_in_the_text_are_lost() -> None:
    def holds(given: str, change: Change) -> None:
        with pytest.raises(mend.Lost):
            mend.text(given, [change])

    each_row(
        [
            ("vllm serve M", Change("swap-space")),
            ("vllm serve M", Change("headless", "")),
            ("vllm serve M", Change("VLLM_OLD", variable=True)),
            (LISTED, Change("headless", "")),
            ("vllm serve M --speculative-config {method:mtp} --port 1", Change("speculative-config.method", "x")),
        ],
        holds,
    )


def test_a_word_that_stands_in_two_commands_is_not_changed() -> None:
    """A second launch, or another program of the script, may have the same flag."""
    with pytest.raises(mend.Lost, match="more than one command"):
        mend.text("curl --swap-space 9\nvllm serve M --swap-space 16", [Change("swap-space")])
    with pytest.raises(mend.Lost, match="more than once"):
        mend.text("echo VLLM_OLD=x\nVLLM_OLD=1 vllm serve M", [Change("VLLM_OLD", variable=True)])


def test_a_change_reaches_a_launch_alone() -> None:
    def holds(before: str, after: str, change: Change, reached: bool) -> None:
        (one,), (other,) = launch_text.read(before), launch_text.read(after)
        assert mend.reaches(one, other, change) is reached

    serve, tp = "vllm serve M --swap-space 16 -tp 2", Change("tensor-parallel-size", "1")
    each_row(
        [
            (serve, "vllm serve M -tp 2", Change("swap-space"), True),
            (serve, "vllm serve M", Change("swap-space"), False),
            (serve, "vllm serve N -tp 2", Change("swap-space"), False),
            (serve, "vllm serve M --swap-space 16 -tp 1", tp, True),
            (serve, serve, tp, False),
            (f"{serve} -tp 3", "vllm serve M --swap-space 16 -tp 1", tp, True),
            (f"A=1 {serve}", serve, Change("A", variable=True), True),
            (f"A=1 B=1 {serve}", serve, Change("A", variable=True), False),
        ],
        holds,
    )
