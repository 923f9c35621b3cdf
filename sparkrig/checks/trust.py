"""The login between the hosts of a cluster, where node_ssh asks for it."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.host import trust
from sparkrig.resources.check import Check, Subject, check
from sparkrig.resources.kind import Kind

KINDS = (
    Kind(
        "trust.key",
        "cluster",
        "the host has a key of its own for its peers",
        "the key was removed by hand",
        "docs/security.md#from-one-spark-to-the-other",
    ),
    Kind(
        "trust.login",
        "cluster",
        "the hosts of the cluster let each other in, where that is declared",
        "a host was installed anew, or authorized_keys was edited",
        "docs/security.md#from-one-spark-to-the-other",
    ),
)


def due(subject: Subject) -> Iterator[str]:
    """The files that a deploy would write."""
    if subject.settings.node_ssh:
        yield from {trust.KNOWN_HOSTS, trust.CLIENT} - subject.found.files.keys()


def checks(subject: Subject) -> Iterator[Check]:
    found, files = subject.found.trust, subject.found.files
    if not subject.settings.node_ssh:
        if trust.left(found, files):
            yield Check("trust.login", "no login from the peer", "its keys are there", "extra", subject.apply)
        return
    yield check(
        "trust.key", bool(found.key), "a key of its own", "it has" if found.key else "absent", subject.apply
    )
    settled = trust.settled(found, files, _peers(subject))
    yield check(
        "trust.login",
        settled,
        f"this host and its peer{'s' * (len(subject.fleet.peers(subject.name)) > 1)} know each other",
        "they do" if settled else "keys or host keys differ",
        subject.apply,
    )


def _peers(subject: Subject) -> list[trust.Peer] | None:
    """Those of its cluster, where all of them were read."""
    if subject.peers.keys() != {*subject.fleet.peers(subject.name)}:
        return None
    return [
        trust.Peer(name, subject.fleet.addresses(subject.name, name), found.trust)
        for name, found in subject.peers.items()
    ]
