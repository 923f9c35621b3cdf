"""What every use of apt here has in common."""

from __future__ import annotations

from math import ceil
from time import monotonic

from pyinfra import logger
from pyinfra.api import Host, StringCommand

from sparkrig import programs
from sparkrig.cure import over_ssh, quoted
from sparkrig.host import apt
from sparkrig.operations import unit
from sparkrig.operations.of_run import of_run
from sparkrig.refusal import Refusal
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost

WAIT_S = 300  # for other users of apt, times patience
APT_LOCK = f"DPkg::Lock::Timeout={WAIT_S}"  # who comes in between is waited for by apt itself
_SHOWN_S = 10  # between two lines about a wait

WAIT = programs.text("operations/apt_wait.sh")


def wait(at: Host, patience: float) -> bool:
    """Wait for other programs that use apt on a host, and print it; True where there was one to wait for.

    What was read of packages before is then out of date. One exec where no program holds a lock. patience: factor
    on the deadline. Raises Refusal at its end, and where the host does not answer. No process is killed; no lock
    is deleted.
    """
    seconds = WAIT_S * patience
    end = monotonic() + seconds
    held = _holders(at, 0)
    waited = bool(held)
    while held:
        left = end - monotonic()
        if left <= 0:
            raise apt.busy(held, seconds)
        at.log_styled(apt.waiting(held, left), fg="yellow", log_func=logger.warning)
        held = _holders(at, min(_SHOWN_S, ceil(left)))
    return waited


def _holders(at: Host, seconds: int) -> tuple[apt.Holder, ...]:
    try:
        told = remote.shell(at, WAIT, str(seconds), seconds=seconds + 60)
        return remote.parsed("holders", lambda: apt.parse(told.splitlines()))
    except (Failed, Lost) as error:
        raise Refusal(f"who uses apt cannot be read ({error})", over_ssh(at.name, "true")) from None


class _Fetched(set[str]):
    """Names of hosts whose package lists a run has fetched, all of them."""


def update(only: str = "") -> StringCommand:
    """Fetch the package lists. only: those of this file of sources; the others stay as they are."""
    alone = (f"Dir::Etc::sourcelist={only}", "Dir::Etc::sourceparts=-", "APT::Get::List-Cleanup=0") if only else ()
    options = [word for option in (APT_LOCK, *alone) for word in ("-o", option)]
    return unit.run("apt", "apt-get", "-q", *options, "update", seconds=600, cure="sudo apt-get update")


def fetched(at: Host) -> bool:
    """Whether this run has fetched all package lists of a host."""
    return at.name in of_run(_Fetched)


def note_fetched(at: Host) -> None:
    """That it has, and well."""
    of_run(_Fetched).add(at.name)


def install(*packages: str) -> StringCommand:
    """Install packages, `NAME` or `NAME=VERSION`, without what they only recommend."""
    head = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y", "-o", APT_LOCK)
    words = ("--no-install-recommends", "install", *packages)
    return unit.run("apt", *head, *words, seconds=1200, cure=f"sudo apt-get install {quoted(*packages)}")


def newest(at: Host, *packages: str) -> list[StringCommand]:
    """Install the newest of packages, by lists that this run has fetched or fetches first."""
    return [*([] if fetched(at) else [update()]), install(*packages)]


KEEP = programs.text("operations/apt_keep.sh")
KEEP_S = 300  # of one simulation, times patience
# The same before the rest of a script: nothing of it ends the script, takes its standard input or prints there.
KEEP_FIRST = f"(\n{KEEP}\n) </dev/null >/dev/null 2>&1 || :\n"


def keep_simulation(at: Host, patience: float) -> None:
    """Leave on a host what apt simulates now, so that a look asks apt only once something has changed.

    It changes nothing that is declared, so it begins no run, and is in no journal; a host on which no run ever
    changed anything keeps nothing. Where it fails, looks take a second longer. A run that has begun does so in the
    exec that ends it (KEEP_FIRST).
    """
    try:
        remote.shell(at, KEEP, seconds=int(KEEP_S * patience))
    except (Failed, Lost) as error:
        at.log_styled(f"apt's simulation is not kept: {error}", fg="yellow", log_func=logger.warning)
