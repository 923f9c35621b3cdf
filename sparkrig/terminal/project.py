"""The folder that pyinfra is typed in: sparkrig's own repository, or a project that `sparkrig init` made."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sparkrig.cure import quoted
from sparkrig.text import listed

DEPLOY, SERVE = Path("deploys", "cluster.py"), Path("deploys", "serve.py")
OWN = Path("deploys", "mine.py")  # an owner's own steps, which the whole deploy ends with
_PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Addresses:
    """What was typed in the place of an inventory."""

    words: tuple[str, ...]

    @property
    def name(self) -> str:
        """What they are called in a title."""
        return listed(self.words)

    def __str__(self) -> str:
        """As they are typed."""
        return quoted(*self.words)


Where = Path | Addresses


def root(inventory: Path | None = None) -> Path:
    """The nearest folder above the inventory, else above the current one, that has DEPLOY; else sparkrig's own.

    sparkrig's own is its repository, or the package where that alone is installed: its deploys run as well.
    """
    for folder in above(inventory):
        if (folder / DEPLOY).is_file():
            return folder
    repository = _PACKAGE.parent
    return repository if (repository / DEPLOY).is_file() else _PACKAGE


def typed(inventory: Path) -> str:
    """The folder of the deploys as it is typed here: the whole path, where this is not the folder that has it."""
    folder = root(inventory)
    return "deploys" if Path.cwd() == folder else str(folder / DEPLOY.parent)


def as_typed(inventory: Where) -> str:
    """An inventory as a command names it that is typed in the folder of the toolkit; or addresses."""
    if isinstance(inventory, Addresses):
        return str(inventory)
    return str(inventory if Path.cwd() == root(inventory) else inventory.resolve())


def above(inventory: Path | None = None) -> Iterator[Path]:
    """The folders from the inventory upwards, if one is given; then those from the current one upwards."""
    for start in [inventory.resolve().parent] if inventory else []:
        yield from (start, *start.parents)
    here = Path.cwd()
    yield from (here, *here.parents)


def outdated(folder: Path, current: str) -> str | None:
    """The version that made a project, where it is older than the current one; else None."""
    from packaging.version import InvalidVersion, Version

    made = made_by(folder)
    try:
        return made if made is not None and Version(made) < Version(current) else None
    except InvalidVersion:
        return made


def made_by(folder: Path) -> str | None:
    """The version of sparkrig that made a project; None for any other folder, and where it cannot be read."""
    try:
        stamp = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["sparkrig"][
            "made-by"
        ]
    except (OSError, ValueError, LookupError, TypeError):  # no file, no TOML, no stamp, another form
        return None
    return stamp if isinstance(stamp, str) else None
