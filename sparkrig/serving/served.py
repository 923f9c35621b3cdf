"""What a host has of a server: its unit, its images, the weights, and what was deployed there last."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Literal, get_args

from sparkrig.files import File, Found, Managed
from sparkrig.host.images import Image, contents
from sparkrig.parsing import bounds, hub
from sparkrig.value import Value

UNIT = "sparkrig-serve"  # and the name of its container
PORT_UNIT = f"{UNIT}-port"
WATCH_UNIT = f"{UNIT}-watch"
RECORD = "/etc/sparkrig/serve/serve.json"
ENVIRONMENT = "/etc/sparkrig/serve/serve.env"
START = "/usr/local/lib/sparkrig/serve/start.sh"
WATCHER = "/usr/local/lib/sparkrig/serve/watch.py"
SERVICE = f"/etc/systemd/system/{UNIT}.service"
SOCKET = f"/etc/systemd/system/{PORT_UNIT}.socket"
PROXY = f"/etc/systemd/system/{PORT_UNIT}.service"
WATCH = f"/etc/systemd/system/{WATCH_UNIT}.service"
# What the watch has taken the place of: no deploy writes them, and each removes them.
MEMORY_UNIT = f"{UNIT}-memory"
BEFORE = ("/usr/local/lib/sparkrig/serve/memory.sh", f"/etc/systemd/system/{MEMORY_UNIT}.service")
# The token that nodes of Ray show each other. A deploy makes it; no record keeps it, and only its digest is shown.
RAY_ENV = "/etc/sparkrig/serve/ray.env"
_VARIABLE = "RAY_AUTH_TOKEN"
PATHS = (RECORD, ENVIRONMENT, START, WATCHER, SERVICE, SOCKET, PROXY, WATCH, *BEFORE)
KEPT = (*PATHS, RAY_ENV)  # on the host alone, until a trial is over

STATE = "/var/lib/sparkrig/serve"
TRIAL = f"{STATE}/trial"  # while it is there, the port stays closed
EVENTS = f"{STATE}/events"  # what the watch did, and why: templates/serving/watch.py
MANIFEST = ".sparkrig-files"  # beside a checkpoint that is whole: size and path of each of its files
REVISION = ".sparkrig-revision"  # beside a checkpoint: the commit of the hub that it is of; one of its files

ENABLED = f"/etc/systemd/system/multi-user.target.wants/{UNIT}.service"

ASIDE = -1  # the half of a pair that serves nothing

# whole: as its manifest lists; loose: as its index lists, put there by another tool; damaged: not as its manifest;
# linked: a container would not find all of it
Standing = Literal["whole", "loose", "partial", "damaged", "linked"]
_STANDINGS: tuple[Standing, ...] = get_args(Standing)


@dataclass(frozen=True)
class Weights:
    """A checkpoint on a disk.

    size: of all its files, in bytes; stray: the first link that leads out of it; revision: its commit on the hub,
    empty where that is not known.
    """

    standing: Standing
    size: int
    stray: str = ""
    revision: str = ""

    @property
    def there(self) -> bool:
        return self.standing in ("whole", "loose")


@dataclass(frozen=True)
class Event:
    """What the watch did to a server.

    at: in UTC, to the second; cause: stuck or memory; done: restarted or stopped; seen: why, in words.
    """

    at: str
    cause: str
    done: str
    seen: str

    def __str__(self) -> str:
        return f"{self.done} at {self.at}: {self.seen}"


_EVENT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) (stuck|memory) (restarted|stopped) (.{1,200})")


def events_of(rows: Iterable[str]) -> tuple[Event, ...]:
    """What the watch did, oldest first. A row that is none of its own counts for nothing."""
    found = [each for row in rows if (each := _EVENT.fullmatch(row))]
    return tuple(Event(*each.groups()) for each in found)


@dataclass(frozen=True)
class Serving(Value):
    """What there is.

    looked: whether anything was asked for; unit: properties of the unit, as systemd calls them; port: ActiveState
    of the socket that leads to it; image: the container's, by its ID; since: when it began to run; weights: by
    OWNER/NAME; room: bytes that are free where they lie; listening: TCP ports; health: HTTP status of its /health,
    0 where nothing answers, None where that was not asked; trial: whether a configuration is on trial; token: a
    digest of the nodes' token of Ray, empty where there is none that root alone may read; events: what the watch
    did since the last deploy, as long as it counts.
    """

    FILES: ClassVar = tuple(map(Managed, PATHS))

    looked: bool = False
    unit: Mapping[str, str] = field(default_factory=dict)
    port: str = ""
    image: str = ""
    since: str = ""
    images: tuple[Image, ...] = ()
    weights: Mapping[str, Weights] = field(default_factory=dict)
    room: int | None = None
    listening: tuple[int, ...] = ()
    health: int | None = None
    trial: bool = False
    token: str = ""
    events: tuple[Event, ...] = ()

    @property
    def active(self) -> bool:
        return self.unit.get("ActiveState") == "active"

    @property
    def enabled(self) -> bool:
        return self.unit.get("UnitFileState") == "enabled"

    @property
    def runs(self) -> bool:
        """Whether it is up, and will be after a reboot."""
        return self.active and self.enabled

    def find(self, wanted: str) -> Image | None:
        """The image that this host means by a name, a digest or an ID."""
        return find(self.images, wanted)

    def has(self, id: str) -> bool:
        return any(each.id == id for each in self.images)

    def copy_of(self, image: Image, name: str = "") -> Image | None:
        """What this host has of an image of another one; of several, the one that it calls by that name."""
        named = [each] if name and (each := self.find(name)) else []
        return next((each for each in (*named, *self.images) if each.same(image)), None)


def parse(lines: Iterable[str]) -> Serving:
    """Read the serving fact. Raises ValueError where a row makes no sense."""
    rows = [line.partition(" ")[::2] for line in lines]
    first = dict(reversed(rows))
    known = contents(rest for word, rest in rows if word == "content")
    image, _, since = first.get("container", "").partition(" ")
    health, room = first.get("health"), first.get("room", "").strip()
    return Serving(
        looked="looked" in first,
        unit=dict(rest.partition("=")[::2] for word, rest in rows if word == "unit"),
        port=first.get("port", ""),
        image=image,
        since=since,
        images=tuple(_image(rest, known) for word, rest in rows if word == "image"),
        weights=_weights(rows),
        room=int(room) if room else None,
        listening=tuple(sorted({int(rest) for word, rest in rows if word == "listen"})),
        health=None if health is None else int(health),
        trial="trial" in first,
        token=first.get("token", ""),
        events=events_of(rest for word, rest in rows if word == "event"),
    )


def makes_token(form: str, secrets: Collection[str]) -> bool:
    """Whether the nodes need a token of our making: without one, any client that reaches Ray runs programs there.

    secrets: the names of what the user hands over; a token of theirs is taken.
    """
    return form == "ray" and _VARIABLE not in secrets


def token(hexadecimal: str) -> str:
    """The file that holds it."""
    return f"{_VARIABLE}={hexadecimal}\n"


def one_revision(copies: Iterable[Weights]) -> bool:
    """Whether no two of them are known to be of different commits."""
    return len({each.revision for each in copies} - {""}) < 2


def one_token(halves: Iterable[Serving]) -> bool:
    """Whether all of them have one, and the same."""
    tokens = {each.token for each in halves}
    return len(tokens) == 1 and "" not in tokens


def _image(row: str, known: Mapping[str, str]) -> Image:
    id, architecture, *names = row.split()
    return Image(id, architecture, tuple(names), known.get(id, ""))


def _weights(rows: Iterable[tuple[str, str]]) -> dict[str, Weights]:
    rows = list(rows)
    revisions = dict(rest.partition(" ")[::2] for word, rest in rows if word == "revision")
    found = dict(_copy(rest) for word, rest in rows if word == "weights")
    known = {name: at for name, at in revisions.items() if hub.REVISION.fullmatch(at)}
    return {name: replace(each, revision=known.get(name, "")) for name, each in found.items()}


def _copy(row: str) -> tuple[str, Weights]:
    name, said, size, *stray = row.split(" ", 3)
    standing = next((each for each in _STANDINGS if each == said), None)
    if standing is None:
        raise ValueError(f"{said[:40]!r} is no state of weights")
    return name, Weights(standing, int(size), *stray)


def find(images: Iterable[Image], wanted: str) -> Image | None:
    """The image of that name, digest or ID."""
    named = _whole_name(wanted)
    return next((each for each in images if wanted == each.id or named in map(_whole_name, each.names)), None)


def _whole_name(name: str) -> str:
    """A name as docker completes it: a tag, but not beside a digest, and no registry where it is docker's own."""
    short = re.sub(r":[^:/@]+@", "@", re.sub(r"^(docker\.io/)?(library/)?", "", name))
    return short if "@" in short or ":" in short.rpartition("/")[2] else f"{short}:latest"


def is_id(name: str) -> bool:
    """Whether an image is named by its content, so that no registry can be asked for it."""
    return name.startswith("sha256:")


@dataclass(frozen=True)
class Record:
    """What was deployed last on a host, as it is kept there.

    model: its name in the catalogue; checkpoint: OWNER/NAME; image: by its ID on this host; name: by which it
    was asked for; form: solo, ray or multinode; rank: 0 answers, ASIDE has no part in it; vllm: version in the
    image, empty where it is unknown; files: SHA-256 of each file of ours by its path.
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

    def file(self) -> File:
        return File(RECORD, json.dumps(asdict(self), indent=1) + "\n")


def load(file: Found | None) -> Record | None:
    """The record that was kept; None where there is none, or where it cannot be understood."""
    if file is None:
        return None
    try:
        found: Any = bounds.loads(file.content)
        return Record(**{**found, "files": {str(path): str(digest) for path, digest in found["files"].items()}})
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def running(found: Serving, record: Record | None) -> Image:
    """The image of the container on a host, or of what was deployed there last."""
    id = found.image or (record.image if record else "")
    return found.find(id) or Image(id)


def digest(text: str) -> str:
    """Of a file, as a record keeps it."""
    return hashlib.sha256(text.encode()).hexdigest()
