"""The settings of one server of a host: the inventory describes one, and a host may have more.

Which of a host's settings are of that other service cannot be seen in them. So those of a service that is named by
`--data` are what `--data` has, else what its record kept; the inventory's are of the server that it describes.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pydantic import ValidationError

from sparkrig.cure import deploy
from sparkrig.parsing import hub
from sparkrig.refusal import Refusal
from sparkrig.serving import runtimes
from sparkrig.serving.last_deploy import Record
from sparkrig.serving.recipe import Recipe
from sparkrig.serving.served import Service
from sparkrig.settings import DEFAULTS, Settings

NONE = "none"  # in the place of a model: the service is to go
_PLACE = ("serve_port", "serve_trial_port", "serve_listen")  # which stay with another model
FIELDS = (
    "model",
    "recipe",
    "serve_engine",
    "serve_gguf",
    "serve_image",
    "serve_revision",
    "serve_nodes",
    "serve_on",
    "serve_form",
    "serve_flags",
    "serve_draft",
    "serve_mods",
    "serve_watch_seconds",
    *_PLACE,
)


def given(settings: Settings) -> dict[str, Any]:
    """What a record keeps: each setting of the service that is not the default."""
    return {name: value for name in FIELDS if (value := getattr(settings, name)) != DEFAULTS[name]}


def of(settings: Settings, name: str, record: Record | None, typed: Collection[str]) -> Settings:
    """The settings of the service of that name. Raises Refusal where they do not fit together.

    settings: those of the host, with --data in them; typed: the names of those that --data has.
    """
    if name == settings.serve_name and "serve_name" not in typed:
        return settings
    ours = set(typed) if name == settings.serve_name else set[str]()
    kept = dict(record.settings) if record else {}
    anew = bool(ours & {"model", "recipe"})
    if anew:
        kept = {each: value for each, value in kept.items() if each in _PLACE}
    values: dict[str, Any] = {each: kept.get(each, DEFAULTS[each]) for each in FIELDS}
    values |= {each: getattr(settings, each) for each in FIELDS if each in ours}
    if record and not anew and "weights" not in ours:
        values["weights"] = record.weights
    try:
        return Settings.model_validate({**settings.model_dump(), **values, "serve_name": name})
    except ValidationError as error:
        why = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        cure = deploy(what="serve", data={"serve_name": name, "model": "NAME", "serve_port": "PORT"})
        raise Refusal(f"the settings of {Service(name)} do not fit together: {why}", cure) from None


def remembered(settings: Settings, record: Record | None) -> Settings:
    """The settings; without a `model` in them, those of the last deploy for a host that serves."""
    if settings.model or settings.recipe or record is None:
        return settings
    return settings.model_copy(
        update={
            "model": record.checkpoint,
            "serve_engine": record.engine,
            "serve_gguf": settings.serve_gguf or record.gguf or None,
            "serve_image": settings.serve_image or record.name,
            "serve_nodes": record.nodes,
            "serve_on": settings.serve_on or list(record.on),
            "serve_form": settings.serve_form or (record.form if record.form in ("ray", "multinode") else None),
            "serve_listen": settings.serve_listen or record.listen or None,
            "serve_draft": settings.serve_draft
            or (record.draft if record.engine == runtimes.VLLM.id else "")
            or None,
            "serve_port": record.port,
            "serve_trial_port": record.trial_port,
            "weights": record.weights,
        }
    )


def of_engine(mine: Settings, recipe: Recipe | None) -> Settings:
    """The settings with the engine and the commit that a recipe is for, where they name none. Raises Refusal."""
    if recipe is None:
        return mine
    from sparkrig.serving import recipe_launch  # with all readers of launches, which few hosts need

    asked, own = mine.serve_engine, recipe_launch.engine(recipe)
    if asked not in (runtimes.VLLM.id, own.id):
        raise Refusal(f"{recipe.source} is for {own.name}, and serve_engine is {asked}", "leave serve_engine out")
    pinned = recipe.revision if hub.REVISION.fullmatch(recipe.revision) else None
    return mine.model_copy(
        update={"serve_engine": own.id, "serve_revision": mine.serve_revision or pinned},
    )
