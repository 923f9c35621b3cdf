"""apt on a host: who holds its locks, and how a person gets a command past the holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sparkrig.cure import on_host, quoted
from sparkrig.refusal import Refusal
from sparkrig.text import listed
from sparkrig.value import Value

# Every lock that apt and dpkg take, with what a person calls it. The frontend lock is the one that is held
# throughout an upgrade; the lists' is the only one that apt-get waits for in no case (apt's acquire.cc).
LOCKS = {
    "/var/lib/dpkg/lock-frontend": "dpkg lock",
    "/var/lib/dpkg/lock": "dpkg lock",
    "/var/lib/apt/lists/lock": "lock of the package lists",
    "/var/cache/apt/archives/lock": "download lock",
}


@dataclass(frozen=True)
class Holder(Value):
    """A process that holds a lock of apt's: the lock's path, its number, and the name of its program."""

    lock: str
    pid: int
    name: str

    def __str__(self) -> str:
        return f"{self.name} (process {self.pid}) holds the {LOCKS.get(self.lock, self.lock)}"


def parse(lines: Iterable[str]) -> tuple[Holder, ...]:
    """Read `lock PATH PID NAME` rows, and no others; each process once. Raises ValueError for a bad row."""
    held: dict[int, Holder] = {}
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "lock":
            path, pid, name = rest.split(" ", 2)
            held.setdefault(int(pid), Holder(path, int(pid), name))
    return tuple(held.values())


def waiting(held: Sequence[Holder], left: float) -> str:
    """One line while another program holds apt's locks; `left`: seconds that the wait still lasts."""
    return f"apt is busy: {listed(map(str, held))}; waiting, {left:.0f} s left"


def busy(held: Sequence[Holder], seconds: float) -> Refusal:
    """The message after the wait. No process is ever killed, and no lock is ever deleted."""
    return _at_work(f"apt is still busy after {seconds:.0f} s", held)


def at_work(held: Sequence[Holder]) -> list[Refusal]:
    """Why nothing can be installed now, where nothing waits for it."""
    return [_at_work("apt is busy", held)] if held else []


def _at_work(what: str, held: Sequence[Holder]) -> Refusal:
    pids = ",".join(str(holder.pid) for holder in held)
    by = "; NVIDIA's dashboard installs by aptd" if any(holder.name == "aptd" for holder in held) else ""
    cure = on_host(f"ps -fp {pids}", f", and run again once it has ended{by}")
    return Refusal(f"{what}: {listed(map(str, held))}", cure)


def past_the_hold(command: str, *new: str) -> str:
    """A command line that changes held packages: they are released for it, and held again whatever comes of it.

    new: packages that are held too from then on, where any were. It ends as `command` did, and is for bash, on a
    host without holds, too.
    """
    again = f"$held ${{held:+{quoted(*new)}}}" if new else "$held"
    return (
        'held=$(apt-mark showhold); [ -z "$held" ] || sudo apt-mark unhold $held; '
        f'{command}; rc=$?; [ -z "$held" ] || sudo apt-mark hold {again}; (exit $rc)'
    )


def install_past_the_hold(*packages: str, options: str = "") -> str:
    """The command line that installs packages which need others past their hold, and holds them with those.

    packages: names, each with `=VERSION` or without; options: of apt-get install.
    """
    names = [package.partition("=")[0] for package in packages]
    return _install(" ".join(filter(None, (options, quoted(*packages)))), *names)


def reinstall_past_the_hold(package: str) -> str:
    """The command line that brings the files of an installed package back, in its version."""
    return install_as_installed(package, options="--reinstall ")


def install_as_installed(package: str, like: str = "", options: str = "") -> str:
    """The command line that installs a package in the version in which it, or another one, is installed.

    The parts of a driver ask for one another in one version, so that a newer one alone, which apt takes by the
    name alone, cannot be installed.
    """
    version = f"$(dpkg-query -Wf '${{Version}}' {quoted(like or package)})"
    return _install(f"{options}{quoted(package)}={version}", package)


def _install(words: str, *names: str) -> str:
    return past_the_hold(f"sudo apt-get update; sudo apt-get install {words}", *names)
