"""The file of a recipe, which `recipe` names: FILE, or FILE#VARIANT for a recipe that has several."""

from __future__ import annotations

from pathlib import Path

from sparkrig.cure import quoted_path
from sparkrig.refusal import Refusal
from sparkrig.serving import recipe_launch
from sparkrig.serving.recipe import Recipe
from sparkrig.text import reason


def read(named: str) -> Recipe:
    """The recipe. named: a path from the current folder. Raises Refusal."""
    name, _, variant = named.partition("#")
    file = Path(name).expanduser()  # a shell leaves the `~` of `recipe=~/x` as it is
    try:
        with file.open("rb") as stream:
            content = stream.read(4 * recipe_launch.CHARS + 1)  # a character of UTF-8 has four bytes at most
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise Refusal(f"{file} cannot be read: {reason(error)}", f"ls -l {quoted_path(file)}") from None
    except UnicodeDecodeError:
        raise Refusal(f"{file} is no text in UTF-8", f"file {quoted_path(file)}") from None
    return recipe_launch.read(text, variant)
