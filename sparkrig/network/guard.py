"""A guarded change of a host: what is ordered, and what the host reports.

templates/guard.py carries an order out on the host; operations/guard.py leads one or two hosts through it.
An order is about the network, or about files that a service reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from ipaddress import IPv4Interface, IPv6Address
from typing import Any

from sparkrig import programs
from sparkrig.files import MEASURED
from sparkrig.network.plan import Plan
from sparkrig.network.profiles import uuid
from sparkrig.parsing import bounds
from sparkrig.text import eight_groups

GRACE_S = 5  # between NetworkManager's deadline and the dead-man's, as in templates/guard.py
ASK_S = 10  # one question to a tool of the host, as in templates/guard.py
RELOAD_S = 40  # having files read again, as in templates/guard.py
BACK_S = 765  # all of a way back, each step at its slowest: the sum in templates/guard.py
LIVE_S = 20  # one activation, and the links' coming up
ARM_S = 120  # the snapshot and the ways back: ten questions, and the files
SAVE_S = 100  # of a commit, but for its profiles: checkpoint, a look or two at the links, and the files
RETURN_S = 60  # that a host is given, after its dead-man woke up, to be reachable again
NOT_RESTORED = "not as before: "  # and what, in the detail of a rollback; as in templates/guard.py
STAYS = " stays as another one left it"  # after a path, in the detail of what puts a snapshot back; as there
MARGIN_S = 10  # that must be left of the window for a commit to begin


@dataclass(frozen=True)
class Guarded:
    """A file of an order, which root owns.

    text: what it becomes; kept: in its place a copy on the host that it becomes, with its mode and owner; neither
    where it goes; mode: four octal digits, of a text.
    """

    path: str
    text: str | None = None
    mode: str = "0644"
    kept: str | None = None


@dataclass(frozen=True)
class Order:
    """What one host is to do within its window.

    step: what it is called in the journal; window: seconds until NetworkManager rolls back; seconds: of one
    activation and of waiting for the links; patience: factor on every other limit of the host; profiles: to add,
    modify or activate, in memory first; remove: UUIDs, and move: netplan files, that go at the commit; links: what
    must be live at the end; restore: a snapshot to be put back instead, as a path on the host; mine:
    of the files that go back with it, the SHA-256 that each has while it is ours, None where an older version kept
    none, so that all of them count as ours; discard: files that
    the commit takes away, for what was measured on another link proves nothing about this one.

    Of an order of files: part: the name of its resource; files: those; test, live, verify: shell text that reads
    them before anything follows them, has the running service follow them, and proves that it does; units: those
    that start only once what a power cut left has gone back.
    """

    step: str
    window: int
    seconds: int
    patience: float = 1.0
    profiles: Sequence[Mapping[str, Any]] = ()
    remove: Sequence[str] = ()
    move: Sequence[str] = ()
    links: Sequence[Mapping[str, Any]] = ()
    restore: str | None = None
    mine: Mapping[str, str] | None = None
    discard: Sequence[str] = (MEASURED,)
    part: str = ""
    files: Sequence[Guarded] = ()
    test: str = ":"
    live: str = ":"
    verify: str = ":"
    units: Sequence[str] = ()

    @property
    def folder(self) -> str:
        """Of the guard, below that of the run."""
        return f"guard-{self.part}" if self.part else "guard"

    def dump(self) -> str:
        return json.dumps(asdict(self))

    def limit(self, verb: str) -> int:
        """Seconds for a host to answer `verb`, with the way back that it may end in.

        Each verb may also have to wait for another that goes back already; then it has nothing more to do itself.
        """
        saving = SAVE_S + RELOAD_S + ASK_S * (2 * len(self.profiles) + len(self.remove)) + self.seconds
        back = 2 * ASK_S + BACK_S  # what still applies is ended first, and the answer is printed
        seconds = {
            "start": ARM_S + self.window + GRACE_S + back,
            "wait": self.window + GRACE_S + back,
            "commit": saving + back,
            "revert": saving + back,
        }
        return int(seconds[verb] * self.patience)


def order(plan: Plan, step: str, window: int, patience: float) -> Order:
    """The order that carries out a plan."""
    return Order(
        step=step,
        window=window,
        seconds=int(LIVE_S * patience),
        patience=patience,
        profiles=tuple(
            {"uuid": uuid(change.netdev), "verb": change.verb, "properties": dict(change.properties)}
            for change in plan.changes
        ),
        remove=tuple(uuid for uuid, _name in plan.remove),
        move=plan.move,
        links=tuple(_link(change.netdev, change.address, change.mtu) for change in plan.changes),
    )


def _link(netdev: str, address: IPv4Interface, mtu: int) -> dict[str, Any]:
    mapped = eight_groups(IPv6Address(f"::ffff:{address.ip}"))
    return {"netdev": netdev, "mtu": mtu, "address": str(address), "gid": mapped}


@dataclass(frozen=True)
class Told:
    """What a host reports of its guard.

    state: none, armed, applied, committed or rolled-back; detail: why; left: seconds until it would roll back.
    """

    state: str
    detail: str = ""
    left: float = 0.0

    @property
    def restored(self) -> bool:
        """Whether all is as it was before."""
        return self.state == "rolled-back" and NOT_RESTORED not in self.detail


def parse(text: str) -> Told:
    """Read an answer of templates/guard.py, a JSON object on its last line. Raises ValueError for what is none."""
    lines = text.strip().splitlines()
    try:
        found = bounds.loads(lines[-1] if lines else "")
        return Told(str(found["state"]), str(found["detail"]), bounds.finite(str(found["left"])))
    except (ValueError, LookupError, TypeError):
        raise ValueError(f"the guard's answer cannot be understood: {text.strip()[-200:]!r}") from None


@dataclass(frozen=True)
class Probe:
    """One rail as one host reaches it: the largest packet that may not be split has to come back."""

    rail: int
    netdev: str
    peer: str
    mtu: int

    @property
    def words(self) -> tuple[str, ...]:
        return str(self.rail), self.netdev, self.peer, str(self.mtu - 28)  # IPv4 and ICMP headers


LINK = programs.text("network/guard_link.sh")


def link_words(seconds: int, pings: Iterable[Probe]) -> list[str]:
    """The words of LINK."""
    return [str(seconds), *(word for ping in pings for word in ping.words)]


def silent(text: str) -> list[str]:
    """The rails without an answer, in words, of what LINK printed."""
    found = []
    for line in text.splitlines():
        if line.startswith("silent "):
            _, rail, netdev, peer, payload, *rest = line.split(" ", 5)
            why = "".join(rest)
            because = f" ({why})" if why else ""
            found.append(
                f"no answer on rail {rail} from {peer} over {netdev} to {int(payload) + 28} bytes{because}"
            )
    return found
