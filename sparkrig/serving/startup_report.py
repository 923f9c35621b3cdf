"""How far each service is on its way up, and what is found of it: what `sparkrig startup` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from sparkrig.fleet import Fleet
from sparkrig.serving import startup, trouble
from sparkrig.serving.served import Service
from sparkrig.serving.startup import Seen, Startup
from sparkrig.value import Unread
from sparkrig.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class Node(Startup):
    """One node of a served model, as sparkrig.serving.startup.Startup.

    image: ID of the container's, empty where none runs; restarts: how often systemd started it again.
    """

    nodes: Annotated[int, Field(exclude=True)] = 0
    image: str
    restarts: int
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class Host(Node):
    """The node of the server without a name, or of the first service where there is none.

    services: the nodes of the named services, by their names.
    """

    services: Mapping[str, Node]


@dataclass(frozen=True, kw_only=True)
class Report:
    """How far each host of an inventory is on its way to serve, by its name."""

    schema: Literal["sparkrig.startup/1"] = "sparkrig.startup/1"
    hosts: Mapping[str, Host | Unread]


Nodes = Mapping[tuple[str, str], Node]
"""By host and service; empty stands for the server without a name."""


def judged(fleet: Fleet, seen: Mapping[str, Seen]) -> Nodes:
    """How far each service is on each host that could be read, with its findings; pairs serve together.

    The server without a name is left out where a pair or a lone host has named ones alone.
    """
    nodes: dict[tuple[str, str], Node] = {}
    for group in fleet.groups():
        there = {name: seen[name] for name in group if name in seen}
        services = sorted({service for each in there.values() for service in each.named})
        if not services or any(each.load != "not-found" for each in there.values()):
            services = ["", *services]
        for service in services:
            nodes |= {(name, service): node for name, node in _service(there, service)}
    return {(name, service): nodes[name, service] for name in seen for service in _of(nodes, name)}


def _service(there: Mapping[str, Seen], service: str) -> Iterator[tuple[str, Node]]:
    """The nodes of one service, by host."""
    mine = {
        name: seen.named.get(service, startup.absent(seen)) if service else seen for name, seen in there.items()
    }
    read = {name: startup.read(seen) for name, seen in mine.items()}
    verdicts = trouble.judge({name: (mine[name], read[name]) for name in mine}, Service(service))
    for name, seen in mine.items():
        image = seen.image.id if seen.image else ""
        yield name, Node(**vars(read[name]), image=image, restarts=seen.restarts, verdict=verdicts[name])


def _of(nodes: Nodes, name: str) -> dict[str, Node]:
    """The nodes of a host, by service."""
    return {service: node for (host, service), node in nodes.items() if host == name}


def report(hosts: Iterable[str], nodes: Nodes, unread: Mapping[str, str]) -> Report:
    """The document of the hosts of an inventory, in their order. unread: why not, by host."""
    return Report(
        hosts={name: Unread(unread[name]) if name in unread else _host(_of(nodes, name)) for name in hosts}
    )


def _host(nodes: Mapping[str, Node]) -> Host:
    first = nodes.get("") or next(iter(nodes.values()))
    return Host(**vars(first), services={service: node for service, node in nodes.items() if service})
