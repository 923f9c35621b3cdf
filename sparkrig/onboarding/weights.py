"""What a peer has of weights, and a Spark that took its place anew lacks; and what copies it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from sparkrig.cure import Cure, Setting, deploy, handed_on, on_host, quoted, quoted_path
from sparkrig.refusal import Refusal
from sparkrig.resources import trust
from sparkrig.resources.state import State
from sparkrig.serving import last_deploy, service_settings
from sparkrig.serving.last_deploy import Record
from sparkrig.settings import Settings
from sparkrig.text import bare_name


@dataclass(frozen=True)
class Missing:
    """Weights on the peer alone.

    name: OWNER/NAME of a checkpoint, or OWNER/NAME/FILE of a GGUF file; size: bytes; copied: what copies them over
    the fabric.
    """

    name: str
    size: int
    copied: Cure


@dataclass(frozen=True)
class Host:
    """One of both: its name in the inventory, and what was seen of it, with its folder of weights."""

    host: str
    seen: State


def missing(mine: Settings, here: Host, there: Host, declared: Collection[str]) -> list[Missing]:
    """What a host lacks of what a peer has whole, by name.

    mine: the settings that both share; declared: the checkpoints that these name, in small letters.
    """
    return [
        Missing(name, size, _copied(mine, here, there, name, declared)) for name, size in _lacking(here, there)
    ]


def _lacking(here: Host, there: Host) -> Iterator[tuple[str, int]]:
    own, other = here.seen.serving, there.seen.serving
    whole = {name: weights.size for name, weights in other.weights.items() if weights.there}
    yield from sorted(
        (name, size) for name, size in whole.items() if name not in own.weights or not own.weights[name].there
    )
    files = {path: size for path, size in other.ggufs.items() if path.rpartition("/")[0] not in whole}
    yield from sorted((path, size) for path, size in files.items() if own.ggufs.get(path) != size)


def _copied(mine: Settings, here: Host, there: Host, name: str, declared: Collection[str]) -> Cure:
    """The deploy of a model, where both serve it; else a command, for no verb copies what is not served."""
    if not mine.node_ssh:
        return trust.wanted(2 if mine.form == "cable" else 3)
    if name.lower() in declared:
        return deploy(what="serve")
    records = last_deploy.records(there.seen.files, there.seen.serving).values()
    if record := next((each for each in records if each.nodes > 1 and name in each.ids), None):
        try:
            return deploy(what="serve", data=_of_last_deploy(mine, record))
        except Refusal as refusal:  # what the other host keeps fits the settings no more
            return deploy(what="serve").then(f"; {refusal.what}")
    read = f"sudo tar -C {quoted_path(mine.weights)} -c {quoted_path(name)}"
    return on_host(
        f"sudo mkdir -p {quoted_path(mine.weights)} && ssh {quoted(bare_name(there.host))} {handed_on(read)} | "
        f"sudo tar -C {quoted_path(mine.weights)} -x",
        at=here.host,
    )


def _of_last_deploy(settings: Settings, record: Record) -> Mapping[str, Setting]:
    """What a deploy has to be given for what was served last: the replaced host keeps no record of it."""
    given = service_settings.of(settings, record.service, record, ()) if record.service else settings
    values = service_settings.given(service_settings.remembered(given, record))
    told = {"serve_name": record.service} if record.service else {}
    return told | {
        name: value for name, value in values.items() if record.service or value != getattr(settings, name)
    }
