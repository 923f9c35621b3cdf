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
            ('[{"Args": ["serve", "--swap-space", "16"]}]', Change("swap-space")),
            ("vllm serve M --speculative-config {method:mtp} --port 1", Change("speculative-config.method", "x")),
        ],
        holds,
    )


def test_the_command_written_anew_shows_no_secret() -> None:
    (launch,) = launch_text.read(
        "HF_TOKEN=abc PATH=/x VLLM_API_KEY=abc VLLM_OLD=1 NCCL_DEBUG=INFO vllm serve M --api-key abc "
        "--swap-space 16 "
        """--enforce-eager --no-async-scheduling --served-model-name a b -sc '{"method": "mtp"}' """
    )
    made = mend.command(
        launch,
        [
            Change("swap-space"),
            Change("VLLM_OLD", variable=True),
            Change("speculative-config.num_speculative_tokens", "4"),
            Change("headless", ""),
        ],
    )
    assert "abc" not in made
    assert made == (
        'NCCL_DEBUG=INFO vllm serve M --api-key "$API_KEY" --enforce-eager --no-async-scheduling '
        "--served-model-name a b --speculative-config "
        """'{"method": "mtp", "num_speculative_tokens": 4}' --headless"""
    )
