"""The fabric's profiles and live links, netdev by netdev, and who else defines them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Interface

from sparkrig.checks.check import Check, Subject, check, there, wrong
from sparkrig.cure import quoted
from sparkrig.look.state import State
from sparkrig.network import definitions, plan
from sparkrig.network.definitions import Definition
from sparkrig.network.links import Link
from sparkrig.refusal import Refusal
from sparkrig.settings import Settings

_CABLE = "seat the QSFP cable on both Sparks, and check that the peer is on"


def declared(subject: Subject) -> Mapping[str, IPv4Interface]:
    return subject.settings.fabric


def cabled(mine: Settings, found: State) -> list[str]:
    """The declared netdevs that are there and have a carrier."""
    links = found.network.links
    return [netdev for netdev in mine.fabric if netdev in links and links[netdev].carrier]


def checks(subject: Subject) -> Iterator[Check]:
    found = subject.found.network
    if not declared(subject) and not found.running:
        return
    known = [each for netdev, address in declared(subject).items() for each in _netdev(subject, netdev, address)]
    known += _stale(subject)
    if declared(subject):
        why = "running" if found.running else subject.found.preflight.manager.load or "not running"
        start = "systemctl unmask --now NetworkManager" if why == "masked" else "systemctl start NetworkManager"
        known.insert(0, check("net.manager", found.running, "NetworkManager runs", why, subject.run(start)))
    yield from known
    refusal = _refusal(subject)
    if refusal and not wrong(known):  # whatever else the deploy will not touch
        yield Check("net.plan", "a network that can be set up", refusal.what, "drift", refusal.cure)


def _refusal(subject: Subject) -> Refusal | None:
    mine = subject.settings
    try:
        plan.plan(
            subject.found.network,
            mine.fabric,
            mine.mtu,
            paired=mine.pair is not None,
            adopt=mine.adopt,
            allow_management=mine.allow_management_interface,
        )
    except Refusal as refusal:
        return refusal
    return None


def _netdev(subject: Subject, netdev: str, address: IPv4Interface) -> Iterator[Check]:
    link = subject.found.network.links.get(netdev)
    uncabled = _uncabled(subject, netdev, link)
    yield uncabled or Check(f"net.{netdev}.carrier", "a carrier", "a carrier", environment=True)
    others = [each for each in _others(subject) if netdev in each.given]
    left = any(each.policy(subject.settings.adopt) == definitions.LEAVE for each in others)
    if others and not left:
        yield _second(subject, netdev, others)
    managed = subject.found.network.running and not left  # a stopped NetworkManager names no profile
    if managed and (uncabled is None or uncabled.status != "skipped"):
        yield _profile(subject, netdev, address)
    if uncabled or link is None:
        return
    if managed:
        yield _active(subject, netdev)
    yield check(
        f"net.{netdev}.mtu",
        link.mtu == subject.settings.mtu,
        str(subject.settings.mtu),
        str(link.mtu),
        subject.apply,
    )
    there_is = ", ".join(map(str, link.addresses)) or "none"
    right = address in link.addresses if left else link.addresses == (address,)
    yield check(f"net.{netdev}.address", right, str(address), there_is, subject.apply)
    if not left:
        has = "it has" if link.ipv6 else "none"
        yield check(f"net.{netdev}.ipv6", not link.ipv6, "no IPv6 address", has, subject.apply)


def _uncabled(subject: Subject, netdev: str, link: Link | None) -> Check | None:
    """Why a netdev cannot be used now; a Spark on its own needs no cable."""
    if link and link.carrier:
        return None
    found = "no carrier" if link else "no such netdev"
    id = f"net.{netdev}.carrier"
    if subject.settings.pair is None:
        return Check(id, "a carrier", f"{found}; a Spark on its own needs none", "skipped", environment=True)
    return Check(id, "a carrier", found, "missing", _CABLE, environment=True)


def _others(subject: Subject) -> list[Definition]:
    found = subject.found.network
    return definitions.find(found.links, subject.settings.fabric, found.profiles, found.netplan, found.carries_ssh)


def _second(subject: Subject, netdev: str, others: Sequence[Definition]) -> Check:
    """More definitions of a declared netdev: which one wins after a reboot is decided by a race."""
    undecided = [each.key for each in others if each.policy(subject.settings.adopt) is None]
    cure = subject.apply
    if undecided:  # what is given for a run takes the place of what every host has
        decided = {key: word for mine in subject.fleet.values() for key, word in mine.adopt.items()}
        setting = json.dumps({**decided, **dict.fromkeys(undecided, definitions.SET_ASIDE)}, ensure_ascii=False)
        cure = f"{subject.apply} --data {quoted(f'adopt={setting}')}"
    found = "; ".join(map(str, others))
    return Check(f"net.{netdev}.others", "no second definition", found, "extra", cure)


def _profile(subject: Subject, netdev: str, address: IPv4Interface) -> Check:
    wanted = plan.profile(netdev, address, subject.settings.mtu)
    known = subject.found.network.profiles.get(plan.uuid(netdev))
    id, want = f"net.{netdev}.profile", f"{wanted['connection.id']}: {address}, MTU {subject.settings.mtu}"
    if known is None:
        return there(id, want, None, subject.apply)
    odd = [
        f"{key} is {known.properties.get(key) or 'empty'} (declared: {value or 'empty'})"
        for key, value in wanted.items()
        if known.properties.get(key) != value
    ]
    if not odd and not known.saved:
        odd = ["only in memory"]
    return check(id, not odd, want, ", ".join(odd) or want, subject.apply)


def _active(subject: Subject, netdev: str) -> Check:
    found = subject.found.network
    on = found.active.get(netdev, "")
    named = found.profiles[on].name if on in found.profiles else on
    return check(
        f"net.{netdev}.active",
        on == plan.uuid(netdev),
        "our profile is active",
        f"{named} is active" if named else "none is active",
        subject.apply,
    )


def _stale(subject: Subject) -> list[Check]:
    """Our own profiles of netdevs that are no longer declared."""
    return [
        Check(f"net.{netdev}.profile", "no profile of ours", known.name, "extra", subject.apply)
        for known in subject.found.network.profiles.values()
        if (netdev := known.properties.get("connection.interface-name", "")) not in declared(subject)
        and known.uuid == plan.uuid(netdev)
    ]
