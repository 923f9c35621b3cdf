"""The file of a recipe, which `recipe` names: FILE, or FILE#VARIANT for a recipe that has several."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sparkrig.cure import local, quoted_path
from sparkrig.refusal import Refusal
from sparkrig.serving import recipe_launch
from sparkrig.serving.recipe import Recipe
from sparkrig.serving.steps import Step
from sparkrig.text import reason

_ABOVE = 5  # folders: registries lay a recipe three below their mods
_MOST_FILES = 100  # of a mod


def read(named: str) -> Recipe:
    """The recipe. named: a path from the current folder. Raises Refusal."""
    name, _, variant = named.partition("#")
    file = Path(name).expanduser()  # a shell leaves the `~` of `recipe=~/x` as it is
    try:
        text = _text(file, recipe_launch.CHARS)
    except OSError as error:
        raise Refusal(f"{file} cannot be read: {reason(error)}", local(f"ls -l {quoted_path(file)}")) from None
    found = recipe_launch.read(text, variant)
    return replace(found, steps=tuple(step if step.command else _mod(step.name, file) for step in found.steps))


def _mod(name: str, file: Path) -> Step:
    """A mod of a recipe, out of the folder that the recipe lies in or one above it. Raises Refusal."""
    above = list(file.resolve().parents)[:_ABOVE]
    named = (folder / each for folder in above for each in (name, f"mods/{name}"))
    found = next((folder for folder in named if (folder / "run.sh").is_file()), None)
    if found is None:
        raise Refusal(
            f"the recipe names {name}, and no folder of that name with a run.sh lies beside {file} or above it",
            "the folder mods of the repository that it is from, copied beside it",
        )
    files: dict[str, str] = {}
    try:
        for each in sorted(found.rglob("*")):
            if each.is_symlink() or not (each.is_file() or each.is_dir()) or len(files) > _MOST_FILES:
                raise Refusal(
                    f"{each} of {name} is no plain file, or one of too many", local(f"ls -lR {quoted_path(found)}")
                )
            if each.is_file():
                files[str(each.relative_to(found))] = _text(each, recipe_launch.CHARS)
    except OSError as error:
        raise Refusal(f"{found} cannot be read: {reason(error)}", local(f"ls -lR {quoted_path(found)}")) from None
    size = sum(map(len, files.values()))
    if size > recipe_launch.CHARS:
        raise Refusal(
            f"{name} has {size:,} characters, at most {recipe_launch.CHARS:,} expected", "another recipe"
        )
    return Step(name, files=files)


def _text(file: Path, most: int) -> str:
    """The text of a file, or the beginning of one that is larger. Raises OSError, Refusal."""
    with file.open("rb") as stream:
        content = stream.read(4 * most + 1)  # a character of UTF-8 has four bytes at most
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refusal(f"{file} is no text in UTF-8", local(f"file {quoted_path(file)}")) from None
