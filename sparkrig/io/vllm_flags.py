"""What versions of vLLM take on their command line, as it lies in models/vllm/flags.yaml."""

from __future__ import annotations

from functools import cache

from sparkrig.io import catalogue_files
from sparkrig.serving.flags import File, Knowledge

FILE = catalogue_files.FOLDER / "vllm" / "flags.yaml"


@cache
def knowledge() -> Knowledge:
    """All versions that were read. Raises Refusal where the file cannot be read, or its content is not valid."""
    return catalogue_files.checked(File, catalogue_files.read(FILE), FILE).knowledge()
