"""What `sparkrig serve` is asked for, and what it would do, in few lines, of the host that answers. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from sparkrig.checks.server import Server
from sparkrig.serving import listen, service_settings
from sparkrig.serving.budget import GIB
from sparkrig.serving.model import Figure, Source
from sparkrig.serving.purposes import Proposal, rate
from sparkrig.serving.runtimes import runtime
from sparkrig.text import bare_name, listed

Sources = Mapping[str, Source]
_PORTS = range(8001, 8100)  # of the named servers of a host
_TRIAL = 10000  # from a port to its trial port, as the defaults have it


def lines(server: Server, sources: Sources) -> Iterator[tuple[str, str]]:
    """A word and a sentence each. Raises Refusal where it cannot be served."""
    wish, busy = server.wish, listed(bare_name(each.host.name) for each in server.busy)
    yield "model", f"{wish.model.title} ({wish.gguf or wish.checkpoint.id}) on {busy}"
    if server.record and not server.settled:
        yield "instead", f"of {server.record.model}, which stops, and comes back where the new one does not answer"
    yield "image", f"{wish.image}, {'already there' if server.has_image else 'to be pulled'}"
    yield "weights", "; ".join(_weights(server, id) for id in wish.ids)
    room, sizing = server.room(), server.sizing
    taken = f"{sizing.utilization * room.total:.1f} of {room.total:.1f} GiB"
    yield "memory", f"{taken}, for sequences of {sizing.context} tokens; {room.free:.1f} GiB are free for it"
    yield "speed", speed(rate(wish.model, wish.checkpoint), sources)
    yield "answers", listen.said(server.at(), key=listen.asks(server.mine))


def _weights(server: Server, id: str) -> str:
    there = server.found.weights.get(id)
    if there and there.there:
        return f"{id} is there"
    have, whole = there.size / GIB if there else 0.0, server.wish.gib if id == server.wish.checkpoint.id else None
    size = "of a size that no source states" if whole is None else f"{max(0.0, whole - have):.1f} GiB"
    return f"{id}: {size} to be downloaded{f', {have:.1f} GiB are there' if have >= 0.1 else ''}"


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
