"""What was asked of a new Spark by hand, and what it is called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Interface
from itertools import count
from typing import Literal

from sparkrig.fleet import Fleet
from sparkrig.refusal import Refusal
from sparkrig.resources.state import State
from sparkrig.text import listed

_LONGEST = 63  # characters of a host name: hostname(7)
_GROUP = "sparks"  # the name of the first pair or cluster

Addresses = Mapping[str, IPv4Interface]
Form = Literal["cable", "ring", "switch"]


@dataclass(frozen=True)
class Wishes:
    """What was asked for by hand; each None, or empty, where a proposal will do.

    pair: the name of its pair or cluster; topology: ring or switch, what joins it to the others; adopt: one word
    for every other definition of a fabric netdev (the setting of that name).
    """

    name: str | None = None
    fabric: Mapping[str, str] = field(default_factory=dict)
    pair: str | None = None
    peer: str | None = None
    solo: bool = False
    adopt: str | None = None
    topology: Literal["ring", "switch"] | None = None

    @property
    def addresses(self) -> dict[str, IPv4Interface]:
        """Those of --fabric. Raises Refusal."""
        try:
            return {netdev: IPv4Interface(address) for netdev, address in self.fabric.items()}
        except ValueError as error:
            raise Refusal(f"--fabric: {error}", "--fabric enp1s0f0np0=192.168.100.11/24") from None

    def judge(self, replaces: str | None = None) -> None:
        """Raise Refusal for what cannot be, whatever host it is about. replaces: the one whose place it takes."""
        if replaces:
            self._judge_place(replaces)
        if self.name is not None:
            _name(self.name, (), exact=True)
        if self.solo and (self.peer or self.pair):
            raise Refusal("--solo leaves it on its own, and --peer or --pair does not", "one of them")
        if self.solo and self.topology:
            raise Refusal("--solo leaves it on its own, and --topology does not", "one of them")
        for address in self.addresses.values():
            if address.network.prefixlen > 31:
                raise Refusal(f"--fabric: {address.ip} has no prefix", f"--fabric NETDEV={address.ip}/24")

    def _judge_place(self, name: str) -> None:
        """Raise Refusal where one that takes another's place is to have something of its own."""
        asked = {
            "--name": self.name not in (None, name),
            "--fabric": self.fabric,
            "--pair": self.pair,
            "--peer": self.peer,
            "--solo": self.solo,
            "--topology": self.topology,
        }
        if odd := listed(option for option, value in asked.items() if value):
            raise Refusal(
                f"--replace {name} keeps its name, its pair and its addresses, and {odd} sets others",
                f"the same without {odd}",
            )

    def judge_known(self, name: str, fleet: Fleet) -> None:
        """Raise Refusal where something is asked for that the inventory has already. name: the Spark's there."""
        mine = fleet[name]
        pair = mine.group_name
        asked = {
            "--name": self.name not in (None, name),
            "--fabric": bool(self.fabric and mine.fabric),
            "--pair": bool(pair) and self.pair not in (None, pair),
            "--peer": bool(pair) and self.peer not in (None, *fleet.peers(name)),
            "--solo": bool(pair) and self.solo,
            "--adopt": bool(pair) and self.adopt is not None,
            "--topology": bool(pair) and self.topology not in (None, mine.form),
        }
        if odd := listed(option for option, value in asked.items() if value):
            raise Refusal(
                f"{name} is in the inventory, which says otherwise than {odd}",
                f"the same without {odd}, or edit it",
            )


def called(seen: State, fleet: Fleet, wishes: Wishes, known: str | None = None) -> str:
    """The name of a Spark in the inventory. known: where it is in it. Raises Refusal."""
    if known:
        wishes.judge_known(known, fleet)
    return known or _name(wishes.name or seen.identity.hostname, fleet, exact=wishes.name is not None)


def own_name(text: str, taken: Iterable[str]) -> str:
    """What a Spark is called, as a name for the inventory that no other one has."""
    return _name(text[:_LONGEST], taken, exact=False)


def unused_group(fleet: Fleet) -> str:
    """A name for another pair or cluster."""
    return _unused(_GROUP, {host.group_name for host in fleet.values()})


def _name(text: str, taken: Iterable[str], *, exact: bool) -> str:
    """A name for the inventory. exact: whether it was asked for by name. Raises Refusal."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", text if exact else text.split(".", maxsplit=1)[0]).strip("-_")
    if exact and (plain != text or text in taken):
        why = (
            "is in the inventory already" if text in taken else "is no name; letters, digits, - and _ are expected"
        )
        raise Refusal(f"{text!r} {why}", f"--name {plain or 'spark'}{'-2' if text in taken else ''}")
    return text if exact else _unused(plain.lower() or "spark", taken)


def _unused(name: str, taken: Iterable[str | None]) -> str:
    known = set(taken)
    return name if name not in known else next(f"{name}-{n}" for n in count(2) if f"{name}-{n}" not in known)
