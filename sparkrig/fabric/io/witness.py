"""Asks other members of a cluster whether the machine that runs sparkrig can be reached."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pyinfra.api import Host
from pyinfra.connectors.local import LocalConnector

from sparkrig import clusters
from sparkrig.facts.resources import of_resource
from sparkrig.network import witness
from sparkrig.network.witness import Place
from sparkrig.refusal import Refusal
from sparkrig.resources.network import NETWORK
from sparkrig.resources.trust import TRUST
from sparkrig.ssh import controller, remote

_READ_S = 60  # times patience


def is_here(at: Host, boot_id: str) -> bool:
    """Whether a host is this machine, also where it is reached over ssh. boot_id: what it printed of its boot."""
    return isinstance(at.connector, LocalConnector) or (bool(boot_id) and boot_id == controller.boot_id())


@dataclass(frozen=True)
class Proof:
    """What has to hold outside of this machine while its network changes; without a place, nothing.

    witnesses: the members that are asked, each over a connection of its own, until one sees the place; consented:
    the host whose change is not proven, by consent.
    """

    place: Place | None = None
    witnesses: Mapping[str, Host] = field(default_factory=dict)
    patience: float = 1.0
    consented: str = ""

    def why_not(self) -> list[str]:
        """Why each witness does not see it; nothing as soon as one does."""
        reasons = [self._unseen(name, at) for name, at in self.witnesses.items()] if self.place else []
        return reasons if all(reasons) else []

    def _unseen(self, name: str, at: Host) -> str:
        assert self.place
        try:
            told = remote.shell(at, witness.SEEN, *self.place.words, seconds=int(witness.ASK_S * self.patience))
        except (remote.Failed, remote.Lost) as error:
            return f"{name} cannot be asked ({error})"
        own = at.data.dict()
        fabric = () if own.get("allow_management_interface") else clusters.netdevs(own)
        return witness.unseen(self.place, name, told.splitlines(), fabric)


def proof(
    hosts: Mapping[str, Host], own: Collection[str], changing: Collection[str], *, allowed: bool, patience: float
) -> Proof:
    """How a change of some hosts is proven, once it was seen that it can be. Raises Refusal.

    hosts: all members; own: those that are this machine; changing: those whose network changes; allowed: the
    setting `allow_unwitnessed`.
    """
    here = next((name for name in own if name in changing), None)
    if here is None:
        return Proof()
    others = {name: at for name, at in hosts.items() if name not in own}
    if allowed:
        return Proof(consented=here)
    if not others:
        raise witness.unwitnessed(here)
    made = Proof(_place(hosts[here], patience), others, patience)
    if made.place and (reasons := made.why_not()):
        raise witness.blind(made.place, reasons, next(iter(others)))
    return made


def _place(at: Host, patience: float) -> Place:
    """Where others are to reach this machine. Raises Refusal."""
    seconds = int(_READ_S * patience)
    try:
        network = remote.read(at, of_resource(NETWORK)(), seconds=seconds)
        keys = remote.read(at, of_resource(TRUST)(), seconds=seconds).host_keys
    except (remote.Failed, remote.Lost) as error:
        raise Refusal(f"{at.name} cannot be read: {error}", "the same again") from None
    found = network.over(at.data.get("management_interface")).management
    if not found:
        raise witness.nowhere(at.name)
    if not keys:
        raise witness.keyless(at.name)
    return Place(at.name, str(found[1].ip), int(at.data.get("ssh_port") or witness.PORT), keys)
