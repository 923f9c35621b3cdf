"""Letting one half of a pair log in to the other, and taking that back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from pyinfra import host, inventory, state
from pyinfra.api import Host, StringCommand, operation

from sparkrig.cure import over_ssh
from sparkrig.facts.preflight import BARS
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
from sparkrig.runs import journal
from sparkrig.runs.change import Change, of_files

# $1 a user, $2 a script that runs as that user, $3 and later its words. Root never writes below a home folder
# itself: a link there would lead it elsewhere.
AS_USER = r"""
set -e
user=$1; shift
exec runuser -u "$user" -- sh -c "$@"
"""

_HOME = 'set -e; umask 077; cd "$(getent passwd "$(id -un)" | cut -d: -f6)"\n'

# $1 the key file, $2 its comment
MAKE = (
    _HOME
    + r"""
mkdir -p .ssh
rm -f "$1" "$1.pub"
ssh-keygen -q -t ed25519 -N '' -C "$2" -f "$1" </dev/null
sync "$1" "$1.pub" .ssh
"""
)

# $1 the mark at the end of our lines; on stdin one line to add. What others wrote stays, byte for byte
AUTHORIZE = (
    _HOME
    + r"""
read -r line
mkdir -p .ssh
file=$(readlink -f .ssh/authorized_keys)
if [ -e "$file" ] && [ ! -f "$file" ]; then echo "$file is a $(stat -Lc %F "$file"), not a file" >&2; exit 1; fi
new=$(mktemp "$file.XXXXXX"); trap 'rm -f "$new"' EXIT
if [ -e "$file" ]; then
  sed "/ $1\r*\$/d" "$file" | sed "\$a\\" >"$new" # the last line may lack its end
  chmod --reference="$file" "$new"
fi
printf '%s\n' "$line" >>"$new"
sync "$new"; mv -fT "$new" "$file"; sync "${file%/*}"
"""
)

# $1 the key file, $2 the mark at the end of our lines
FORGET = (
    _HOME
    + r"""
rm -f "$1" "$1.pub"
file=$(readlink -f .ssh/authorized_keys) || exit 0
if [ -f "$file" ] && tr -d '\r' <"$file" | grep -q " $2\$"; then
  new=$(mktemp "$file.XXXXXX"); trap 'rm -f "$new"' EXIT
  sed "/ $2\r*\$/d" "$file" >"$new"
  chmod --reference="$file" "$new"
  sync "$new"; mv -fT "$new" "$file"; sync "${file%/*}"
fi
"""
)

# What bars FORGET (sparkrig.host.targets); nothing where there is nothing to forget
KEYS_BAR = (
    _HOME
    + r"""
file=$(readlink -f .ssh/authorized_keys) || exit 0
[ -e "$file" ] || exit 0
set -- "$file"
"""
    + BARS
)

# $1 the peer, $2 seconds
PROVE = r"""
if ! said=$(ssh -o BatchMode=yes -o ConnectTimeout="$2" "$1" true 2>&1 </dev/null); then
  echo "no login to $1 over the fabric (${said:-without a word}); try: ssh -v $1 true" >&2; exit 1
fi
"""

# the paths
REMOVE = (
    journal.INTENDS
    + r"""
set -e
for f; do intends "$f"; rm -f "$f"; sync "${f%/*}"; done
"""
)

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
    if other is None or other.found.key is None:
        paths = (trust.KNOWN_HOSTS, trust.CLIENT)
        return [authorized, *(Change("file", path, None, "for the peer") for path in paths if path not in files)]
    late = of_files(trust.files(found.user, other), files)
    return [authorized, *late] if found.authorized != (trust.line(other),) else late


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
