"""What `sparkrig serve` is asked for, and what it would do, in few lines, of the host that answers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Literal

from sparkrig.checks.server import Server
from sparkrig.serving import listen, service_settings
from sparkrig.serving.budget import GIB
from sparkrig.serving.client import Client
from sparkrig.serving.model import Figure, Source
from sparkrig.serving.purposes import Proposal, rate
from sparkrig.serving.runtimes import runtime
from sparkrig.text import bare_name, listed

Sources = Mapping[str, Source]
_PORTS = range(8001, 8100)  # of the named servers of a host
_TRIAL = 10000  # from a port to its trial port, as the defaults have it


# --- for programs


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Of one checkpoint, in GiB. missing: to be downloaded, None where no source states the size."""

    there: float
    missing: float | None


@dataclass(frozen=True, kw_only=True)
class Planned:
    """One server, as it would be or is.

    hosts: that have a part in it, the one that answers first; replaces: the model that stops for it, empty for
    none; weights: by OWNER/NAME; taken_gib, free_gib, total_gib: memory of each host; context: in tokens; speed:
    in words, with its source and day; at: ADDRESS:PORT of each place where it answers; client: how it is reached,
    without the key itself; warnings: in sentences.
    """

    model: str
    checkpoint: str
    hosts: list[str]
    replaces: str
    image: str
    has_image: bool
    weights: Mapping[str, Weights]
    taken_gib: float
    free_gib: float
    total_gib: float
    context: int
    speed: str
    at: tuple[str, ...]
    client: Client
    warnings: list[str]


@dataclass(frozen=True, kw_only=True)
class Amiss:
    """Why hosts were refused or not read, or their server answers no sense, in words."""

    hosts: list[str]
    why: str


@dataclass(kw_only=True)
class Report:
    """What `sparkrig serve` planned, and what came of it in words. answers: by host, to the first question."""

    schema: Literal["sparkrig.serve/1"] = "sparkrig.serve/1"
    inventory: str
    servers: list[Planned] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    amiss: list[Amiss] = field(default_factory=list)
    outcome: str = ""
    exit_code: int = 0


def planned(server: Server, sources: Sources, client: Client, warnings: Iterable[str]) -> Planned:
    """Of the host that answers. Raises Refusal where it cannot be served."""
    wish, room = server.wish, server.room()
    return Planned(
        model=wish.model.name,
        checkpoint=wish.gguf or wish.checkpoint.id,
        hosts=[bare_name(each.host.name) for each in server.busy],
        replaces=server.record.model if server.record and not server.settled else "",
        image=wish.image,
        has_image=server.has_image,
        weights={id: _weights(server, id) for id in wish.ids},
        taken_gib=round(server.sizing.utilization * room.total, 1),
        free_gib=round(room.free, 1),
        total_gib=round(room.total, 1),
        context=server.sizing.context,
        speed=speed(rate(wish.model, wish.checkpoint), sources),
        at=server.at(),
        client=client,
        warnings=[*warnings],
    )


def _weights(server: Server, id: str) -> Weights:
    found = server.found.weights.get(id)
    there = found.size / GIB if found else 0.0
    whole = server.wish.gib if id == server.wish.checkpoint.id else None
    missing = 0.0 if found and found.there else whole and max(0.0, whole - there)
    return Weights(there=round(there, 1), missing=missing if missing is None else round(missing, 1))


# --- for a person


def rows(plan: Planned) -> Iterator[tuple[str, str]]:
    """The same as a word and a sentence each."""
    yield "model", f"{plan.model} ({plan.checkpoint}) on {listed(plan.hosts)}"
    if plan.replaces:
        yield "instead", f"of {plan.replaces}, which stops, and comes back where the new one does not answer"
    yield "image", f"{plan.image}, {'already there' if plan.has_image else 'to be pulled'}"
    yield "weights", "; ".join(f"{id}{_to_come(found)}" for id, found in plan.weights.items())
    taken = f"{plan.taken_gib:.1f} of {plan.total_gib:.1f} GiB"
    yield "memory", f"{taken}, for sequences of {plan.context} tokens; {plan.free_gib:.1f} GiB are free for it"
    yield "speed", plan.speed
    yield "answers", listen.said(plan.at, key=bool(plan.client.key))


def _to_come(found: Weights) -> str:
    if found.missing == 0.0:
        return " is there"
    size = "of a size that no source states" if found.missing is None else f"{found.missing:.1f} GiB"
    return f": {size} to be downloaded{f', {found.there:.1f} GiB are there' if found.there else ''}"


def speed(figure: Figure | None, sources: Sources) -> str:
    """What a source tells of its speed, with its day."""
    if figure is None:
        return "no source tells of it"
    span = f"{figure.value:g}" + (f" to {figure.high:g}" if figure.high else "")
    return (
        f"{span} tokens a second {figure.kind} for one request ({figure.source}, {sources[figure.source].dated})"
    )


def offered(proposal: Proposal, sources: Sources) -> str:
    """A model that is proposed, in one line."""
    wish, size = proposal.wish, proposal.wish.gib
    gib = "size unknown" if size is None else f"{size:.1f} GiB"
    told = speed(proposal.rate, sources)
    return f"{wish.model.name}: {gib}, {proposal.sizing.context} tokens of context, {told}"


def ports(server: Server) -> dict[str, int]:
    """Ports for a named server that the host does not have yet: the first that nobody has."""
    if not server.name or server.record:
        return {}
    taken = {*server.found.listening}
    for record in server.others.values():
        taken |= {record.port, record.trial_port}
    free = next((port for port in _PORTS if not {port, port + _TRIAL} & taken), _PORTS[0])
    return {"serve_port": free, "serve_trial_port": free + _TRIAL}


def given(
    model: str | None,
    name: str,
    context: int | None,
    own: Mapping[str, Any],
    data: Mapping[str, Any],
    *,
    lan: bool,
    stop: bool,
) -> dict[str, Any]:
    """The settings that were typed. own: the data of a host of the inventory; data: settings by their names."""
    found: dict[str, Any] = {**data, **({"serve_name": name} if name else {})}
    if stop:
        return {**found, "model": service_settings.NONE}
    if model:
        file = PurePath(model.partition("#")[0])
        found["recipe" if file.suffix in (".yaml", ".yml") else "model"] = model
    if context:
        flag = runtime(found.get("serve_engine") or own.get("serve_engine") or runtime("").id).context
        flags = found.get("serve_flags", {} if name else own.get("serve_flags", {}))
        found["serve_flags"] = {**flags, flag: context}
    if lan and (name or own.get("serve_listen")):
        found["serve_listen"] = listen.MANAGEMENT
    return found
