"""What lies on the disks of a host for serving: checkpoints, docker's images, caches, and the room."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from sparkrig.files import Found
from sparkrig.host.images import Image, find
from sparkrig.parsing import bounds, grammar, hub, rows
from sparkrig.serving import last_deploy, served
from sparkrig.serving.last_deploy import Record
from sparkrig.serving.served import Service
from sparkrig.text import plain
from sparkrig.value import Value

# unknown: it has more entries than are looked at, or was not looked at to the end
Standing = served.Standing | Literal["unknown"]
_STANDINGS: tuple[str, ...] = (*get_args(served.Standing), "unknown")
# link: it, or the folder of its owner, is a link; mount: a file system is mounted in it
Bar = Literal["none", "link", "mount"]
_BARS: tuple[Bar, ...] = get_args(Bar)
Docker = Literal["running", "stopped", "absent", "failed"]
_DOCKERS: tuple[Docker, ...] = get_args(Docker)
# now: the last deploy; trial: what was served before one that is on trial; run: what stood before a run
When = Literal["now", "trial", "run"]
_ID = re.compile("sha256:[0-9a-f]{64}")
_IDLE = ("created", "exited", "dead")  # states of a container that runs nothing


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint below the setting `weights`.

    name: OWNER/NAME; path: its folder; given: the same by the setting, which may lead there over a link; size:
    bytes that it takes on the disk, None where it was not counted to the end; bar: what keeps it from being
    removed.
    """

    name: str
    path: str
    given: Annotated[str, Field(exclude=True)]
    standing: Standing
    size: Annotated[int | None, Field(serialization_alias="bytes")]
    bar: Bar = "none"


@dataclass(frozen=True)
class Container:
    """A container. image: by its ID; name; asked: the image's name that it was started by; mounts: paths here."""

    name: str
    state: str
    image: str
    asked: str = ""
    mounts: tuple[str, ...] = ()

    @property
    def runs(self) -> bool:
        return self.state not in _IDLE


@dataclass(frozen=True)
class Room:
    """A file system: where it is mounted, its bytes, and those that are free."""

    path: str
    size: Annotated[int, Field(serialization_alias="bytes")]
    free: int


@dataclass(frozen=True)
class Kept:
    """What a service serves, served, or is served again by an undo. record: None where it cannot be understood."""

    when: When
    service: Service
    record: Record | None
    run: str = ""

    def __str__(self) -> str:
        """Which record it is."""
        before = f" before run {self.run}" if self.run else " before the trial" if self.when == "trial" else ""
        return f"the record of {self.service}{before}"


@dataclass(frozen=True)
class Storage(Value):
    """All of it.

    given: the folder of the checkpoints, by the setting; weights: the same without links; odd: folders there whose
    names are no names of checkpoints; cut: what there is more of than is looked at; caches: bytes by path, None
    where it was not counted to the end; kept: all records of what is and was served.
    """

    given: str
    weights: str
    checkpoints: tuple[Checkpoint, ...] = ()
    odd: int = 0
    cut: tuple[str, ...] = ()
    docker: Docker = "absent"
    images: tuple[Image, ...] = ()
    containers: tuple[Container, ...] = ()
    caches: Mapping[str, int | None] = field(default_factory=dict)
    rooms: tuple[Room, ...] = ()
    kept: tuple[Kept, ...] = ()

    def find(self, wanted: str) -> Image | None:
        """The image of a name, a digest, an ID, or of the 12 or more digits of an ID that one image alone has."""
        if image := find(self.images, wanted):
            return image
        short = wanted.removeprefix("sha256:")
        if len(short) < 12 or not set(short) <= set("0123456789abcdef"):
            return None
        images = [image for image in self.images if image.id.startswith(f"sha256:{short}")]
        return images[0] if len(images) == 1 else None


# --- reading


def parse(lines: Iterable[str]) -> Storage:
    """Read the storage fact. Raises ValueError or LookupError where a row makes no sense."""
    of: dict[str, list[Any]] = {word: [] for word in _READERS}
    for line in lines:
        word, _, rest = line.partition(" ")
        if word not in _READERS:
            raise ValueError(f"cannot read the row {line[:60]!r} of what lies on the disk")
        row = _READERS[word](rest)
        if word == "mounted":
            container = of["container"].pop()
            of["container"].append(replace(container, mounts=(*container.mounts, row)))
        else:
            of[word].append(row)
    if missing := [word for word in ("weights", "docker") if not of[word]]:
        raise ValueError(f"the row {missing[0]!r} is not there")
    given, weights = of["weights"][-1]
    named = [row for row in of["checkpoint"] if hub.CHECKPOINT.fits(row.name)]
    return Storage(
        given,
        weights,
        checkpoints=tuple(_below(row, weights, given) for row in named),
        odd=sum(of["odd"]) + len(of["checkpoint"]) - len(named),
        cut=tuple(dict.fromkeys(of["cut"])),
        docker=of["docker"][-1],
        images=tuple(of["image"]),
        containers=tuple(of["container"]),
        caches=dict(of["cache"]),
        rooms=tuple({room.path: room for room in of["room"]}.values()),
        kept=(*of["record"], *of["trial"], *of["kept"]),
    )


def _checkpoint(rest: str) -> Checkpoint:
    """Without its folder."""
    name, standing, size, bar = rest.split(" ")
    return Checkpoint(name, "", "", _one_of(standing, _STANDINGS), _count(size), _one_of(bar, _BARS))


def _below(checkpoint: Checkpoint, weights: str, given: str) -> Checkpoint:
    path, same = (f"{folder.rstrip('/')}/{checkpoint.name}" for folder in (weights, given))
    return replace(checkpoint, path=path, given=same)


def _image(rest: str) -> Image:
    id, size, *names = rest.split(" ")
    if not _ID.fullmatch(id):
        raise ValueError(f"{id[:80]!r} is no ID of an image")
    named = tuple(name for name in names if name and "<none>" not in name)
    return Image(id, names=named, size=int(size))


def _container(rest: str) -> Container:
    image, state, more = rest.split(" ", 2)
    name, end = bounds.first(more, 0)
    return Container(str(name).removeprefix("/"), state, image, str(bounds.loads(more[end:])))


def _room(rest: str) -> Room:
    size, free, path = rest.split(" ")
    return Room(rows.path(path), int(size), int(free))


def _cache(rest: str) -> tuple[str, int | None]:
    path, size = rest.split(" ")
    return rows.path(path), _count(size)


def _before(rest: str) -> Kept:
    run, _, more = rest.partition(" ")
    return _kept("run", more, grammar.RUN.held(run))


def _kept(when: When, rest: str, run: str = "") -> Kept:
    """rest: the text, and before it the name of a service that has one."""
    name, _, text = rest.rpartition(" ")
    if name and not served.usable(name):
        raise ValueError(f"{name[:40]!r} is no name of a service")
    return Kept(when, Service(name), _record(text), run)


_READERS: Mapping[str, Callable[[str], Any]] = {
    "weights": lambda rest: tuple(map(rows.path, rest.split(" "))),
    "checkpoint": _checkpoint,
    "odd": int,
    "cut": plain,
    "cache": _cache,
    "record": lambda rest: _kept("now", rest),
    "trial": lambda rest: _kept("trial", rest),
    "kept": _before,
    "docker": lambda rest: _one_of(rest, _DOCKERS),
    "image": _image,
    "container": _container,
    "mounted": lambda rest: str(bounds.loads(rest)),
    "room": _room,
}


def _one_of(word: str, known: tuple[Any, ...]) -> Any:
    if word not in known:
        raise ValueError(f"{word[:40]!r} is none of {', '.join(known)}")
    return word


def _count(word: str) -> int | None:
    return None if word == "-" else int(word)


def _record(text: str) -> Record | None:
    """A record that was kept, whose names are text; None for what is none."""
    try:
        content = base64.b64decode(text, validate=True).decode()
    except ValueError:
        return None
    record = last_deploy.load(Found(content, "0644", "root:root"))
    names = (record.model, record.checkpoint, record.image, record.name, record.weights) if record else (None,)
    return record if all(isinstance(name, str) for name in names) else None
