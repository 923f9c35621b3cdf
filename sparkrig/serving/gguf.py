"""GGUF files of a folder of weights, which llama.cpp serves: their parts and their sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PART = re.compile(r"(.+)-\d{5}-of-(\d{5})\.gguf")  # as llama.cpp splits a file (gguf-split)


def folder(path: str) -> str:
    """OWNER/NAME of the folder that a file OWNER/NAME/FILE lies in."""
    return path.rpartition("/")[0]


def parts(path: str) -> list[str]:
    """All parts of a file, by the name of one of them: NAME-00001-of-00003.gguf."""
    found = _PART.fullmatch(path)
    if found is None:
        return [path]
    return [f"{found[1]}-{number:05d}-of-{found[2]}.gguf" for number in range(1, int(found[2]) + 1)]


def size(path: str, there: Mapping[str, int]) -> int | None:
    """Bytes of all parts; None where one is not there. there: bytes of each file by its path."""
    sizes = [there.get(part) for part in parts(path)]
    known = [each for each in sizes if each]
    return sum(known) if known and len(known) == len(sizes) else None


def row(text: str) -> tuple[str, int]:
    """`BYTES OWNER/NAME/FILE`, as a host prints it. Raises ValueError."""
    bytes_, _, path = text.partition(" ")
    return path, int(bytes_)
