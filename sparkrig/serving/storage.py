"""What lies on the disks of a host for serving: checkpoints, docker's images, caches, and the room."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from sparkrig.files import Found
from sparkrig.host.images import Image
from sparkrig.parsing import bounds, grammar, hub, rows
from sparkrig.serving import served
from sparkrig.serving.served import Record, Service
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
        if image := served.find(self.images, wanted):
            return image
        short = wanted.removeprefix("sha256:")
        if len(short) < 12 or not set(short) <= set("0123456789abcdef"):
            return None
        images = [image for image in self.images if image.id.startswith(f"sha256:{short}")]
        return images[0] if len(images) == 1 else None


# --- reading


_WORDS = ("weights", "checkpoint", "odd", "cut", "cache", "docker", "image", "container", "room")
_RECORDS: Mapping[str, When] = {"record": "now", "trial": "trial", "kept": "run"}


def parse(lines: Iterable[str]) -> Storage:
    """Read the storage fact. Raises ValueError where a row makes no sense."""
    there: dict[str, list[str]] = {word: [] for word in _WORDS}
    mounts: list[list[str]] = []  # of each container, whose rows they follow
    kept: list[Kept] = []
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "mounted" and mounts:
            mounts[-1].append(str(bounds.loads(rest)))
        elif word in _RECORDS:
            kept.append(_kept(_RECORDS[word], rest))
        elif word in there:
            there[word].append(rest)
            mounts += [[]] * (word == "container")
        else:
            raise ValueError(f"cannot read the row {line[:60]!r} of what lies on the disk")
    for word in ("weights", "docker"):
        if not there[word]:
            raise ValueError(f"the row {word!r} is not there")
    given, weights = map(rows.path, there["weights"][-1].split(" "))
    checkpoints = [_checkpoint(row, given, weights) for row in there["checkpoint"]]
    found = [_room(row) for row in there["room"]]
    caches = (row.split(" ") for row in there["cache"])
    return Storage(
        given,
        weights,
        checkpoints=tuple(filter(None, checkpoints)),
        odd=checkpoints.count(None) + sum(map(int, there["odd"])),
        cut=tuple(dict.fromkeys(map(plain, there["cut"]))),
        docker=_one_of(there["docker"][-1], _DOCKERS),
        images=tuple(map(_image, there["image"])),
        containers=tuple(map(_container, there["container"], mounts)),
        caches={rows.path(path): _count(size) for path, size in caches},
        rooms=tuple({room.path: room for room in found}.values()),
        kept=tuple(kept),
    )


def _checkpoint(row: str, given: str, weights: str) -> Checkpoint | None:
    """None for a folder whose name is no name of a checkpoint."""
    name, standing, size, bar = row.split(" ")
    if not hub.CHECKPOINT.fits(name):
        return None
    path, shown = (f"{folder.rstrip('/')}/{name}" for folder in (weights, given))
    return Checkpoint(name, path, shown, _one_of(standing, _STANDINGS), _count(size), _one_of(bar, _BARS))


def _image(row: str) -> Image:
    id, size, *names = row.split(" ")
    if not _ID.fullmatch(id):
        raise ValueError(f"{id[:80]!r} is no ID of an image")
    return Image(id, names=tuple(name for name in names if name and "<none>" not in name), size=int(size))


def _container(row: str, mounts: list[str]) -> Container:
    image, state, more = row.split(" ", 2)
    name, end = bounds.first(more, 0)
    return Container(str(name).removeprefix("/"), state, image, str(bounds.loads(more[end:])), tuple(mounts))


def _room(row: str) -> Room:
    size, free, path = row.split(" ")
    return Room(rows.path(path), int(size), int(free))


def _kept(when: When, row: str) -> Kept:
    """row: the run it was kept for, if any; the name of a service that has one; the text."""
    run, _, row = row.partition(" ") if when == "run" else ("", "", row)
    name, _, text = row.rpartition(" ")
    if name and not served.usable(name):
        raise ValueError(f"{name[:40]!r} is no name of a service")
    return Kept(when, Service(name), _record(text), grammar.RUN.held(run) if run else "")


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
    record = served.load(Found(content, "0644", "root:root"))
    names = (record.model, record.checkpoint, record.image, record.name, record.weights) if record else (None,)
    return record if all(isinstance(name, str) for name in names) else None
