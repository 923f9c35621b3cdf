"""Logging in from each host of a cluster to the others: public keys, and host keys that no network was asked for.

A private key is made where it is used and never leaves. Sources: [@eugr], whose nodes keep theirs, too; sshd(8),
AUTHORIZED_KEYS FILE FORMAT; ssh_config(5).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Any

from sparkrig import programs
from sparkrig.cure import DEPLOYS, FILE, Cure, advice, on_host
from sparkrig.files import Beside, File, Found, Managed, stale
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Subject, check
from sparkrig.resources.kind import Kind
from sparkrig.resources.resource import Resource
from sparkrig.text import bare_name
from sparkrig.value import Value

if TYPE_CHECKING:
    from sparkrig.resources.state import State

MARK = "sparkrig-node-trust"  # the comment of our one line in authorized_keys
KEY = ".ssh/id_ed25519_sparkrig"  # below the home folder of the ssh user
KNOWN_HOSTS = "/etc/sparkrig/known_hosts"
CLIENT = "/etc/ssh/ssh_config.d/60-sparkrig.conf"

FORGET = programs.text("operations/trust_forget.sh")
LOGIN = Beside(
    "the peer's line in authorized_keys, and this host's key pair for the peer",
    "login from the peer",
    FORGET,
    (KEY, MARK),
    programs.text("operations/trust_keys_bar.sh").removesuffix("\n"),
)

_PUBLIC = re.compile(r"(?:ssh|ecdsa)-[a-z0-9-]+ [A-Za-z0-9+/]+=*")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Trust(Value):
    """What a host has of it.

    user: the ssh user, who the commands of a run began as; key: the public half of our key pair, None where the
    pair is not whole or others could read it; traces: whether anything of the pair is there; host_keys: sshd's
    own public keys; authorized: the lines of authorized_keys that are marked as ours.
    """

    user: str
    key: str | None
    traces: bool
    host_keys: tuple[str, ...]
    authorized: tuple[str, ...]


class NodeTrust(Resource[Trust]):
    """The ssh user, our key pair's public half, sshd's public keys, and our lines of authorized_keys."""

    name = "trust"
    files = (Managed(KNOWN_HOSTS), Managed(CLIENT, beside=LOGIN))
    script = programs.text("facts/trust.sh")
    kinds = (
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

    def settings_of(self, found: State) -> Mapping[str, Any]:
        return {"node_ssh": True} if KNOWN_HOSTS in found.files else {}

    def parse(self, lines: Iterable[str]) -> Trust:
        """Read the trust fact. Raises ValueError where a key is none."""
        rows = [line.partition(" ")[::2] for line in lines]
        first = dict(reversed(rows))
        if not _USER.fullmatch(first["user"]):
            raise ValueError(f"{first['user']!r} is no plain name of a user")
        # mode and owner of the private half, then the public half
        private, public = first.get("private", ""), _public(first.get("public", ""))
        return Trust(
            user=first["user"],
            key=public if private == f"600 {first['user']}" else None,
            traces="private" in first or "public" in first,
            host_keys=tuple(filter(None, (_public(rest) for word, rest in rows if word == "host"))),
            authorized=tuple(rest for word, rest in rows if word == "authorized"),
        )

    def due(self, subject: Subject) -> Iterator[str]:
        """The files that a deploy would write."""
        if subject.settings.node_ssh:
            yield from {KNOWN_HOSTS, CLIENT} - subject.found.files.keys()

    def checks(self, subject: Subject) -> Iterator[Check]:
        trust, files = subject.found.trust, subject.found.files
        if not subject.settings.node_ssh:
            if left(trust, files):
                yield Check("trust.login", "no login from the peer", "its keys are there", "extra", subject.apply)
            return
        yield check(
            "trust.key", bool(trust.key), "a key of its own", "it has" if trust.key else "absent", subject.apply
        )
        acquainted = settled(trust, files, peers(subject))
        yield check(
            "trust.login",
            acquainted,
            f"this host and its peer{'s' * (len(subject.fleet.peers(subject.name)) > 1)} know each other",
            "they do" if acquainted else "keys or host keys differ",
            subject.apply,
        )


TRUST = NodeTrust()


def peers(subject: Subject) -> list[Peer] | None:
    """Those of its cluster, where all of them were read."""
    if subject.peers.keys() != {*subject.fleet.peers(subject.name)}:
        return None
    return [
        Peer(name, subject.fleet.addresses(subject.name, name), found.trust)
        for name, found in subject.peers.items()
    ]


def _public(text: str) -> str | None:
    """A public key without its comment, or None for an empty line."""
    if not text:
        return None
    key = " ".join(text.split(" ")[:2])
    if not _PUBLIC.fullmatch(key):
        raise ValueError(f"{key[:40]!r} is no public key")
    return key


@dataclass(frozen=True)
class Peer:
    """Another host of the cluster: its name, its addresses on the rails to it, in order, and what was found there.

    host: its name in the inventory, which may begin with the connector to reach it by (@ssh/spark-b).
    """

    host: str
    addresses: Sequence[IPv4Address]
    found: Trust

    @property
    def name(self) -> str:
        """How ssh between the hosts calls it."""
        return bare_name(self.host)


def line(peer: Peer) -> str:
    """Our one line of authorized_keys: the peer's key, from the peer's fabric alone, without any forwarding.

    Raises Refusal where the peer has no key.
    """
    if peer.found.key is None:
        raise Refusal(f"{peer.name} has no key of its own yet", "run the whole deploy, without --limit")
    return f'restrict,pty,from="{",".join(map(str, peer.addresses))}" {peer.found.key} {MARK}'


def files(user: str, peers: Sequence[Peer]) -> list[File]:
    """Whom this host takes for its peers, and how its ssh user gets there. Raises Refusal without a host key."""
    known, client = [], []
    for peer in peers:
        if not peer.found.host_keys:
            raise Refusal(f"no host key of {peer.name} was found in /etc/ssh", on_host("sudo ssh-keygen -A"))
        names = [peer.name, *map(str, peer.addresses)]
        known += [f"{','.join(names)} {key}" for key in peer.found.host_keys]
        client += _client(user, peer, names)
    head = "# Written by sparkrig: docs/security.md"
    return [File(KNOWN_HOSTS, "\n".join([head, *known, ""])), File(CLIENT, "\n".join([head, *client, ""]))]


def _client(user: str, peer: Peer, names: Iterable[str]) -> list[str]:
    """What ssh_config says of one peer."""
    return [
        f"Match originalhost {','.join(names)} localuser {user}",
        "    IdentitiesOnly yes",
        f"    IdentityFile ~/{KEY}",
        f"    GlobalKnownHostsFile {KNOWN_HOSTS}",
        "    UserKnownHostsFile none",
        "    StrictHostKeyChecking yes",
        # the name alone is led to the fabric; an address stays what was asked for
        f"Match originalhost {peer.name} localuser {user}",
        f"    HostName {peer.addresses[0]}",
        f"    User {peer.found.user}",
    ]


def settled(trust: Trust, standing: Mapping[str, Found], peers: Sequence[Peer] | None) -> bool:
    """Whether nothing is to be done; standing: files by path as they were found.

    peers: None where one was not looked at yet; they then count as being what they were when the files were
    written.
    """
    if peers is None:
        return bool(trust.key and trust.authorized) and {KNOWN_HOSTS, CLIENT} <= set(standing)
    if trust.key is None or any(peer.found.key is None for peer in peers):
        return False
    return trust.authorized == tuple(map(line, peers)) and not stale(files(trust.user, peers), standing)


def left(trust: Trust, standing: Mapping[str, Found]) -> bool:
    """Whether anything of ours is there, to be removed where it is no longer wanted."""
    return bool(trust.authorized) or trust.traces or bool({KNOWN_HOSTS, CLIENT} & set(standing))


def wanted(hosts: int) -> Cure:
    """What lets hosts of a group log in to each other. hosts: how many it has."""
    whom = "both hosts" if hosts == 2 else "all of its hosts"
    return advice(f"set node_ssh to True on {whom}, and: pyinfra {FILE} {DEPLOYS}/cluster.py")
