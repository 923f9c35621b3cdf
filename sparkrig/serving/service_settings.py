"""The settings of one service of several on a host: the inventory describes one server, and a host may have more.

Which of a host's settings are of that other service cannot be seen in them. So those of a service that is named by
`--data` are what `--data` has, else what its record kept; the inventory's are of the server that it describes.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pydantic import ValidationError

from sparkrig.cure import deploy
from sparkrig.refusal import Refusal
from sparkrig.serving.served import Record, Service
from sparkrig.settings import DEFAULTS, Settings

NONE = "none"  # in the place of a model: the service is to go
_PLACE = ("serve_port", "serve_trial_port", "serve_listen")  # which stay with another model
_FIELDS = (
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
    "serve_watch_seconds",
    *_PLACE,
)


def given(mine: Settings) -> dict[str, Any]:
    """What a record keeps: each setting of the service that is not the default."""
    return {name: value for name in _FIELDS if (value := getattr(mine, name)) != DEFAULTS[name]}


def of(mine: Settings, name: str, record: Record | None, typed: Collection[str]) -> Settings:
    """The settings of the service of that name. Raises Refusal where they do not fit together.

    mine: those of the host, with --data in them; typed: the names of those that --data has.
    """
    if name == mine.serve_name and "serve_name" not in typed:
        return mine
    ours = set(typed) if name == mine.serve_name else set[str]()
    kept = dict(record.settings) if record else {}
    anew = bool(ours & {"model", "recipe"})
    if anew:
        kept = {each: value for each, value in kept.items() if each in _PLACE}
    values: dict[str, Any] = {each: kept.get(each, DEFAULTS[each]) for each in _FIELDS}
    values |= {each: getattr(mine, each) for each in _FIELDS if each in ours}
    if record and not anew and "weights" not in ours:
        values["weights"] = record.weights
    try:
        return Settings.model_validate({**mine.model_dump(), **values, "serve_name": name})
    except ValidationError as error:
        why = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        cure = deploy(what="serve", data={"serve_name": name, "model": "NAME", "serve_port": "PORT"})
        raise Refusal(f"the settings of {Service(name)} do not fit together: {why}", cure) from None
