"""Letting one half of a pair log in to the other, and taking that back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from pyinfra import host, inventory, state
from pyinfra.api import Host, StringCommand, operation

from sparkrig import programs
from sparkrig.cure import over_ssh
from sparkrig.facts.trust import Trust as TrustFact
from sparkrig.files import Found, stale
from sparkrig.host import trust
from sparkrig.io import remote
from sparkrig.io.remote import Failed, Lost
from sparkrig.io.shell import script
from sparkrig.operations import plan
from sparkrig.operations.files import write
from sparkrig.operations.journal import recorded
from sparkrig.operations.refusal import Commands, refusing
from sparkrig.refusal import Refusal
from sparkrig.runs.change import Change, of_files

AS_USER = programs.text("operations/trust_as_user.sh")

MAKE = programs.text("operations/trust_make.sh")

AUTHORIZE = programs.text("operations/trust_authorize.sh")

FORGET = programs.text("operations/trust_forget.sh")

KEYS_BAR = programs.text("operations/trust_keys_bar.sh").removesuffix("\n")

PROVE = programs.text("operations/trust_prove.sh")

REMOVE = programs.text("operations/trust_remove.sh")

Ask = Callable[[], trust.Peer | None]


def as_user(user: str, text: str, *words: str, seconds: int = 60, stdin: str = "") -> StringCommand:
    """One script that runs as a user without root's rights."""
    return script(AS_USER, user, text, "sparkrig", *words, seconds=seconds, _stdin=stdin)


@operation()
@refusing
@recorded
def key(found: trust.Trust) -> Commands:
    """Make the key pair of this host, on this host, where it has none that only its user can read.

    + found: what the facts of this run saw
    """
    if found.key:
        host.noop("this host has a key of its own")
    else:
        plan.report([Change("login", f"~{found.user}/{trust.KEY}", None, "a key pair, made on this host")])
        yield as_user(found.user, MAKE, trust.KEY, trust.MARK)


@operation()
@refusing
@recorded
def peer(found: trust.Trust, files: Mapping[str, Found], ask: Ask) -> Commands:
    """Let the peer log in here, and let this host's ssh user log in there.

    + found, files: what the facts of this run saw
    + ask: the peer as it was seen, None before it was looked at; it is looked at again where it had no key
    """
    other = ask()
    if trust.settled(found, files, other):
        host.noop("this host and its peer know each other")
        return
    plan.report(_acquainted(found, files, other))
    if other is None or (other.found.key is None and not state.is_executing):
        yield "# the keys of both hosts are exchanged once they are made"
        return
    if other.found.key is None:
        other = replace(other, found=_look(inventory.get_host(other.host)))
    line = trust.line(other)
    if found.authorized != (line,):
        yield as_user(found.user, AUTHORIZE, trust.MARK, stdin=f"{line}\n")
    late = stale(trust.files(found.user, other), files)
    if late:
        yield write(*late)


def _acquainted(found: trust.Trust, files: Mapping[str, Found], other: trust.Peer | None) -> Iterable[Change]:
    """What lets the peer in, as far as its keys are known by now."""
    before = f"{len(found.authorized)} of ours" if found.authorized else None
    authorized = Change("login", f"~{found.user}/.ssh/authorized_keys", before, "one line for the peer's key")
    if other is None:
        paths = (trust.KNOWN_HOSTS, trust.CLIENT)
        return [authorized, *(Change("file", path, None, "for the peer") for path in paths if path not in files)]
    late = of_files(trust.files(found.user, other), files)  # which need no key of the peer's user
    known = other.found.key is not None and found.authorized == (trust.line(other),)
    return late if known else [authorized, *late]


def _look(at: Host) -> trust.Trust:
    try:
        return remote.read(at, TrustFact(), seconds=60)
    except (Failed, Lost) as error:
        raise Refusal(str(error), f"{over_ssh(at.name, 'true')}, and run again") from None


@operation()
def prove(found: trust.Trust, due: Callable[[], bool], name_of_peer: str, patience: float) -> Commands:
    """Log in to the peer once, as the ssh user, where either half was changed by this run.

    + found: what the facts of this run saw
    + due: asked at execution
    + name_of_peer: as ssh knows it
    + patience: factor on the deadline
    """
    if not state.is_executing or not due():
        host.noop("the login between the hosts is as it was")
        return
    seconds = int(10 * patience)
    yield as_user(found.user, PROVE, name_of_peer, str(seconds), seconds=3 * seconds)


@operation()
@recorded
def forget(found: trust.Trust) -> Commands:
    """Remove the peer's line, our key pair and the two files.

    + found: what the facts of this run saw
    """
    lines = Change("login", f"~{found.user}/.ssh/authorized_keys", "a line for the peer's key", None)
    paths = (f"~{found.user}/{trust.KEY}", trust.CLIENT, trust.KNOWN_HOSTS)
    plan.report([lines, *(Change("file", path, "there", None) for path in paths)])
    yield as_user(found.user, FORGET, trust.KEY, trust.MARK)
    yield script(REMOVE, trust.CLIENT, trust.KNOWN_HOSTS)
