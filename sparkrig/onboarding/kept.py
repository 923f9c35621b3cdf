"""What is kept of a Spark beside the inventory, for the day when its disk is gone. No secret is part of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import to_json

from sparkrig.host import driver, releases
from sparkrig.parsing import bounds, hub
from sparkrig.resources.state import State
from sparkrig.serving import service_settings
from sparkrig.serving.served import Service, Serving
from sparkrig.serving.wish import Wish
from sparkrig.settings import DEFAULTS, Settings
from sparkrig.text import listed

_MOST = 262_144  # characters; one with a whole declaration has 12,000

_Text = Annotated[str, Field(max_length=400)]


@dataclass(frozen=True)
class Served:
    """A server that it had.

    service: its name, empty for the one without; weights: OWNER/NAME of its checkpoint, or OWNER/NAME/FILE;
    revision: their commit on the hub, empty where that is not known; image, image_id: by which it was asked for,
    and its SHA-256; settings: each that is not the default, by which it is served again.
    """

    service: _Text
    weights: _Text
    revision: _Text = ""
    image: _Text = ""
    image_id: _Text = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        at = f" at {self.revision[:12]}" if self.revision else ""
        return f"{self.weights}{at}" + (f", as {Service(self.service)}" if self.service else "")

    def data(self, settings: Settings) -> dict[str, Any]:
        """What deploys/serve.py is given to serve it again. settings: of the host; what they declare has the word.

        Raises ValueError where what is kept is no setting of a server, or fits them no more.
        """
        if strange := self.settings.keys() - {*service_settings.FIELDS}:
            raise ValueError(f"{', '.join(sorted(strange))} is no setting of a server")
        base = settings.model_dump()
        if self.service != settings.serve_name:  # the inventory describes another one
            base |= {name: DEFAULTS[name] for name in service_settings.FIELDS}
            data = {"serve_name": self.service, **self.settings}
        elif settings.model or settings.recipe:
            data = {}
        else:
            data = {name: value for name, value in self.settings.items() if base[name] == DEFAULTS[name]}
        same = all({**base, **data}[each] == self.settings.get(each) for each in ("model", "recipe"))
        if same and hub.REVISION.fullmatch(self.revision):
            data = {"serve_revision": self.revision, **data}
        try:
            Settings.model_validate({**base, **data})
        except ValidationError as error:
            raise ValueError(error.errors(include_url=False)[0]["msg"]) from None
        return data


@dataclass(frozen=True)
class Kept:
    """One Spark.

    host: its name in the inventory; at: when, in UTC; facts: who built it, its DGX OS, kernel and driver, by
    these words; held: version by name of the packages on hold; declared: what each check wanted at the last whole
    deploy, by its id; servers: by their names.
    """

    host: _Text
    at: _Text
    facts: Mapping[str, _Text]
    held: Mapping[str, str] = field(default_factory=dict)
    declared: Mapping[str, str] = field(default_factory=dict)
    servers: tuple[Served, ...] = ()
    schema: Literal["sparkrig.kept/1"] = "sparkrig.kept/1"

    def moved(self, before: Kept) -> str:
        """In words, what of the system is another one than it was."""
        pairs = [(word, old, self.facts.get(word)) for word, old in before.facts.items()]
        return listed(f"{word} {old or 'none'} -> {new or 'none'}" for word, old, new in pairs if old != new)

    def differs(self, before: Kept) -> list[str]:
        """What is declared otherwise than it was, by the ids of checks."""
        both = self.declared.keys() & before.declared.keys()
        return sorted(id for id in both if self.declared[id] != before.declared[id])


def of(host: str, at: str, state: State, settings: Settings) -> Kept:
    """What is kept of a host as it was looked at: what no deploy moves."""
    identity, packages = state.identity, state.driver
    versions = {row.name: row.version for row in packages.installed}
    facts = {"maker": identity.vendor, "DGX OS": identity.dgx_os or "", "kernel": identity.kernel}
    facts["driver"] = driver.version(packages)
    branch = releases.kept(packages, state.releases, settings.driver_branch)
    return Kept(host, at, facts, {name: versions[name] for name in driver.hold_set(packages, branch)})


def served(service: str, wish: Wish, settings: Settings, found: Serving) -> Served:
    """A server as it stands. settings: of it; found: the look at its host."""
    weights = wish.gguf or wish.checkpoint.id
    copy, image = found.weights.get(weights), found.of(Service(service)).image
    revision = copy.revision if copy else ""
    return Served(service, weights, revision, wish.image, image, service_settings.given(settings))


def dump(kept: Kept) -> str:
    """The text of the file."""
    return to_json(kept, indent=1).decode() + "\n"


def load(text: str) -> Kept:
    """What was kept. Raises ValueError where it is none."""
    if len(text) > _MOST:
        raise ValueError(f"more than {_MOST} characters")
    return _adapter().validate_python(bounds.loads(text))


@cache
def _adapter() -> TypeAdapter[Kept]:
    return TypeAdapter(Kept)
