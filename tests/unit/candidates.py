"""Sparks that are to be onboarded, as the looks show them."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Interface
from typing import Any

from sparkrig.fabric.cabling import Cable
from sparkrig.facts.spark import Spark
from sparkrig.fleet import Fleet
from sparkrig.host.nic import Nic
from sparkrig.network.netplan import File, Netdef
from sparkrig.onboarding import proposal, wishes
from sparkrig.onboarding.joining import Newcomer
from sparkrig.onboarding.proposal import Proposal
from sparkrig.onboarding.wishes import Wishes
from sparkrig.resources.state import State
from tests.unit.factory import look

LOGIN = {"ssh_hostname": "spark-b.local", "ssh_user": "nvidia"}


P0, P1 = ("enp1s0f0np0", "enP2p1s0f0np0"), ("enp1s0f1np1", "enP2p1s0f1np1")


def seen(name: str, lit: tuple[str, ...] = ("p0",), cable: Mapping[str, str] | None = None) -> State:
    """A new Spark as it was recorded; lit: its cages with a carrier; cable: serial numbers' digests by cage."""
    text = re.sub(r"^clock .*$", f"clock {time.time()}", look(f"fresh-{name}"), flags=re.M)
    found: State = Spark().process(text.splitlines())
    links = {
        key: replace(link, carrier=not link.port or link.port in lit) for key, link in found.network.links.items()
    }
    nics = {
        netdev: Nic(netdev, cage, cable=digest)
        for cage, digest in (cable or {}).items()
        for netdev in {"p0": P0, "p1": P1}[cage]
    }
    return replace(found, network=replace(found.network, links=links), nics=nics)


def fleet(**hosts: Mapping[str, Any]) -> Fleet:
    return Fleet.parse({name.replace("_", "-"): data for name, data in hosts.items()})


def propose(
    here: State,
    known: Fleet,
    others: Mapping[str, State],
    wished: Wishes,
    name: str | None = None,
    cables: Sequence[Cable] = (),
) -> Proposal:
    """What is proposed of a Spark. name: of the inventory, where it is in it."""
    mine = Newcomer(wishes.called(here, known, wished, name), here, known, wished, others, cables)
    group = mine.group()
    return proposal.propose(mine, group, mine.form(group) if group else None, LOGIN)


def pair(
    here: State | None = None,
    there: State | None = None,
    declared: Mapping[str, Any] | None = None,
    more: Mapping[str, Any] | None = None,
    **wishes: Any,
) -> Proposal:
    """spark-b beside spark-a, which has no peer yet."""
    known = fleet(spark_a={**(declared or {})}, **(more or {}))
    return propose(here or seen("b"), known, {"spark-a": there or seen("a")}, Wishes(**wishes))


def fabric(netdevs: tuple[str, ...], *addresses: str) -> dict[str, str]:
    """The setting of that name."""
    return dict(zip(netdevs, addresses, strict=True))


def defined(here: State, last: int) -> State:
    """With NVIDIA's netplan file for cage 0."""
    netdefs = tuple(
        Netdef(name, (name,), addresses=(IPv4Interface(f"192.168.{177 + n}.{last}/24"),))
        for n, name in enumerate(P0)
    )
    file = File("/etc/netplan/40-cx7.yaml", netdefs)
    return replace(here, network=replace(here.network, netplan=(file,)))
