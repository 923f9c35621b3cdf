"""What a host has of a server: its unit, its images, the weights, and what was deployed there last."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

from sparkrig.host import images
from sparkrig.host.images import Image, contents
from sparkrig.parsing import hub
from sparkrig.serving import gguf
from sparkrig.value import Value

UNIT = "sparkrig-serve"  # and the name of its container
PORT_UNIT = f"{UNIT}-port"
WATCH_UNIT = f"{UNIT}-watch"
RECORD = "/etc/sparkrig/serve/serve.json"
ENVIRONMENT = "/etc/sparkrig/serve/serve.env"
START = "/usr/local/lib/sparkrig/serve/start.sh"
WATCHER = "/usr/local/lib/sparkrig/serve/watch.py"
STEPS = "/usr/local/lib/sparkrig/serve/steps.py"  # of a recipe that runs more than its server
BRAKE = "/usr/local/lib/sparkrig/serve/brake.sh"
SERVICE = f"/etc/systemd/system/{UNIT}.service"
SOCKET = f"/etc/systemd/system/{PORT_UNIT}.socket"
PROXY = f"/etc/systemd/system/{PORT_UNIT}.service"
WATCH = f"/etc/systemd/system/{WATCH_UNIT}.service"
# What the watch has taken the place of: each deploy removes them.
MEMORY_UNIT = f"{UNIT}-memory"
BEFORE = ("/usr/local/lib/sparkrig/serve/memory.sh", f"/etc/systemd/system/{MEMORY_UNIT}.service")
# The token that nodes of Ray show each other. A deploy makes it; no record keeps it, and only its digest is shown.
RAY_ENV = "/etc/sparkrig/serve/ray.env"
STANDING = "standing"  # the form of a server on the standing Ray cluster: the head alone has a unit
_VARIABLE = "RAY_AUTH_TOKEN"
PATHS = (RECORD, ENVIRONMENT, START, STEPS, WATCHER, BRAKE, SERVICE, SOCKET, PROXY, WATCH, *BEFORE)
KEPT = (*PATHS, RAY_ENV)  # on the host alone, until a trial is over

STATE = "/var/lib/sparkrig/serve"
TRIAL = f"{STATE}/trial"  # while it is there, the port stays closed
EVENTS = f"{STATE}/events"  # what the watch or the brake did, and why: templates/serving/watch.py, brake.sh
LOADS = f"{STATE}/loads"  # boots that ended while it loaded: templates/serving/brake.sh
MANIFEST = ".sparkrig-files"  # beside a checkpoint that is whole: size and path of each of its files
REVISION = ".sparkrig-revision"  # beside a checkpoint: the commit of the hub that it is of; one of its files

ENABLED = f"/etc/systemd/system/multi-user.target.wants/{UNIT}.service"

MOST = 8  # named services that one host is looked at for
# A name that would give a unit that is another service's already.
_TAKEN = ("port", "watch", "memory")


@dataclass(frozen=True)
class Service:
    """One server of a host: its units, its container, its files and its state. name: empty for the one without.

    The one without a name has what every version gave it; each other one has the same with its name in it. Its
    programs are those of the one without a name, as texts: a host's log then shows whole paths, and no program
    depends on a variable that may be lost on the way.
    """

    name: str = ""

    def of(self, text: str) -> str:
        """A path, a unit, or a program of the server without a name, as this service has it."""
        if not self.name:
            return text
        text = re.sub(r"(/(?:etc|usr/local/lib)/sparkrig/serve)/", rf"\1/{self.name}/", text)
        return re.sub(r"(var/(?:lib|cache)/sparkrig/serve|sparkrig-serve)\b", rf"\1-{self.name}", text)

    @property
    def unit(self) -> str:
        """Of systemd, without its suffix; its container is called the same."""
        return self.of(UNIT)

    @property
    def port_unit(self) -> str:
        return self.of(PORT_UNIT)

    @property
    def watch_unit(self) -> str:
        return self.of(WATCH_UNIT)

    @property
    def record(self) -> str:
        return self.of(RECORD)

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file that a deploy writes or removes for it."""
        return tuple(self.of(path) for path in PATHS if not (self.name and path in BEFORE))

    @property
    def kept(self) -> tuple[str, ...]:
        """Those, and the token: what a trial keeps on the host alone until it is over."""
        return (*self.paths, self.of(RAY_ENV))

    @property
    def id(self) -> str:
        """What the name of a check ends with."""
        return f"@{self.name}" if self.name else ""

    def __str__(self) -> str:
        return f"service {self.name}" if self.name else "the server without a name"


UNNAMED = Service()


def usable(name: str) -> bool:
    """Whether a service may be called that: its units are no unit of another one."""
    return _SERVICE.fullmatch(name) is not None and name.rpartition("-")[2] not in _TAKEN


# as templates/programs/facts/serving_names.sh has it
_SERVICE = re.compile(r"[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?")
_OWNED = re.compile(
    r"/etc/sparkrig/serve/([a-z0-9-]+)/serve\.(?:json|env)"
    r"|/usr/local/lib/sparkrig/serve/([a-z0-9-]+)/(?:start\.sh|steps\.py|watch\.py|brake\.sh)"
    rf"|/etc/systemd/system/{UNIT}-([a-z0-9-]+?)(?:(?:-port|-watch)?\.service|-port\.socket)"
)


def whose(path: str) -> Service | None:
    """The service that a file belongs to; None where it is of none."""
    if path in PATHS:
        return UNNAMED
    found = _OWNED.fullmatch(path)
    name = next(filter(None, found.groups())) if found else ""
    return Service(name) if usable(name) else None


_BOUND = re.compile(r"[0-9A-Fa-f.:*\[\]]{1,45}:\d{1,5}")
_NAMED = re.compile(r"(container )?[A-Za-z0-9][\w.@-]{0,127}")

ASIDE = -1  # the host of a pair that serves nothing

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
    """What the watch or the brake did to a server.

    at: in UTC, to the second; cause: stuck, memory or boots; done: restarted, stopped or held, not started with
    the host; seen: why, in words.
    """

    at: str
    cause: str
    done: str
    seen: str

    def __str__(self) -> str:
        return f"{self.done} at {self.at}: {self.seen}"


_EVENT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) (stuck|memory|boots) (restarted|stopped|held) (.{1,200})")


def events_of(rows: Iterable[str]) -> tuple[Event, ...]:
    """What was done to it, oldest first. A row that is none of its own counts for nothing."""
    found = [each for row in rows if (each := _EVENT.fullmatch(row))]
    return tuple(Event(*each.groups()) for each in found)


@dataclass(frozen=True)
class Memory:
    """Of a host, in GiB, as the kernel counts it: MemTotal and MemAvailable."""

    total: float
    available: float


@dataclass(frozen=True)
class Own:
    """What a host has of one service.

    unit: properties of the unit, as systemd calls them; port: ActiveState of the socket that leads to it; image:
    the container's, by its ID; since: when it began to run; bound: ADDRESS:PORT that the public port is open on,
    as ss has it; health: HTTP status of its /health, 0 where nothing answers, None where that was not asked;
    trial: whether a configuration is on trial; token: a digest of the nodes' token of Ray, empty where there is
    none that root alone may read; events: what the watch did, as long as it counts; part: whether Ray has it.
    """

    unit: Mapping[str, str] = field(default_factory=dict)
    port: str = ""
    image: str = ""
    since: str = ""
    bound: tuple[str, ...] = ()
    health: int | None = None
    trial: bool = False
    token: str = ""
    events: tuple[Event, ...] = ()
    part: bool = False


@dataclass(frozen=True)
class Serving(Own, Value):
    """What there is: of the host, and of its server without a name.

    looked: whether anything was asked for; weights: by OWNER/NAME; room: bytes that are free where they lie;
    listening: TCP ports; memory: None where it was not seen; others: what else is known to run and to take memory:
    `container NAME`, or a service; store: where docker keeps images, empty where it was not seen; store_room:
    bytes that are free there; named: what it has of each named service, which `of` shows in the place of the
    server without a name, and then has that one among them; ggufs: bytes of each GGUF file, by OWNER/NAME/FILE.
    """

    looked: bool = False
    images: tuple[Image, ...] = ()
    weights: Mapping[str, Weights] = field(default_factory=dict)
    room: int | None = None
    listening: tuple[int, ...] = ()
    memory: Memory | None = None
    others: tuple[str, ...] = ()
    store: str = ""
    store_room: int = 0
    named: Mapping[str, Own] = field(default_factory=dict)
    ggufs: Mapping[str, int] = field(default_factory=dict)

    def of(self, service: Service) -> Serving:
        """The same host, with what it has of that service."""
        if not service.name and "" not in self.named:
            return self
        named = {"": Own(**_own_fields(self)), **self.named}
        return replace(self, named=named, **_own_fields(named.get(service.name, Own())))

    @property
    def active(self) -> bool:
        return self.unit.get("ActiveState") == "active"

    @property
    def serves(self) -> bool:
        """Whether any server is up, with a name or without."""
        return self.active or any(own.unit.get("ActiveState") == "active" for own in self.named.values())

    @property
    def enabled(self) -> bool:
        return self.unit.get("UnitFileState") == "enabled"

    @property
    def runs(self) -> bool:
        """Whether it is up, and will be after a reboot."""
        return self.active and self.enabled

    def find(self, wanted: str) -> Image | None:
        """The image that this host means by a name, a digest or an ID."""
        return images.find(self.images, wanted)

    def has(self, id: str) -> bool:
        return any(image.id == id for image in self.images)

    def gguf(self, path: str) -> int | None:
        """Bytes of a GGUF file with its other parts; None where one of them is not there."""
        return gguf.size(path, self.ggufs)

    def copy_of(self, image: Image, name: str = "") -> Image | None:
        """What this host has of an image of another one; of several, the one that it calls by that name."""
        named = [each] if name and (each := self.find(name)) else []
        return next((each for each in (*named, *self.images) if each.same(image)), None)


def parse(lines: Iterable[str]) -> Serving:
    """Read the serving fact. Raises ValueError where a row makes no sense."""
    rows, sections = _sections(line.partition(" ")[::2] for line in lines)
    named = {name: _own(section) for name, section in sections.items()}
    first, own = dict(reversed(rows)), _own(rows)
    known = contents(rest for word, rest in rows if word == "content")
    room = first.get("room", "").strip()
    store_room, _, store = first.get("store", "0").strip().partition(" ")
    sizes = {id: int(size) for word, rest in rows if word == "size" for id, size in [rest.split()]}
    containers = {f"container {Service(name).unit}" for name in named}
    return Serving(
        looked="looked" in first,
        images=tuple(_image(rest, known, sizes) for word, rest in rows if word == "image"),
        weights=_weights(rows),
        ggufs=dict(gguf.row(rest) for word, rest in rows if word == "gguf"),
        room=int(room) if room else None,
        listening=tuple(sorted({int(rest) for word, rest in rows if word == "listen"})),
        memory=_memory(first.get("memory")),
        store=store,
        store_room=int(store_room),
        others=tuple(
            rest for word, rest in rows if word == "other" and _NAMED.fullmatch(rest) and rest not in containers
        ),
        named=named,
        **_own_fields(own),
    )


def _own_fields(own: Own) -> dict[str, Any]:
    return {each.name: getattr(own, each.name) for each in fields(Own)}


def _sections(rows: Iterable[tuple[str, str]]) -> tuple[list[tuple[str, str]], dict[str, list[tuple[str, str]]]]:
    """The rows of the host and of the server without a name, and those of each named service."""
    host: list[tuple[str, str]] = []
    named: dict[str, list[tuple[str, str]]] = {}
    section = host
    for word, rest in rows:
        if word == "service" and usable(rest) and len(named) < MOST:
            section = named.setdefault(rest, [])
        elif word == "service":
            section = []  # of none of ours
        else:
            section.append((word, rest))
    return host, named


def _own(rows: Sequence[tuple[str, str]]) -> Own:
    """What the rows of one service show."""
    first = dict(reversed(rows))
    image, _, since = first.get("container", "").partition(" ")
    health = first.get("health")
    return Own(
        unit=dict(rest.partition("=")[::2] for word, rest in rows if word == "unit"),
        port=first.get("port", ""),
        image=image,
        since=since,
        bound=tuple(sorted({rest for word, rest in rows if word == "bound" and _BOUND.fullmatch(rest)})),
        health=None if health is None else int(health),
        trial="trial" in first,
        token=first.get("token", ""),
        events=events_of(rest for word, rest in rows if word == "event"),
        part="part" in first,
    )


def _memory(row: str | None) -> Memory | None:
    """MemTotal and MemAvailable in KiB."""
    if row is None:
        return None
    total, available = map(int, row.split())
    return Memory(total / 2**20, available / 2**20)


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
    return len({copy.revision for copy in copies} - {""}) < 2


def one_token(servers: Iterable[Serving]) -> bool:
    """Whether all of them have one, and the same."""
    tokens = {server.token for server in servers}
    return len(tokens) == 1 and "" not in tokens


def _image(row: str, known: Mapping[str, str], sizes: Mapping[str, int]) -> Image:
    id, architecture, *names = row.split()
    return Image(id, architecture, tuple(names), known.get(id, ""), sizes.get(id, 0))


def _weights(rows: Iterable[tuple[str, str]]) -> dict[str, Weights]:
    rows = list(rows)
    revisions = dict(rest.partition(" ")[::2] for word, rest in rows if word == "revision")
    found = dict(_copy(rest) for word, rest in rows if word == "weights")
    known = {name: at for name, at in revisions.items() if hub.REVISION.fullmatch(at)}
    return {name: replace(weights, revision=known.get(name, "")) for name, weights in found.items()}


def _copy(row: str) -> tuple[str, Weights]:
    name, said, size, *stray = row.split(" ", 3)
    standing = next((each for each in _STANDINGS if each == said), None)
    if standing is None:
        raise ValueError(f"{said[:40]!r} is no state of weights")
    return name, Weights(standing, int(size), *stray)
