"""What the cabling of a group of Sparks is, beside what is wanted.

cabling_judge.py judges what cables join, switch_judge.py the ports of a switch.

A cable joins two cages, not two netdevs: both twins of a cage share its port
[@epappas, @nvidia-two-sparks].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from sparkrig.value import Value
from sparkrig.verdict import Finding

CAGE_SPEED_MBPS = 200_000  # one 200 Gb/s cage for both twins [@epappas]

State = Literal["link", "no carrier", "down", "missing", "unread"]
Evidence = Literal["heard both ways", "heard one way", "same cable serial", "carrier only", "none"]

_BEST_FIRST: tuple[State, ...] = ("link", "no carrier", "down", "unread", "missing")


class End(NamedTuple):
    """A cage of a host: where a cable's plug can sit."""

    host: str
    cage: str

    def __str__(self) -> str:
        return f"{self.cage} of {self.host}"


@dataclass(frozen=True)
class Twin:
    """One netdev of a cage; rail and address are the declared ones, device and GID index the real ones."""

    netdev: str
    state: State
    rail: int | None = None
    address: str = ""
    device: str = ""
    gid_index: int | None = None
    speed_mbps: int | None = None


@dataclass(frozen=True)
class Cage:
    """A QSFP port with its twins in the order of their PCI domains.

    stranger: who else is heard there, in words; empty where only the peer is.
    """

    name: str
    twins: tuple[Twin, ...] = ()
    stranger: str = ""

    @property
    def state(self) -> State:
        """The best state of a twin, for the plug is one; missing where there is no netdev."""
        return min((twin.state for twin in self.twins), key=_BEST_FIRST.index, default="missing")

    @property
    def speed_mbps(self) -> int | None:
        """The lowest speed of a twin that has a link; None where none is known."""
        known = [twin.speed_mbps for twin in self.twins if twin.state == "link" and twin.speed_mbps]
        return min(known, default=None)

    @property
    def rails(self) -> tuple[int, ...]:
        return tuple(sorted(twin.rail for twin in self.twins if twin.rail is not None))


@dataclass(frozen=True)
class Host:
    """One Spark and its cages.

    read: False where it could not be looked at; silence: why the neighbour probe did not run, else empty.
    """

    name: str
    cages: tuple[Cage, ...]
    read: bool = True
    silence: str = ""

    def cage(self, name: str) -> Cage:
        return next((cage for cage in self.cages if cage.name == name), Cage(name))


class Way(NamedTuple):
    """A frame of one netdev came in on another."""

    sender: End
    listener: End
    sender_netdev: str
    listener_netdev: str


@dataclass(frozen=True)
class Cable:
    """A cable that is there, or one that is wanted and is not (evidence "none").

    rails: the numbers of the rails that are wanted over it, none where it is not declared;
    notes: what else speaks for or against it.
    """

    one: End
    other: End
    evidence: Evidence
    rails: tuple[int, ...] = ()
    heard: tuple[Way, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def wanted(self) -> bool:
        return bool(self.rails)

    @property
    def real(self) -> bool:
        return self.evidence != "none"

    @property
    def ends(self) -> tuple[End, End]:
        return (self.one, self.other)

    @property
    def loops(self) -> bool:
        return self.one.host == self.other.host


@dataclass(frozen=True)
class Topology(Value):
    """The cabling of one cluster, or of one Spark on its own: real and wanted, and the findings.

    form: what is wanted to join them; on a switch a cable is one way through it, between two ports.
    """

    hosts: tuple[Host, ...]
    cables: tuple[Cable, ...]
    findings: tuple[Finding, ...] = ()
    form: Literal["cable", "ring", "switch"] = "cable"

    def at(self, end: End) -> Cage:
        return next(host for host in self.hosts if host.name == end.host).cage(end.cage)

    def read(self, *ends: End) -> bool:
        """Whether the hosts of all these ends could be looked at."""
        names = {end.host for end in ends}
        return all(host.read for host in self.hosts if host.name in names)

    def reached(self, end: End) -> list[End]:
        """The cages that frames from this one reach, or come from; a cable alone joins no more than one."""
        pairs = [cable.ends for cable in self.cables if cable.heard and end in cable.ends]
        return sorted(other if one == end else one for one, other in pairs)

    @property
    def alive(self) -> set[tuple[str, str]]:
        """Host and netdev that hear another, or are heard."""
        heard = [each for cable in self.cables for each in cable.heard]
        return {
            (end.host, netdev)
            for each in heard
            for end, netdev in ((each.sender, each.sender_netdev), (each.listener, each.listener_netdev))
        }

    def taken(self, end: End) -> bool:
        """Whether a cable that is there ends here."""
        return any(cable.real and end in cable.ends for cable in self.cables)

    def explained(self, cable: Cable) -> bool:
        """Whether something else is already why a wanted cable is not there.

        That is another cable or a stranger at one of its ends, or a cable in cages that need none.
        """
        if cable.real:
            return False
        spare = any(
            each.real
            and not each.wanted
            and not self.switched(each)
            and not any(self.at(end).rails for end in each.ends)
            for each in self.cables
        )
        return spare or any(self.taken(end) or self.at(end).stranger for end in cable.ends)

    def switched(self, cable: Cable) -> bool:
        """Whether one of its ends reaches more than one cage."""
        return any(len(self.reached(end)) > 1 for end in cable.ends)
