"""What was deployed last of a server on a host, as it is kept there: a record in its own file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sparkrig.files import File, Found
from sparkrig.host.images import Image
from sparkrig.parsing import bounds
from sparkrig.serving import gguf
from sparkrig.serving.runtimes import VLLM
from sparkrig.serving.served import ASIDE, STANDING, Service, Serving
from sparkrig.serving.wish import Sizing

_OF_OTHERS = ("engine", "share", "held", "gguf")  # fields of a record which vLLM's does not have


@dataclass(frozen=True)
class Record:
    """What was deployed last on a host, as it is kept there.

    model: its name in the catalogue; checkpoint: OWNER/NAME; image: by its ID on this host; name: by which it
    was asked for; form: solo, ray, multinode or standing; rank: 0 answers, ASIDE has no part in it; vllm: version
    in the image, empty where it is unknown; files: SHA-256 of each file of ours by path; wish: digest of what the
    memory was decided for; utilization, context: what was decided, 0 where nothing was; listen: the setting, empty
    where it is the default; at: ADDRESS:PORT of each place where it answers;
    management: the address that stood for `management`; key: whether it asks for one; entrypoint: as Chosen has
    it; draft: of its draft model, as `serve_draft` has it, empty for
    none; service: its name, empty for the server without one; settings: of a named service, those that were given
    for it alone; engine: its id; share, held, cache: as Sizing has them; gguf: OWNER/NAME/FILE of its weights,
    empty where they are no such file; on: the setting serve_on, empty for the inventory's order.
    """

    model: str
    checkpoint: str
    image: str
    name: str
    form: str
    nodes: int
    rank: int
    port: int
    trial_port: int
    weights: str
    ray: bool = False
    vllm: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    wish: str = ""
    utilization: float = 0.0
    context: int = 0
    listen: str = ""
    at: tuple[str, ...] = ()
    management: str = ""
    key: bool = False
    entrypoint: str = ""
    draft: str = ""
    service: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    engine: str = VLLM.id
    share: float = 0.0
    held: float = 0.0
    gguf: str = ""
    on: tuple[str, ...] = ()
    cache: int = 0

    @property
    def sizing(self) -> Sizing | None:
        """What was decided; None for a host that has no part in it."""
        decided = Sizing(self.utilization, self.context, self.engine, self.share, self.held, self.cache)
        return decided if self.utilization else None

    @property
    def unit(self) -> bool:
        """Whether its host runs a unit of it: on the standing Ray cluster the head alone does."""
        return self.rank == 0 or (self.rank != ASIDE and self.form != STANDING)

    @property
    def ids(self) -> tuple[str, ...]:
        """OWNER/NAME of the checkpoints that it takes, its own first; a GGUF file is none."""
        drafts = self.draft.removeprefix(f"{self.weights}/")
        return (*([] if self.gguf else [self.checkpoint]), *([drafts] if drafts else []))

    @property
    def folders(self) -> tuple[str, ...]:
        """OWNER/NAME of all folders of weights that it reads, that of a GGUF file among them."""
        return (*([gguf.folder(self.gguf)] if self.gguf else []), *self.ids)

    def file(self) -> File:
        told = asdict(self)
        if not self.service:  # as every version wrote it
            del told["service"], told["settings"]
        if self.engine == VLLM.id:
            for name in _OF_OTHERS:
                del told[name]
        for name in ("on", "cache"):
            if not told[name]:
                del told[name]
        return File(Service(self.service).record, json.dumps(told, indent=1) + "\n")


def load(file: Found | None) -> Record | None:
    """The record that was kept; None where there is none, or where it cannot be understood."""
    if file is None:
        return None
    try:
        found: Any = bounds.loads(file.content)
        told = {"files": {str(path): str(digest) for path, digest in found["files"].items()}}
        told["settings"] = {str(name): value for name, value in found.get("settings", {}).items()}
        several = {name: tuple(map(str, found.get(name, ()))) for name in ("at", "on")}
        return Record(**{**found, **told, **several})
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def records(files: Mapping[str, Found], found: Serving) -> dict[str, Record]:
    """What was deployed last of each service of a host, by its name; empty for the one without."""
    loaded = {name: load(files.get(Service(name).record)) for name in ("", *found.named)}
    return {name: record for name, record in loaded.items() if record}


def running(serving: Serving, record: Record | None) -> Image:
    """The image of the container on a host, or of what was deployed there last."""
    id = serving.image or (record.image if record else "")
    return serving.find(id) or Image(id)


def digest(text: str) -> str:
    """Of a file, as a record keeps it."""
    return hashlib.sha256(text.encode()).hexdigest()
