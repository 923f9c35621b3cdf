"""The model that a host serves: by what was deployed there last, and by what is declared."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.checks.check import Check, Subject, check, there
from sparkrig.checks.kind import Kind
from sparkrig.serving import listen, served, trouble
from sparkrig.serving.served import Record

KINDS = (
    Kind(
        "serve.model",
        "containers",
        "the model that is declared is the one that is served",
        "nobody ran deploys/serve.py since the inventory changed, or the server was undone",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "serve.files",
        "containers",
        "the files of the server are as they were deployed",
        "somebody edited a unit, or took one away",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "serve.unit",
        "containers",
        "the server is up, and will be after a reboot",
        "it was stopped by hand or by its watch, or ended five times in six hours: journalctl -u sparkrig-serve",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "serve.image",
        "containers",
        "the image that was deployed is there and runs",
        "docker image rm or prune took it, or the container was started by hand",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "serve.alike",
        "containers",
        "both nodes of a server run the same image",
        "one half was pulled anew by hand",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "serve.token",
        "containers",
        "both nodes of a server with Ray have the same token, for root alone",
        "somebody removed it, or opened it to others",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "serve.memory",
        "containers",
        "the server has the memory and context that were decided, on both nodes",
        "an older version deployed it, which left the memory to vLLM's own default",
        "docs/serving.md#memory-and-context",
    ),
    Kind(
        "serve.weights",
        "containers",
        "every file of the weights is there in its size",
        "a file was removed, or the disk lost it",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "serve.revision",
        "containers",
        "the weights are of the commit that is declared, else of its peer's",
        "one half was downloaded anew by hand, after its publisher had changed it",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "serve.answer",
        "containers",
        "the server answers, and its port leads to it",
        "it is still loading, or one of its nodes is lost: journalctl -u sparkrig-serve",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "serve.stuck",
        "containers",
        "the watch found no engine that stood still",
        "a deadlock in vLLM, NCCL or a kernel: requests ran, no token came, and the GPU idled",
        "docs/serving.md#it-stays-up",
    ),
    Kind(
        "serve.pressure",
        "containers",
        "the watch found enough memory left for the host",
        "a longer context, or another program, took what the budget had left",
        "docs/serving.md#it-stays-up",
    ),
    Kind(
        "serve.access",
        "containers",
        "the API answers where it should, and asks for a declared key",
        "an older version opened it to everybody, the host has another address, or a key was added or taken away",
        "docs/serving.md#who-reaches-it",
    ),
    Kind(
        "serve.trial",
        "containers",
        "no configuration was left on trial",
        "the deploy broke off before the new server had answered",
        "docs/serving.md#drift-and-undo",
    ),
)


def checks(subject: Subject) -> Iterator[Check]:
    record, asked = served.load(subject.found.files.get(served.RECORD)), subject.settings.model
    found, cure = subject.found.serving, subject.serve
    if record is None and not asked:
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
    yield check("serve.unit", found.runs, "active, enabled", _unit(subject), cure)
    yield from _events(subject)
    yield _image(subject, record)
    yield from _alike(subject, record)
    yield _memory(subject, record)
    ids = [record.checkpoint, *([record.draft] if record.draft else [])]
    states = {id: found.weights[id].standing if id in found.weights else "absent" for id in ids}
    standing = ", ".join(dict.fromkeys(state for state in states.values() if state != "whole")) or "whole"
    yield check("serve.weights", standing == "whole", f"{' and '.join(ids)} is whole", standing, cure)
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


def _events(subject: Subject) -> Iterator[Check]:
    """What the watch did, and is not forgotten yet."""
    advice: dict[str, tuple[str, str, str]] = {
        "stuck": ("serve.stuck", "the engine goes on", trouble.STUCK),
        "memory": ("serve.pressure", "the host has memory left", trouble.SHORT),
    }
    for cause, (id, want, change) in advice.items():
        done = [event for event in subject.found.serving.events if event.cause == cause]
        found = f"the server was {done[-1]}" if done else "yes"
        yield check(id, not done, want, found, subject.serve.then(f"; {change}"))


def _means(asked: str, record: Record) -> bool:
    """Whether a name in the inventory is that of what is served."""
    names = (record.model, record.checkpoint, record.checkpoint.rpartition("/")[2])
    return asked.strip().rstrip("/").lower() in (name.lower() for name in names)


def _files(subject: Subject, record: Record) -> Check:
    standing = subject.found.files
    odd = [
        path
        for path, digest in record.files.items()
        if path not in standing or served.digest(standing[path].content) != digest
    ]
    said = ", ".join(path.rpartition("/")[2] for path in odd)
    want = f"{len(record.files)} files as they were deployed"
    return check("serve.files", not odd, want, f"another {said}" if odd else "they are", subject.serve)


def _unit(subject: Subject) -> str:
    found = subject.found.serving
    words = [found.unit.get("ActiveState", "absent"), "enabled" if found.enabled else "not enabled"]
    return ", ".join(words)


def _image(subject: Subject, record: Record) -> Check:
    found, want = subject.found.serving, _short(record.image)
    if not found.has(record.image):
        return Check("serve.image", want, "absent", "missing", subject.serve)
    runs = found.image or record.image
    return check("serve.image", runs == record.image, want, _short(runs), subject.serve)


def _alike(subject: Subject, record: Record) -> Iterator[Check]:
    """Two nodes of one server need the same image, and with Ray the same token."""
    peer = next(iter(subject.peers.values()), None)
    if record.nodes < 2 or peer is None:
        return
    theirs = served.running(peer.serving, served.load(peer.files.get(served.RECORD)))
    mine = served.running(subject.found.serving, record)
    want = f"the image of its peer ({_short(theirs.id) or 'none'})"
    yield check("serve.alike", mine.same(theirs), want, _short(mine.id), subject.serve)
    if served.makes_token(record.form, subject.settings.secrets):
        token, other = subject.found.serving.token, peer.serving.token
        said = "another" if token and other else "none" if other or not token else "its peer has none"
        same = token == other != ""
        yield check(
            "serve.token", same, "the token of Ray that its peer has", "it has" if same else said, subject.serve
        )


def _memory(subject: Subject, record: Record) -> Check:
    """The memory and the context: decided, in the unit's own command by `serve.files`, and those of the peer."""
    peer = next(iter(subject.peers.values()), None) if record.nodes > 1 else None
    theirs = served.load(peer.files.get(served.RECORD)) if peer else None
    mine = record.sizing
    want = theirs.sizing if theirs and theirs.sizing else mine
    said = f"{want}" if want else "a share of the memory that was decided for it"
    return check("serve.memory", mine is not None and mine == want, said, f"{mine or 'none'}", subject.serve)


def _access(subject: Subject, record: Record) -> Check:
    """Where it answers and whether it asks for a key: as it was deployed, and as it is."""
    found, own = subject.found.serving, subject.found.network
    addresses = [str(address.ip) for link in own.links.values() for address in link.addresses]
    key = listen.KEY in subject.settings.secrets
    want = listen.said(record.at, key=key) if record.at else "a place that was decided for it"
    seen = listen.said(listen.seen(found.bound) or listen.before(record), key=record.key)
    lost = record.management and record.management not in addresses
    said = f"{seen}, and {record.management} is no address of this host" if lost else seen
    return check("serve.access", said == want, want, said, subject.serve)


def _revision(subject: Subject, record: Record) -> Iterator[Check]:
    """The commit of the weights: the one that is declared, else that of the other node, where both are known."""
    mine = subject.found.serving.weights.get(record.checkpoint)
    if mine is None or not mine.there:
        return
    want, theirs = subject.settings.serve_revision, None
    if record.nodes > 1 and subject.peers:
        theirs = next(iter(subject.peers.values())).serving.weights.get(record.checkpoint)
    if want:
        seen = mine.revision[:12] or "not known"
        yield check("serve.revision", mine.revision == want, want[:12], seen, subject.serve)
    elif theirs and theirs.revision and mine.revision:
        same = served.one_revision((mine, theirs))
        want = f"the commit of its peer ({theirs.revision[:12]})"
        yield check("serve.revision", same, want, mine.revision[:12], subject.serve)


def _short(id: str) -> str:
    return id[:19]
