"""Letting the hosts of a cluster log in to one another, and taking that back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from pyinfra import host, inventory, state
from pyinfra.api import Host, operation

from sparkrig import programs
from sparkrig.cure import over_ssh
from sparkrig.facts.resources import of_resource
from sparkrig.files import Found, stale
from sparkrig.operations import plan
from sparkrig.operations.files import write
from sparkrig.operations.journal import recorded
from sparkrig.operations.refusal import Commands, refusing
from sparkrig.refusal import Refusal
from sparkrig.resources import trust
from sparkrig.runs.change import Change, of_files
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.ssh.shell import as_user, script

MAKE = programs.text("operations/trust_make.sh")

AUTHORIZE = programs.text("operations/trust_authorize.sh")

PROVE = programs.text("operations/trust_prove.sh")

REMOVE = programs.text("operations/trust_remove.sh")

Ask = Callable[[], Sequence[trust.Peer] | None]


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
def peers(found: trust.Trust, files: Mapping[str, Found], names: Sequence[str], ask: Ask) -> Commands:
    """Let the peers log in here, and let this host's ssh user log in there.

    + found, files: what the facts of this run saw
    + names: of the peers
    + ask: the peers as they were seen, None before all were looked at; one that had no key is looked at again
    """
    others = ask()
    if trust.settled(found, files, others):
        host.noop(f"this host and its peer{'s' * (len(names) > 1)} know each other")
        return
    plan.report(_acquainted(found, files, names, others))
    keyless = others is None or any(peer.found.key is None for peer in others)
    if others is None or (keyless and not state.is_executing):
        yield f"# the keys of {'both' if len(names) == 1 else 'all'} hosts are exchanged once they are made"
        return
    others = [
        each if each.found.key else replace(each, found=_look(inventory.get_host(each.host))) for each in others
    ]
    lines = tuple(map(trust.line, others))
    if found.authorized != lines:
        text = "".join(f"{line}\n" for line in lines)
        yield as_user(found.user, AUTHORIZE, trust.MARK, str(len(lines)), stdin=text)
    late = stale(trust.files(found.user, others), files)
    if late:
        yield write(*late)


def _acquainted(
    found: trust.Trust, files: Mapping[str, Found], names: Sequence[str], others: Sequence[trust.Peer] | None
) -> Iterable[Change]:
    """What lets the peers in, as far as their keys are known by now."""
    before = f"{len(found.authorized)} of ours" if found.authorized else None
    after = "one line for the peer's key" if len(names) == 1 else f"{len(names)} lines for the peers' keys"
    authorized = Change("login", f"~{found.user}/.ssh/authorized_keys", before, after)
    if others is None:
        paths, whom = (trust.KNOWN_HOSTS, trust.CLIENT), f"for the peer{'s' * (len(names) > 1)}"
        return [authorized, *(Change("file", path, None, whom) for path in paths if path not in files)]
    late = of_files(trust.files(found.user, others), files)  # which need no key of a peer's user
    keys = all(peer.found.key for peer in others)
    known = keys and found.authorized == tuple(map(trust.line, others))
    return late if known else [authorized, *late]


def _look(at: Host) -> trust.Trust:
    try:
        return remote.read(at, of_resource(trust.TRUST)(), seconds=60)
    except (Failed, Lost) as error:
        raise Refusal(str(error), f"{over_ssh(at.name, 'true')}, and run again") from None


@operation()
def prove(found: trust.Trust, due: Callable[[], bool], names: Sequence[str], patience: float) -> Commands:
    """Log in to each peer once, as the ssh user, where any host of the cluster was changed by this run.

    + found: what the facts of this run saw
    + due: asked at execution
    + names: of the peers, as ssh knows them
    + patience: factor on the deadline
    """
    if not state.is_executing or not due():
        host.noop("the login between the hosts is as it was")
        return
    seconds = int(10 * patience)
    yield as_user(found.user, PROVE, str(seconds), *names, seconds=3 * seconds * len(names))


@operation()
@recorded
def forget(found: trust.Trust) -> Commands:
    """Remove the peers' lines, our key pair and the two files.

    + found: what the facts of this run saw
    """
    count = len(found.authorized)
    there = f"{count} lines for the peers' keys" if count > 1 else "a line for the peer's key"
    lines = Change("login", f"~{found.user}/.ssh/authorized_keys", there, None)
    paths = (f"~{found.user}/{trust.KEY}", trust.CLIENT, trust.KNOWN_HOSTS)
    plan.report([lines, *(Change("file", path, "there", None) for path in paths)])
    yield as_user(found.user, trust.FORGET, trust.KEY, trust.MARK)
    yield script(REMOVE, trust.CLIENT, trust.KNOWN_HOSTS)
