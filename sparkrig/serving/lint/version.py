"""Versions of vLLM, for comparison."""

from __future__ import annotations

import re
from collections.abc import Mapping

Version = tuple[int, ...]

# NGC's images by the vLLM in them: [@ngc-vllm, @conselara-benchmarks, @vllm-30163, @langx101, @vllm-31424]
# Of 26.01 NVIDIA's notes repeat the version of 25.12, and the image itself prints 0.13.0 [@guardkit-2601]
NGC: Mapping[tuple[int, int], Version] = {
    (25, 9): (0, 10, 1),
    (25, 10): (0, 10, 2),
    (25, 11): (0, 11, 0),
    (25, 12): (0, 11, 1),
    (26, 1): (0, 13, 0),
    (26, 2): (0, 15, 1),
    (26, 3): (0, 17, 1),
    (26, 4): (0, 19, 0),
    (26, 5): (0, 20, 1),
    (26, 7): (0, 24, 0),
    (26, 8): (0, 27, 1),
    (26, 9): (0, 29, 0),
    (26, 10): (0, 31, 0),
}


def version(text: str) -> Version | None:
    """`0.19.2rc1.dev154+g1c2c1eb8b` as (0, 19, 2); None where the text begins with no version."""
    found = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(each or 0) for each in found.groups()) if found else None
