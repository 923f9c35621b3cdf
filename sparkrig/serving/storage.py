"""What lies on the disks of a host for serving: checkpoints, docker's images, our caches, and the room."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from sparkrig.files import Found
from sparkrig.host.images import Image
from sparkrig.parsing import bounds, grammar, hub, rows
from sparkrig.serving import served
from sparkrig.serving.served import Record
from sparkrig.text import plain
from sparkrig.value import Value

# unknown: it has more entries than are looked at, or was not looked at to the end
Standing = served.Standing | Literal["unknown"]
_STANDINGS: tuple[str, ...] = (*get_args(served.Standing), "unknown")
# all: each reading is noted; relatime: the first of a day (mount(8)); noatime: none
Atime = Literal["all", "relatime", "noatime", "unknown"]
_ATIMES: tuple[Atime, ...] = get_args(Atime)
# link: it, or the folder of its owner, is a link; mount: a file system is mounted in it
Bar = Literal["none", "link", "mount"]
_BARS: tuple[Bar, ...] = get_args(Bar)
Docker = Literal["running", "stopped", "absent", "failed"]
_DOCKERS: tuple[Docker, ...] = get_args(Docker)
_ID = re.compile("sha256:[0-9a-f]{64}")
_IDLE = ("created", "exited", "dead")  # states of a container that runs nothing


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint on a disk.

    name: OWNER/NAME; path: its folder; given: the same by the setting `weights`, which may lead there over a link;
    size: bytes that it takes on the disk, None where it was not counted to the end; kept: those of them that stay,
    as a file has another name elsewhere; read: when a file of weights in it was read last, in seconds since 1970,
    None where the disk keeps no note of that; revision: its commit on the hub; user: whose Hugging Face cache it
    lies in, empty below the setting `weights`; bar: what keeps it from being removed.
    """

    name: str
    path: str
    given: str
    standing: Standing
    size: int | None
    kept: int | None
    read: int | None
    revision: str = ""
    user: str = ""
    bar: Bar = "none"

    @property
    def frees(self) -> int | None:
        """The room that its removal gives, in bytes."""
        return None if self.size is None or self.kept is None else self.size - self.kept


@dataclass(frozen=True)
class Stored:
    """An image of docker's.

    image: its ID and names; size: in bytes, as docker reports it; created: in ISO 8601, empty where it is not
    known; layers: the start of each digest, the lowest first.
    """

    image: Image
    size: int
    created: str = ""
    layers: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return self.image.names


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
class Storage(Value):
    """All of it.

    now: the host's clock; given: the folder of the checkpoints, by the setting; weights: the same without links;
    atimes: by the user of a cache, what the disk notes of reading, `` for the folder of weights; odd: folders
    there whose names are no names of checkpoints; cut: what there is more of than is looked at; caches: bytes by
    path, None where it was not counted to the end; record: of what is served; trial: of what was served before a
    configuration that is on trial; services: of named services, each with what it serves and, on trial, what it
    served before; kept: by `kept_name`, the record that stood before a run; garbled: which of these cannot be
    understood; stopped: when the server stopped last, None where it runs or never did.
    """

    now: int
    given: str
    weights: str
    atimes: Mapping[str, Atime] = field(default_factory=dict)
    checkpoints: tuple[Checkpoint, ...] = ()
    odd: int = 0
    cut: tuple[str, ...] = ()
    docker: Docker = "absent"
    images: tuple[Stored, ...] = ()
    containers: tuple[Container, ...] = ()
    caches: Mapping[str, int | None] = field(default_factory=dict)
    rooms: tuple[Room, ...] = ()
    record: Record | None = None
    trial: Record | None = None
    services: tuple[tuple[str, Record], ...] = ()
    kept: Mapping[str, Record] = field(default_factory=dict)
    garbled: tuple[str, ...] = ()
    stopped: int | None = None

    def find(self, wanted: str) -> Stored | None:
        """The image of a name, a digest, an ID, or of the 12 or more digits of an ID that one image alone has."""
        if image := served.find((each.image for each in self.images), wanted):
            return next(each for each in self.images if each.image is image)
        short = wanted.removeprefix("sha256:")
        if len(short) < 12 or not set(short) <= set("0123456789abcdef"):
            return None
        found = [each for each in self.images if each.image.id.startswith(f"sha256:{short}")]
        return found[0] if len(found) == 1 else None

    def shared(self, image: Stored) -> int:
        """How many of its layers other images have too: a layer stands on those below it, so the first ones."""
        others = [each.layers for each in self.images if each is not image]
        return max((_common(image.layers, each) for each in others), default=0)


def kept_name(run: str, service: str) -> str:
    """What a run kept of a service is called here: as the run, and with the service's name where it has one."""
    return f"{run} of service {service}" if service else run


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    same = [left == right for left, right in zip(one, other, strict=False)]
    return same.index(False) if False in same else len(same)


# --- reading


def parse(lines: Iterable[str]) -> Storage:
    """Read the storage fact. Raises ValueError where a row makes no sense."""
    found = _Reader()
    for line in lines:
        word, _, rest = line.partition(" ")
        read = _READERS.get(word)
        if read is None:
            raise ValueError(f"cannot read the row {line[:60]!r} of what lies on the disk")
        read(found, rest)
    return found.whole()


@dataclass
class _Reader:
    """What the rows so far have."""

    values: dict[str, Any] = field(default_factory=dict)
    atimes: dict[str, Atime] = field(default_factory=dict)
    hubs: dict[str, str] = field(default_factory=dict)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    images: dict[str, Stored] = field(default_factory=dict)
    containers: list[Container] = field(default_factory=list)
    caches: dict[str, int | None] = field(default_factory=dict)
    rooms: dict[str, Room] = field(default_factory=dict)
    services: list[tuple[str, Record]] = field(default_factory=list)
    kept: dict[str, Record] = field(default_factory=dict)
    garbled: list[str] = field(default_factory=list)

    def whole(self) -> Storage:
        missing = [name for name in ("now", "weights", "docker") if name not in self.values]
        if missing:
            raise ValueError(f"the row {missing[0]!r} is not there")
        return Storage(
            **self.values,
            atimes=self.atimes,
            checkpoints=tuple(self.checkpoints),
            cut=tuple(dict.fromkeys(self.cut)),
            images=tuple(self.images.values()),
            containers=tuple(self.containers),
            caches=self.caches,
            rooms=tuple(self.rooms.values()),
            services=tuple(self.services),
            kept=self.kept,
            garbled=tuple(self.garbled),
        )

    def weights(self, rest: str) -> None:
        given, folder, how = rest.split(" ")
        self.values["given"], self.values["weights"] = rows.path(given), rows.path(folder)
        self.atimes[""] = _one_of(how, _ATIMES)

    def checkpoint(self, rest: str) -> None:
        name, standing, size, kept, read, revision, bar = rest.split(" ")
        if not hub.CHECKPOINT.fits(name):
            self.values["odd"] = self.values.get("odd", 0) + 1
            return
        at = f"{self.values['weights'].rstrip('/')}/{name}"
        given = f"{self.values['given'].rstrip('/')}/{name}"
        made = self._checkpoint("", name, (at, given), standing, (size, kept, read))
        known = revision if hub.REVISION.fullmatch(revision) else ""
        self.checkpoints.append(replace(made, revision=known, bar=_one_of(bar, _BARS)))

    def hub(self, rest: str) -> None:
        user, folder, how = rest.split(" ")
        self.hubs[user], self.atimes[user] = rows.path(folder), _one_of(how, _ATIMES)

    def cached(self, rest: str) -> None:
        user, name, standing, *counts = rest.split(" ")
        if hub.CHECKPOINT.fits(name):
            path = f"{self.hubs[user]}/models--{name.replace('/', '--')}"
            self.checkpoints.append(self._checkpoint(user, name, (path, path), standing, counts))

    def _checkpoint(
        self, user: str, name: str, at: tuple[str, str], standing: str, counts: Iterable[str]
    ) -> Checkpoint:
        size, kept, read = map(_count, counts)
        noted = self.atimes[user] in ("all", "relatime")
        how = _one_of(standing, _STANDINGS)
        return Checkpoint(name, *at, how, size, kept, read if noted and read else None, user=user)

    def image(self, rest: str) -> None:
        id, size, created, *names = rest.split(" ")
        if not _ID.fullmatch(id):
            raise ValueError(f"{id[:80]!r} is no ID of an image")
        named = tuple(each for each in names if each and "<none>" not in each)
        self.images[id] = Stored(Image(id, names=named), int(size), _moment(created))

    def layers(self, rest: str) -> None:
        id, *layers = rest.split(" ")
        if id in self.images:
            self.images[id] = replace(self.images[id], layers=tuple(layers))

    def container(self, rest: str) -> None:
        image, state, more = rest.split(" ", 2)
        name, end = bounds.first(more, 0)
        asked = bounds.loads(more[end:])
        self.containers.append(Container(str(name).removeprefix("/"), state, image, str(asked)))

    def mounted(self, rest: str) -> None:
        last = self.containers.pop()
        self.containers.append(replace(last, mounts=(*last.mounts, str(bounds.loads(rest)))))

    def record(self, rest: str) -> None:
        self._keep("record", rest, lambda record: self.values.update(record=record))

    def trial(self, rest: str) -> None:
        self._keep("trial", rest, lambda record: self.values.update(trial=record))

    def service(self, rest: str) -> None:
        name, _, text = rest.partition(" ")
        if not served.usable(name):
            raise ValueError(f"{name[:40]!r} is no name of a service")
        self._keep(f"service {name}", text, lambda record: self.services.append((name, record)))

    def kept_by(self, rest: str) -> None:
        run, *named, text = rest.split(" ")
        if len(named) > 1 or not all(map(served.usable, named)):
            raise ValueError(f"{' '.join(named)[:40]!r} is no name of a service")
        what = kept_name(grammar.RUN.held(run), "".join(named))
        self._keep(what, text, lambda record: self.kept.update({what: record}))

    def _keep(self, what: str, text: str, put: Callable[[Record], None]) -> None:
        record = _record(text)
        if record is None:
            self.garbled.append(what)
        else:
            put(record)

    def room(self, rest: str) -> None:
        size, free, path = rest.split(" ")
        found = Room(rows.path(path), int(size), int(free))
        self.rooms[found.path] = found

    def cache(self, rest: str) -> None:
        path, size = rest.split(" ")
        self.caches[rows.path(path)] = _count(size)


_READERS: Mapping[str, Callable[[_Reader, str], None]] = {
    "now": lambda found, rest: found.values.update(now=int(rest)),
    "weights": _Reader.weights,
    "checkpoint": _Reader.checkpoint,
    "odd": lambda found, rest: found.values.update(odd=found.values.get("odd", 0) + int(rest)),
    "cut": lambda found, rest: found.cut.append(plain(rest)),
    "hub": _Reader.hub,
    "cached": _Reader.cached,
    "cache": _Reader.cache,
    "record": _Reader.record,
    "trial": _Reader.trial,
    "service": _Reader.service,
    "kept": _Reader.kept_by,
    "stopped": lambda found, rest: found.values.update(stopped=int(rest) if rest.strip("0") else None),
    "docker": lambda found, rest: found.values.update(docker=_one_of(rest, _DOCKERS)),
    "image": _Reader.image,
    "layers": _Reader.layers,
    "container": _Reader.container,
    "mounted": _Reader.mounted,
    "room": _Reader.room,
}


def _one_of(word: str, known: tuple[Any, ...]) -> Any:
    if word not in known:
        raise ValueError(f"{word[:40]!r} is none of {', '.join(known)}")
    return word


def _count(word: str) -> int | None:
    return None if word == "-" else int(word)


def _moment(word: str) -> str:
    """A time in ISO 8601 to the second; empty for what is none, and for docker's zero time."""
    try:
        made = datetime.fromisoformat(word)
    except ValueError:
        return ""
    return made.isoformat(timespec="seconds") if made.year > 1 else ""


def _record(text: str) -> Record | None:
    """A record that was kept, whose names are text; None for what is none."""
    try:
        content = base64.b64decode(text, validate=True).decode()
    except ValueError:
        return None
    found = served.load(Found(content, "0644", "root:root"))
    names = (found.model, found.checkpoint, found.image, found.name, found.weights) if found else (None,)
    return found if all(isinstance(each, str) for each in names) else None
