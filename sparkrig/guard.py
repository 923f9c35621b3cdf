"""A guarded change of a host's network: what is ordered, and what the host says of it.

templates/guard.py carries an order out on the host; operations/guard.py leads one or two hosts through it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from ipaddress import IPv4Interface, IPv6Address
from typing import Any

from sparkrig import network

GRACE_S = 5  # between NetworkManager's deadline and the dead-man's, as in templates/guard.py
RETURN_S = 60  # that a host is given, after its dead-man woke up, to be reachable again
NOT_RESTORED = "not as before: "  # and what, in the detail of a rollback; as in templates/guard.py
MARGIN_S = 10  # that must be left of the window for a commit to begin


@dataclass(frozen=True)
class Order:
    """What one host is to do within its window.

    step: what it is called in the journal; window: seconds until NetworkManager rolls back; seconds: of one
    activation and of waiting for the links; profiles: to add, modify or activate, in memory first; remove: UUIDs,
    and move: netplan files, that go at the commit; links: what must be live at the end; restore: a snapshot to be
    put back instead, as a path on the host.
    """

    step: str
    window: int
    seconds: int
    profiles: Sequence[Mapping[str, Any]] = ()
    remove: Sequence[str] = ()
    move: Sequence[str] = ()
    links: Sequence[Mapping[str, Any]] = ()
    restore: str | None = None

    def dump(self) -> str:
        return json.dumps(asdict(self))


def order(plan: network.Plan, step: str, window: int, seconds: int) -> Order:
    """The order that carries out a plan."""
    return Order(
        step=step,
        window=window,
        seconds=seconds,
        profiles=tuple(
            {"uuid": network.uuid(each.netdev), "verb": each.verb, "properties": dict(each.properties)}
            for each in plan.changes
        ),
        remove=tuple(uuid for uuid, _name in plan.remove),
        move=plan.move,
        links=tuple(_link(each.netdev, each.address, each.mtu) for each in plan.changes),
    )


def _link(netdev: str, address: IPv4Interface, mtu: int) -> dict[str, Any]:
    mapped = IPv6Address(f"::ffff:{address.ip}").exploded
    return {"netdev": netdev, "mtu": mtu, "address": str(address), "gid": mapped}


@dataclass(frozen=True)
class Told:
    """What a host says of its guard.

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
        found = json.loads(lines[-1] if lines else "")
        return Told(str(found["state"]), str(found["detail"]), float(found["left"]))
    except (ValueError, LookupError, TypeError):
        raise ValueError(f"the guard's answer cannot be understood: {text.strip()[-200:]!r}") from None


@dataclass(frozen=True)
class Ping:
    """One rail as one host reaches it: the largest packet that may not be split has to come back."""

    rail: int
    netdev: str
    peer: str
    mtu: int

    @property
    def words(self) -> tuple[str, ...]:
        return str(self.rail), self.netdev, self.peer, str(self.mtu - 28)  # IPv4 and ICMP headers


# $1 seconds in all, then per rail: number, netdev, peer's address, payload
LINK = r"""
end=$(($(date +%s) + $1)); shift
while [ $# -gt 0 ]; do
  until said=$(ping -n -q -M "do" -c 1 -W 2 -s "$4" -I "$2" "$3" 2>&1); do
    if [ "$(date +%s)" -ge "$end" ]; then
      echo "silent $1 $2 $3 $4 $(printf %s "$said" | grep -io 'message too long.*' | head -n 1)"; break
    fi
    sleep 0.3
  done
  shift 4
done
echo "done"
"""


def link_words(seconds: int, pings: Iterable[Ping]) -> list[str]:
    """The words of LINK."""
    return [str(seconds), *(word for each in pings for word in each.words)]


def silent(text: str) -> list[str]:
    """The rails without an answer, in words, of what LINK printed."""
    found = []
    for line in text.splitlines():
        if line.startswith("silent "):
            _, rail, netdev, peer, payload, *rest = line.split(" ", 5)
            because = f" ({rest[0]})" if rest and rest[0] else ""
            found.append(
                f"no answer on rail {rail} from {peer} over {netdev} to {int(payload) + 28} bytes{because}"
            )
    return found
