"""The catalogue of models as it lies in models/: one YAML file a model, and one of all sources.

models/sources.yaml has the sources of the whole repository, not of the catalogue alone. A project of a user may
have a folder models/ of its own, with entries of the same form. `sparkrig models update` takes newer tables, which
stand in the place of those of models/ until sparkrig itself carries newer ones.
"""

from __future__ import annotations

from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from sparkrig.cure import quoted_path
from sparkrig.parsing import safe_yaml
from sparkrig.refusal import Refusal
from sparkrig.serving.io import taken_tables
from sparkrig.serving.model import Catalogue, Model, Source
from sparkrig.terminal import atomic_write, project
from sparkrig.text import listed, reason

FOLDER = Path(__file__).parents[2] / "models"
SOURCES = "sources.yaml"
NO_MODELS = (SOURCES, "errors.yaml", "engines.yaml", "readers.yaml", "updates.yaml")  # beside the models
_WIDTH = 110  # of a line in an entry that is saved
_Part = TypeVar("_Part", bound=BaseModel)


class _Loader(safe_yaml.FAST):  # type: ignore[misc]
    """Refuses a key that comes twice, of which YAML would take the last without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys: set[str] = set()
        for key, _ in node.value:
            if key.value in keys:
                raise yaml.MarkedYAMLError(problem=f"{key.value} comes twice", problem_mark=key.start_mark)
            keys.add(key.value)
        return super().construct_mapping(node, deep=deep)  # type: ignore[no-any-return]


def used() -> Path:
    """The folder of the tables in use: what an update took, unless sparkrig carries newer ones. Raises Refusal."""
    own = taken_tables.record().used
    return FOLDER if own is None or own.day < newest(FOLDER) else own.folder


@cache
def newest(folder: Path) -> date:
    """The newest day on which something in the tables of a folder was seen to hold. Raises Refusal."""
    days = [source.day for source in _sources(folder).values() if source.day]
    if not days:
        raise Refusal(f"{folder / SOURCES} has no source with a day", mend(folder / SOURCES))
    return max(days)


def names(folder: Path | None = None) -> list[str]:
    """The names of all models, without reading their files; empty where there is no such folder."""
    return sorted(file.stem for file in (folder or used()).glob("*.yaml") if file.name not in NO_MODELS)


def own(inventory: Path | None = None) -> Path | None:
    """The folder of the user's own entries: models/ of the project; None where that is the catalogue's own.

    inventory: whose project it is, else that of the current folder. The folder need not be there.
    """
    folder = project.root(inventory) / FOLDER.name
    return None if folder.resolve() == FOLDER.resolve() else folder


def catalogue(folder: Path | None = None, *, beside: Path | None = None) -> Catalogue:
    """All models and sources.

    folder: of the tables, None for those in use; beside: a folder of the user's own entries, of which one takes
    the place of the catalogue's of the same name.
    Raises Refusal where a file cannot be read, or its content is not valid.
    """
    known = shipped(folder or used())
    if beside is None:
        return known
    mine = {name: _model(beside / f"{name}.yaml", set(known.sources)) for name in names(beside)}
    # first, so that a name that several models go by is the catalogue's
    models = mine | {name: model for name, model in known.models.items() if name not in mine}
    return Catalogue(models=models, sources=known.sources)


def shipped(folder: Path) -> Catalogue:
    """All models and sources of a folder. Raises Refusal as `catalogue` does."""
    sources = _sources(folder)
    files = [folder / f"{name}.yaml" for name in names(folder)]
    if not files:
        raise Refusal(f"there is no model in {folder}", f"git -C {quoted_path(folder.parent)} checkout models")
    return Catalogue(models={file.stem: _model(file, set(sources)) for file in files}, sources=sources)


def _sources(folder: Path) -> dict[str, Source]:
    file = folder / SOURCES
    return {str(key): checked(Source, row, file, key) for key, row in read(file).items()}


def save(model: Model, folder: Path, head: str) -> Path:
    """Put an entry into a folder, which is made where it is missing; no file is overwritten.

    head: a comment. Raises Refusal.
    """
    file = folder / f"{model.name}.yaml"
    told = model.model_dump(mode="json", exclude_defaults=True)
    text = yaml.safe_dump(told, sort_keys=False, allow_unicode=True, width=_WIDTH)
    atomic_write.folder(file, 0o777)
    atomic_write.create(file, f"# {head}\n{text}".encode(), 0o644)
    return file


def _model(file: Path, sources: set[str]) -> Model:
    model = checked(Model, read(file), file)
    if model.name != file.stem:
        raise Refusal(
            f"{file}: the name is {model.name}, {file.stem} expected",
            f"mv {quoted_path(file)} {quoted_path(file.with_stem(model.name))}",
        )
    if unknown := model.sources() - sources:
        raise Refusal(
            f"{file}: nothing is known of the source {listed(sorted(unknown))}",
            f"grep -n '^[a-z]' {quoted_path(FOLDER / SOURCES)}",
        )
    return model


def read(file: Path) -> dict[Any, Any]:
    """The fields of a YAML file. Raises Refusal where it cannot be read, or is none."""
    try:
        found = safe_yaml.load(file.read_text(encoding="utf-8"), _Loader)
    except OSError as error:
        raise Refusal(f"{file} cannot be read: {reason(error)}", f"ls -l {quoted_path(file.parent)}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise Refusal(f"{file} is no YAML: {' '.join(str(error).split())}", mend(file)) from None
    if not isinstance(found, dict):
        raise Refusal(f"{file}: fields with their values expected", f"compare it with {FOLDER}/gpt-oss-120b.yaml")
    return found


def checked(kind: type[_Part], found: Any, file: Path, key: object = "") -> _Part:
    """Fields as one of our types. Raises Refusal with the first of what is wrong. key: of what the file holds."""
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        raise Refusal(f"{file}: {_first(error, key)}", mend(file)) from None


def mend(file: Path) -> str:
    """What to do about a file that cannot stand: the catalogue's was changed, any other is the user's own."""
    if FOLDER in file.parents:
        return f"git diff {quoted_path(file)}"
    if taken_tables.home() in file.parents:
        return taken_tables.BACK
    return f"mend it, or put it aside: mv {quoted_path(file)} {quoted_path(f'{file}.old')}"


def _first(error: ValidationError, key: object) -> str:
    """The first of what is wrong: which field, and what was expected of it."""
    found = error.errors()[0]
    where = ".".join(str(part) for part in (key, *found["loc"]) if part != "")
    return f"{where or 'the file'}: {found['msg'].removeprefix('Value error, ')}"
