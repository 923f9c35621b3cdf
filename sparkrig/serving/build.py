"""The image with injected kernels: what it is made of, and whether it came out right. Source: [@forum-365083]."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sparkrig.refusal import Refusal

REPOSITORY = "sparkrig/vllm-sm121"
LEAST_CUBINS = 50  # of sm_12x in _C.abi3.so; the stock image had none, the article's build 52


@dataclass(frozen=True)
class Base:
    """The image to begin from. version: of the vLLM in it; commit: the one it names, empty where it names none."""

    id: str
    version: str

    @property
    def commit(self) -> str:
        found = re.search(r"\+(?:.*\.)?g([0-9a-f]{7,40})", self.version)
        return found[1] if found else ""


def tag(base_id: str, commit: str | None, recipe: Mapping[str, str]) -> str:
    """The name of the new image, by all that goes into it: where such an image exists, nothing is to be built.

    commit: as the settings have it; None for the one that follows from the base.
    """
    parts = [base_id, commit or "", *(f"{name}\n{text}" for name, text in sorted(recipe.items()))]
    return f"{REPOSITORY}:{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:12]}"


def base_tag(base_id: str) -> str:
    """A name for the base, which moves only with what it holds."""
    return f"{REPOSITORY}-base:{base_id.removeprefix('sha256:')[:12]}"


def commit(base: Base, wanted: str | None) -> str:
    """The source to build from. Raises Refusal where neither the settings nor the base name it."""
    if wanted or base.commit:
        return wanted or base.commit
    release = re.fullmatch(r"(\d+(\.\d+)+(rc\d+|\.post\d+)?)(\+cu\d+)?", base.version)
    return f"v{release[1]}" if release else _unknown(base)


def _unknown(base: Base) -> str:
    raise Refusal(
        f"vLLM {base.version or 'of an unknown version'} of the base names no commit",
        "the same with --data image_commit=HASH",
    )


@dataclass(frozen=True)
class Looked:
    """What was seen in an image. cubins: of Blackwell in _C.abi3.so; version: of vLLM."""

    cubins: int
    version: str


def parse(lines: Iterable[str]) -> Looked:
    """Read `cubins N` and `version TEXT`. Raises ValueError where one is missing."""
    rows = dict(line.partition(" ")[::2] for line in lines)
    try:
        return Looked(int(rows["cubins"]), rows["version"])
    except KeyError as error:
        raise ValueError(f"the image did not tell its {error.args[0]}") from None


def judge(base: Base, made: Looked) -> None:
    """Raise Refusal where the image is not what it was built for."""
    if made.version != base.version:
        raise Refusal(
            f"it has vLLM {made.version}, and its base {base.version}",
            "docker history of both: the Python differs",
        )
    if made.cubins < LEAST_CUBINS:
        raise Refusal(
            f"it has {made.cubins} cubins for Blackwell in _C.abi3.so, {LEAST_CUBINS} or more are expected",
            "sudo journalctl -u sparkrig-build, for what CMake said of its architectures",
        )
