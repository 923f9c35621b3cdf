"""What versions of vLLM take, which images have them, and what the names of models tell, as it lies in models/."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from sparkrig.serving.flags import File, Images, Knowledge, Version
from sparkrig.serving.io import catalogue_files
from sparkrig.serving.lint.families import Family

FLAGS, IMAGES, FAMILIES = Path("vllm/flags.yaml"), Path("vllm/images.yaml"), Path("lint/families.yaml")
FILE = catalogue_files.FOLDER / FLAGS


def knowledge(beside: Path | None = None, folder: Path | None = None) -> Knowledge:
    """All that is known.

    beside: the user's own folder models/, whose vllm/flags.yaml takes the place of ours, and whose
    vllm/images.yaml and lint/families.yaml add to ours; folder: of the tables, None for those in use. Raises
    Refusal where a file cannot be read, or its content is not valid.
    """
    ours = folder or catalogue_files.used()
    return _knowledge(ours, *(_own(ours, file, beside) for file in (FLAGS, IMAGES, FAMILIES)))


def _own(ours: Path, file: Path, beside: Path | None) -> Path:
    """The user's file in place of ours where there is one."""
    return beside / file if beside and (beside / file).exists() else ours / file


@cache
def _knowledge(ours: Path, flags: Path, images: Path, families: Path) -> Knowledge:
    tables = catalogue_files.checked(File, catalogue_files.read(flags), flags).knowledge()
    own = _families(families)  # first, so that what is known of a name is the user's
    known = own | {name: family for name, family in _families(ours / FAMILIES).items() if name not in own}
    return replace(tables, images=_images(ours / IMAGES) | _images(images), families=tuple(known.values()))


def _images(file: Path) -> dict[str, Version]:
    return catalogue_files.checked(Images, catalogue_files.read(file), file).versions


def _families(file: Path) -> dict[str, Family]:
    found = catalogue_files.read(file).items()
    return {str(name): catalogue_files.checked(Family, row, file, name) for name, row in found}
