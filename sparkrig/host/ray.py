"""What a host tells of its node of Ray, and the head of the whole cluster [@ray-state]."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Any

from sparkrig.parsing import bounds
from sparkrig.value import Value

UNIT = "sparkrig-ray"  # and its container
STATE = "/var/lib/sparkrig/ray"  # sessions and what is spilled; the path is as short as sockets need it
PORT = 6379

_UNITS = ("ActiveState", "UnitFileState", "NRestarts")
_ROWS = frozenset({"unit", "image", "container", "token", "version", "nodes", "usage", "groups", "jobs"})
_GIB = 2**30
_ID = re.compile(r"[0-9a-f]{1,64}")

Rows = list[Mapping[str, Any]]


@dataclass(frozen=True)
class Node:
    """A node that Ray knows: its address, whether it lives, and its GPUs."""

    address: str
    alive: bool
    gpus: float


@dataclass(frozen=True)
class Held(Value):
    """A placement group that a launch has left, which holds GPUs. id: of the group; launch: its command."""

    id: str
    launch: str


@dataclass(frozen=True)
class Ray(Value):
    """What a host has of the cluster.

    unit: properties of the unit, as systemd calls them; image: ID of the declared image, empty where it is not
    there; runs: ID of the one that runs. Of the head alone: version: of Ray; nodes: None where it does not answer;
    store: GiB of the object stores that are used, and all of them; held: what ended launches have left;
    stale: whether it runs with another token than the host has.
    """

    unit: Mapping[str, str] = field(default_factory=dict)
    image: str = ""
    runs: str = ""
    version: str = ""
    nodes: tuple[Node, ...] | None = None
    store: tuple[float, float] | None = None
    held: tuple[Held, ...] = ()
    stale: bool = False

    @property
    def up(self) -> bool:
        return self.unit.get("ActiveState") == "active"

    @property
    def alive(self) -> set[str]:
        """Addresses of the nodes that live."""
        return {node.address for node in self.nodes or () if node.alive}

    @property
    def restarts(self) -> int:
        """How often systemd started the unit again since somebody started it."""
        told = self.unit.get("NRestarts", "")
        return int(told) if told.isdecimal() else 0

    @property
    def lack(self) -> str:
        """Why the unit is not as it should be; empty where it is."""
        if not self.up:
            return f"it is {self.unit.get('ActiveState', 'absent')}"
        if self.unit.get("UnitFileState") != "enabled":
            return "it does not start with the host"
        return "it runs with another token than the host has" if self.stale else ""


def parse(lines: Iterable[str]) -> Ray:
    """Read the fact of Ray. Raises ValueError where a row makes no sense; what Ray says ill, it does not say."""
    rows = [line.partition(" ")[::2] for line in lines]
    words = dict(rows)
    if unknown := words.keys() - _ROWS:
        raise ValueError(f"no row begins with {min(unknown)[:60]!r}")
    unit = dict(rest.partition("=")[::2] for word, rest in rows if word == "unit")
    told = {
        word: _document(rest) for word, rest in rows if word in ("version", "nodes", "usage", "groups", "jobs")
    }
    nodes = _rows(told.get("nodes"))
    return Ray(
        unit={name: unit[name] for name in _UNITS if name in unit},
        image=words.get("image", ""),
        runs=words.get("container", ""),
        stale=words.get("token") == "stale",
        version=_version(told.get("version")),
        nodes=None if nodes is None else tuple(node for row in nodes for node in _node(row)),
        store=_store(told.get("usage")),
        held=tuple(_held(_rows(told.get("groups")) or [], _rows(told.get("jobs")) or [])),
    )


def _document(text: str) -> Any:
    """JSON; None where it is cut off or none."""
    try:
        return bounds.loads(text)
    except ValueError:
        return None


def _version(document: Any) -> str:
    found = document.get("ray_version", "") if isinstance(document, dict) else ""
    return str(found)[:40]


def _rows(document: Any) -> Rows | None:
    """The rows of a document of Ray's state API; None where it is another one."""
    try:
        return [dict(row) for row in document["data"]["result"]["result"]]
    except (LookupError, TypeError, ValueError):
        return None


def _node(row: Mapping[str, Any]) -> Iterator[Node]:
    try:
        gpus = float(row["resources_total"].get("GPU", 0))
        yield Node(str(IPv4Address(row["node_ip"])), row["state"] == "ALIVE", gpus)
    except (
        LookupError,
        AttributeError,
        TypeError,
        ValueError,
    ):  # a node that it has no address of is none of ours
        return


def _store(document: Any) -> tuple[float, float] | None:
    """Of the report of Ray's autoscaler, whose form no page promises."""
    try:
        used, whole = map(
            float, document["data"]["clusterStatus"]["loadMetricsReport"]["usage"]["objectStoreMemory"]
        )
    except (LookupError, TypeError, ValueError):
        return None
    return used / _GIB, whole / _GIB


def _held(groups: Rows, jobs: Rows) -> Iterator[Held]:
    """The groups whose launch has ended, by the job that made them."""
    known = {job.get("job_id"): job for job in jobs}
    for group in groups:
        id, job = str(group.get("placement_group_id")), known.get(group.get("creator_job_id"))
        ended = job and job.get("status") not in ("PENDING", "RUNNING")
        if job and ended and group.get("state") != "REMOVED" and _ID.fullmatch(id):  # it stands in a command
            yield Held(id, str(job.get("entrypoint"))[:200])
