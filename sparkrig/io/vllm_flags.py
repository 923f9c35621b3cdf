"""What versions of vLLM take on their command line, and which images have them, as it lies in models/vllm/."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sparkrig.io import catalogue_files
from sparkrig.serving.flags import File, Images, Knowledge
from sparkrig.serving.lint.version import Version

FILE = catalogue_files.FOLDER / "vllm" / "flags.yaml"
_IMAGES = FILE.with_name("images.yaml")


def knowledge(beside: Path | None = None) -> Knowledge:
    """All versions that were read.

    beside: the user's own folder models/, whose vllm/flags.yaml takes the place of ours, and whose
    vllm/images.yaml adds to ours. Raises Refusal where a file cannot be read, or its content is not valid.
    """
    flags, images = (_own(file, beside) for file in (FILE, _IMAGES))
    return _knowledge(flags or FILE, images)


def _own(file: Path, beside: Path | None) -> Path | None:
    found = beside and beside / file.parent.name / file.name
    return found if found and found.exists() else None


@cache
def _knowledge(flags: Path, own: Path | None) -> Knowledge:
    images = _images(_IMAGES) | (_images(own) if own else {})
    return catalogue_files.checked(File, catalogue_files.read(flags), flags).knowledge(images)


def _images(file: Path) -> dict[str, Version]:
    return catalogue_files.checked(Images, catalogue_files.read(file), file).versions
