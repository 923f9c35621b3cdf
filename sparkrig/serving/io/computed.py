"""A model that the catalogue does not have: computed from the files of its checkpoint, named, and saved."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from sparkrig.cure import quoted
from sparkrig.parsing import hub
from sparkrig.refusal import Refusal
from sparkrig.serving.checkpoint import files
from sparkrig.serving.checkpoint.config import UnreadableCheckpoint
from sparkrig.serving.io import catalogue_files, checkpoint_source
from sparkrig.serving.model import Catalogue, Model
from sparkrig.serving.purposes import PURPOSES
from sparkrig.terminal import terminal
from sparkrig.text import listed


def kept(name: str, known: Catalogue) -> Model | None:
    """The catalogue's model of that name; None for a folder, and for a checkpoint that it does not have."""
    found = known.find(name)
    if found and name.lower() in {checkpoint.id.lower() for checkpoint in found.checkpoints}:
        return found
    folder = "/" in name and Path(name).is_dir()
    return None if folder or hub.ID.fullmatch(name) else found


def model(name: str, id_: str | None, known: Catalogue) -> tuple[Model, str]:
    """A model by the files of its checkpoint, and their commit. id_: of one in a folder. Raises Refusal."""
    path = Path(name)
    local = path.is_dir() and ("/" in name or id_ is not None)
    id = id_ or ("/".join(path.resolve().parts[-2:]) if local else name)
    if not local and not hub.ID.fullmatch(name):
        raise _unknown(name, known)
    if not local and sys.stderr.isatty():
        terminal.echo(f"Asking the hub for {name} ...", err=True)
    fetched = checkpoint_source.folder(path) if local else checkpoint_source.from_hub(name)
    try:
        return _named(files.read(id, fetched.files), known), fetched.revision
    except UnreadableCheckpoint as error:
        cure = "give its name with --id OWNER/NAME" if local and not id_ else "take another checkpoint of it"
        raise Refusal(str(error), error.cure or cure) from None


def _named(made: Model, known: Catalogue) -> Model:
    """The same with its owner in the name, where the catalogue has another model of that name."""
    same = known.models.get(made.name)
    if same is None or made.best().id in {checkpoint.id for checkpoint in same.checkpoints}:
        return made
    owner = made.best().id.partition("/")[0]
    return made.model_copy(update={"name": files.entry_name(f"{made.name}-{owner}")})


def _unknown(name: str, known: Catalogue) -> Refusal:
    begin = [each for each in sorted(known.models) if name and each.startswith(name.lower())]
    if len(begin) > 1:
        return Refusal(
            f"{len(begin)} models begin with {name}: {listed(begin)}", "sparkrig models show, and one of them"
        )
    near = begin or known.near(name)
    cure = f"sparkrig models show {quoted(near[0])}" if near else "sparkrig models"
    if name in PURPOSES:
        cure = f"sparkrig models --for {quoted(name)}"
    if Path(name).is_dir():
        cure = f"{shown(f'./{name}', None)}, for the folder of that name"
    return Refusal(f"the catalogue has no model and no checkpoint {name}", cure)


def shown(name: str, id_: str | None) -> str:
    """The command that computes a model; a folder does not say whose checkpoint it has."""
    if Path(name).is_dir():
        return f"sparkrig models show {quoted(name)} --id {quoted(id_ or 'OWNER/NAME')}"
    return f"sparkrig models show {quoted(name)}"


def save(made: Model, revision: str) -> Path:
    """Its file in models/ of the project; revision: of the hub, if it is known. Raises Refusal."""
    folder, ours = catalogue_files.own(), catalogue_files.FOLDER.resolve()
    if folder is None and (ours.parent / "pyproject.toml").exists() and Path.cwd().is_relative_to(ours.parent):
        folder = ours  # typed in sparkrig's repository, which is no wheel
    if folder is None:
        raise Refusal("there is no project here to save it in", "sparkrig init DIR")
    at = f" at commit {revision}" if revision else ""
    head = f"Computed on {datetime.now(UTC):%Y-%m-%d} from the files of {made.best().id}{at}."
    return catalogue_files.save(made, folder, head)
