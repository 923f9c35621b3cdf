"""What versions of vLLM take, which images have them, and what the names of models tell, as it lies in models/."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from sparkrig.serving.flags import File, Images, Knowledge, Version
from sparkrig.serving.io import catalogue_files
from sparkrig.serving.lint.families import Family

FILE = catalogue_files.FOLDER / "vllm" / "flags.yaml"
_IMAGES = FILE.with_name("images.yaml")
FAMILIES = catalogue_files.FOLDER / "lint" / "families.yaml"


def knowledge(beside: Path | None = None) -> Knowledge:
    """All that is known.

    beside: the user's own folder models/, whose vllm/flags.yaml takes the place of ours, and whose
    vllm/images.yaml and lint/families.yaml add to ours. Raises Refusal where a file cannot be read, or its content
    is not valid.
    """
    return _knowledge(*(_own(file, beside) for file in (FILE, _IMAGES, FAMILIES)))


def _own(file: Path, beside: Path | None) -> Path:
    """The user's file in place of ours where there is one."""
    found = beside and beside / file.parent.name / file.name
    return found if found and found.exists() else file


@cache
def _knowledge(flags: Path, images: Path, families: Path) -> Knowledge:
    tables = catalogue_files.checked(File, catalogue_files.read(flags), flags).knowledge()
    own = _families(families)  # first, so that what is known of a name is the user's
    known = own | {name: family for name, family in _families(FAMILIES).items() if name not in own}
    return replace(tables, images=_images(_IMAGES) | _images(images), families=tuple(known.values()))


def _images(file: Path) -> dict[str, Version]:
    return catalogue_files.checked(Images, catalogue_files.read(file), file).versions


def _families(file: Path) -> dict[str, Family]:
    found = catalogue_files.read(file).items()
    return {str(name): catalogue_files.checked(Family, row, file, name) for name, row in found}
