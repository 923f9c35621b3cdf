"""The model that a host serves: by what was deployed there last, and by what is declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sparkrig.cure import Cure, deploy
from sparkrig.files import Managed
from sparkrig.resources.check import Check, Subject, check, there
from sparkrig.resources.kind import Kind
from sparkrig.serving import last_deploy, listen, served, trouble
from sparkrig.serving.last_deploy import Record
from sparkrig.serving.served import Service, Serving
from sparkrig.serving.service_settings import NONE
from sparkrig.settings import Settings
from sparkrig.signatures import of

if TYPE_CHECKING:
    from sparkrig.resources.state import State
from sparkrig.resources.resource import Resource


def _kind(id: str, meaning: str, cause: str, part: str = "drift-and-undo") -> Kind:
    """part: of docs/serving.md."""
    return Kind(id, "containers", meaning, cause, f"docs/serving.md#{part}")


class Server(Resource[Serving]):
    """The model that a host serves: by what was deployed there last, and by what is declared."""

    name = "serving"
    files = tuple(map(Managed, served.PATHS))
    kinds = (
        _kind(
            "serve.model",
            "the model that is declared is the one that is served",
            "deploys/serve.py was not run after the inventory changed, or the server was undone",
        ),
        _kind(
            "serve.files",
            "the files of the server are as they were deployed",
            "a unit was edited or removed by hand",
        ),
        _kind(
            "serve.unit",
            "the server is up, and will be after a reboot",
            "it was stopped by hand or by its watch, or ended five times in six hours: journalctl -u "
            "sparkrig-serve",
        ),
        _kind(
            "serve.image",
            "the image that was deployed is there and runs",
            "docker image rm or prune took it, or the container was started by hand",
        ),
        _kind(
            "serve.alike",
            "all nodes of a server run the same image",
            "it was pulled anew by hand on one of them",
        ),
        _kind(
            "serve.token",
            "all nodes of a server with Ray have the same token, for root alone",
            "it was removed, or opened to others",
        ),
        _kind(
            "serve.memory",
            "the server has the memory and context that were decided, on all nodes",
            "one of the nodes was deployed without the others",
            "memory-and-context",
        ),
        _kind(
            "serve.weights",
            "every file of the weights is there in its size",
            "a file was removed, or the disk lost it",
        ),
        _kind(
            "serve.revision",
            "the weights are of the declared commit, else of the other nodes' one",
            "they were downloaded anew by hand on one host, after their publisher had changed them",
        ),
        _kind(
            "serve.answer",
            "the server answers, and its port leads to it",
            "it is still loading, or one of its nodes is lost: journalctl -u sparkrig-serve",
        ),
        _kind(
            "serve.stuck",
            "the watch found no engine that stood still",
            "a deadlock in vLLM, NCCL or a kernel: requests ran, no token came, and the GPU idled",
            "it-stays-up",
        ),
        _kind(
            "serve.pressure",
            "the watch found enough memory left for the host",
            "a longer context, or another program, took what the budget had left",
            "it-stays-up",
        ),
        _kind(
            "serve.boots",
            "the server is started with the host",
            "it took the host down twice while it loaded, by a hang or a power cut: more memory than there is",
            "it-stays-up",
        ),
        _kind(
            "serve.access",
            "the API answers where it should, and asks for a declared key",
            "the host has another address, or a key was added or taken away",
            "who-reaches-it",
        ),
        _kind(
            "serve.trial",
            "no configuration was left on trial",
            "the deploy broke off before the new server had answered",
        ),
    )

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Those of the server that the inventory describes, and those of each other one that the host has."""
        records = last_deploy.records(subject.found.files, subject.found.serving)
        for name in dict.fromkeys(("", subject.settings.serve_name, *records)):
            service = Service(name)
            for each in _of(_Subject(subject, service)):
                yield replace(each, id=f"{each.id}{service.id}")


SERVING = Server()


@dataclass(frozen=True)
class _Subject:
    """A host, as one of its services sees it. found: the look; serving: what there is of the service in it."""

    host: Subject
    service: Service

    @property
    def settings(self) -> Settings:
        return self.host.settings

    @property
    def found(self) -> State:
        return self.host.found

    @property
    def serving(self) -> Serving:
        return self.host.found.serving.of(self.service)

    @property
    def declared(self) -> bool:
        """Whether the inventory describes this one."""
        return self.service.name == self.settings.serve_name

    @property
    def record(self) -> Record | None:
        return last_deploy.load(self.found.files.get(self.service.record))

    @property
    def nodes(self) -> list[_Node]:
        """The other hosts that have a part in it, by rank, as far as they were read; that of a pair always."""
        read = [
            _Node(name, state.serving.of(self.service), last_deploy.load(state.files.get(self.service.record)))
            for name, state in self.host.peers.items()
        ]
        if self.pair:
            return read
        return sorted((node for node in read if node.rank is not None), key=lambda node: node.rank or 0)

    @property
    def pair(self) -> bool:
        """Whether its host has one peer."""
        return len(self.host.fleet.peers(self.host.name)) < 2

    def other(self, alike: Callable[[_Node], bool]) -> _Node | None:
        """The first of them that differs, else the first; None where none was read."""
        nodes = self.nodes
        return next((node for node in nodes if not alike(node)), nodes[0] if nodes else None)

    @property
    def serve(self) -> Cure:
        if self.declared:
            return self.host.serve
        return deploy("serve", data={"serve_name": self.service.name})


@dataclass(frozen=True)
class _Node:
    """What another host has of the server. record: None where there is none."""

    name: str
    serving: Serving
    record: Record | None

    @property
    def rank(self) -> int | None:
        """None where it has no part."""
        return self.record.rank if self.record and self.record.rank != served.ASIDE else None


def _of(subject: _Subject) -> Iterator[Check]:
    record, asked = subject.record, subject.settings.model if subject.declared else None
    found, cure = subject.serving, subject.serve
    if record is None and asked in (None, NONE):
        return
    want = asked or (record.model if record else "")
    if record is None:
        yield there("serve.model", want, None, cure)
        return
    yield check("serve.model", not asked or _means(asked, record), want, record.checkpoint, cure)
    yield _files(subject, record)
    if found.trial:
        yield Check("serve.trial", "no configuration is on trial", "a trial broke off", "extra", cure)
    if record.rank == served.ASIDE:
        return
    state = found.unit.get("ActiveState", "absent")
    if record.unit:
        yield check("serve.unit", found.runs, "active, enabled", _unit(subject), cure)
    yield from _events(subject)
    yield _image(subject, record)
    yield from _alike(subject, record)
    yield _memory(subject, record)
    yield _weights(subject, record)
    yield from _revision(subject, record)
    if record.rank == 0 and state == "active":
        open_ = found.port == "active"
        health = "answers" if found.health == 200 else f"/health gives {found.health or 'nothing yet'}"
        yield check(
            "serve.answer",
            open_ and found.health == 200,
            f"answers, and port {record.port} leads to it",
            health if open_ else f"{health}, port {record.port} is closed",
            cure,
        )
        yield _access(subject, record)


def _events(subject: _Subject) -> Iterator[Check]:
    """What the watch or the brake did, and is not forgotten yet."""
    wants = {
        "stuck": ("serve.stuck", "the engine goes on"),
        "memory": ("serve.pressure", "the host has memory left"),
        "boots": ("serve.boots", "it is started with the host"),
    }
    for cause, (id, want) in wants.items():
        change = trouble.cure_as(of("serving", cause).cure, subject.service)
        cure = change if cause == "boots" else subject.serve.then(f"; {change}")
        done = [event for event in subject.serving.events if event.cause == cause]
        found = f"the server was {done[-1]}" if done else "yes"
        way = f"; {change.command} starts it" if done and cause == "boots" else ""  # `status` shows no cure
        yield check(id, not done, want, f"{found}{way}", cure)


def _means(asked: str, record: Record) -> bool:
    """Whether a name in the inventory is that of what is served."""
    names = (record.model, record.checkpoint, record.checkpoint.rpartition("/")[2])
    return asked.strip().rstrip("/").lower() in (name.lower() for name in names)


def _files(subject: _Subject, record: Record) -> Check:
    standing = subject.found.files
    odd = [
        path
        for path, digest in record.files.items()
        if path not in standing or last_deploy.digest(standing[path].content) != digest
    ]
    said = ", ".join(path.rpartition("/")[2] for path in odd)
    want = f"{len(record.files)} files as they were deployed"
    return check("serve.files", not odd, want, f"another {said}" if odd else "they are", subject.serve)


def _unit(subject: _Subject) -> str:
    serving = subject.serving
    words = [serving.unit.get("ActiveState", "absent"), "enabled" if serving.enabled else "not enabled"]
    return ", ".join(words)


def _image(subject: _Subject, record: Record) -> Check:
    serving, want = subject.serving, _short(record.image)
    if not serving.has(record.image):
        return Check("serve.image", want, "absent", "missing", subject.serve)
    if record.form == served.STANDING and (ray := subject.found.read("ray").image) != record.image:
        want = f"that of the standing Ray cluster ({_short(ray) or 'none'})"
        return Check("serve.image", want, _short(record.image), "drift", subject.serve)
    runs = serving.image or record.image
    return check("serve.image", runs == record.image, want, _short(runs), subject.serve)


def _alike(subject: _Subject, record: Record) -> Iterator[Check]:
    """The nodes of one server need the same image, and with Ray the same token."""
    image = last_deploy.running(subject.serving, record)
    peer = subject.other(lambda node: image.same(last_deploy.running(node.serving, node.record)))
    if record.nodes < 2 or peer is None:
        return
    theirs = last_deploy.running(peer.serving, peer.record)
    want = f"the image of {peer.name} ({_short(theirs.id) or 'none'})"
    yield check("serve.alike", image.same(theirs), want, _short(image.id), subject.serve)
    if served.makes_token(record.form, subject.settings.secrets):
        yield _token(subject)


def _token(subject: _Subject) -> Check:
    token = subject.serving.token
    peer = subject.other(lambda node: token == node.serving.token != "")
    assert peer is not None  # one was compared before
    whose, other = peer.name, peer.serving.token
    said = "another" if token and other else "none" if other or not token else f"{whose} has none"
    same = token == other != ""
    want = f"the token of Ray that {whose} has"
    return check("serve.token", same, want, "it has" if same else said, subject.serve)


def _weights(subject: _Subject, record: Record) -> Check:
    serving = subject.serving
    states = {id: serving.weights[id].standing if id in serving.weights else "absent" for id in record.ids}
    if record.gguf:
        states[record.gguf] = "absent" if serving.gguf(record.gguf) is None else "whole"
    standing = ", ".join(dict.fromkeys(state for state in states.values() if state != "whole")) or "whole"
    want = f"{' and '.join(states)} is whole"
    return check("serve.weights", standing == "whole", want, standing, subject.serve)


def _memory(subject: _Subject, record: Record) -> Check:
    """The memory and the context: decided, in the unit's own command by `serve.files`, and those of the peer."""
    mine = record.sizing
    peer = subject.other(lambda node: not node.record or node.record.sizing in (None, mine))
    theirs = peer.record if peer and record.nodes > 1 else None
    want = theirs.sizing if theirs and theirs.sizing else mine
    return check("serve.memory", mine == want, f"{want}", f"{mine}", subject.serve)


def _access(subject: _Subject, record: Record) -> Check:
    """Where it answers and whether it asks for a key: as it was deployed, and as it is."""
    serving, own = subject.serving, subject.found.network
    addresses = [str(address.ip) for link in own.links.values() for address in link.addresses]
    key = listen.asks(subject.settings, record.engine)
    want = listen.said(record.at, key=key)
    seen = listen.said(listen.seen(serving.bound) or record.at, key=record.key)
    lost = record.management and record.management not in addresses
    said = f"{seen}, and {record.management} is no address of this host" if lost else seen
    return check("serve.access", said == want, want, said, subject.serve)


def _revision(subject: _Subject, record: Record) -> Iterator[Check]:
    """The commit of the weights: the one that is declared, else that of the other node, where both are known."""
    weights = subject.serving.weights.get(record.checkpoint)
    if weights is None or not weights.there:
        return
    declared = subject.settings.serve_revision if subject.declared else record.settings.get("serve_revision")
    want, theirs, id = str(declared or ""), None, record.checkpoint
    peer = subject.other(lambda node: served.one_revision((weights, node.serving.weights.get(id, weights))))
    if record.nodes > 1 and peer:
        theirs = peer.serving.weights.get(id)
    if want:
        seen = weights.revision[:12] or "not known"
        yield check("serve.revision", weights.revision == want, want[:12], seen, subject.serve)
    elif peer and theirs and theirs.revision and weights.revision:
        same = served.one_revision((weights, theirs))
        want = f"the commit of {peer.name} ({theirs.revision[:12]})"
        yield check("serve.revision", same, want, weights.revision[:12], subject.serve)


def _short(id: str) -> str:
    return id[:19]
