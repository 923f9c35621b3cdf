"""nmcli and networkctl: what NetworkManager and systemd-networkd make of the netdevs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Interface

from sparkrig.explain import cages
from sparkrig.explain.cages import Netdev
from sparkrig.explain.explanation import Around, Explained, Piece
from sparkrig.text import listed
from sparkrig.verdict import Finding, Verdict

_DEVICE = re.compile(
    r"\s*(?P<name>[A-Za-z][\w.-]{0,14})\s+(?P<type>ethernet|bond|wifi|bridge|loopback|tun|vlan|dummy|wifi-p2p)\s+"
    r"(?P<state>connected|disconnected|unavailable|unmanaged|connecting|deactivating|connection failed)"
    r"(?:\s\([^)]{0,60}\))?"
)
_PROFILE = re.compile(r".*?\s(?:ethernet|bond|802-3-ethernet)\s+(?P<name>[A-Za-z][\w.-]{0,14}|--)\s*$")
_LINK = re.compile(
    r"\s*\d+\s+(?P<name>[A-Za-z][\w.-]{0,14})\s+(?:ether|bond|loopback|wlan|bridge|vlan)\s+"
    r"(?P<state>routable|degraded|carrier|no-carrier|dormant|off|missing|enslaved)\s+(?P<setup>\w+)"
)
# Whether a netdev has a link, and an address. NetworkManager calls one without a carrier unavailable, and one with
# a link and no active profile disconnected; networkd's degraded has a link-local address alone, of IPv4 or IPv6.
_STATES = {
    **{"connected": (True, None), "disconnected": (True, False), "connecting": (True, False)},
    **{"unavailable": (False, None), "routable": (True, True), "degraded": (True, None), "enslaved": (True, None)},
    **{"carrier": (True, False), "no-carrier": (False, None), "dormant": (False, None)},
    **{"off": (False, None), "missing": (False, None)},
}
_SETTING = re.compile(r"\s*(?P<key>[a-z0-9-]{2,20}\.[a-z0-9-]{2,30}):\s+(?P<value>\S[^\n]{0,200})$")


def explained(piece: Piece, _: Around) -> Explained:
    states = {
        row["name"]: row["state"] for line in piece.lines if (row := _DEVICE.match(line) or _LINK.match(line))
    }
    if not states:
        settings = {row["key"]: row["value"].strip() for line in piece.lines if (row := _SETTING.match(line))}
        return _profile(piece, settings) if "connection.interface-name" in settings else _profiles(piece)
    rows = [Netdev(name, None, *_STATES.get(state, (None, None))) for name, state in states.items()]
    shown = [f"{name} {states[name]}" for name in states if Netdev(name).cage]
    findings = [*cages.judged(rows, whole="lo" in states), *_unmanaged(states.items())]
    notes = [*cages.notes(rows), *_waiting(states.items())]
    return Explained(piece.tool, ", ".join(shown) or f"{len(states)} netdevs", tuple(findings), tuple(notes))


def _unmanaged(states: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    names = [name for name, state in states if state == "unmanaged" and Netdev(name).cage]
    if names:
        why = f"NetworkManager does not manage {listed(names)}: networkd does, or nothing"
        cure = "networkctl, and netplan get; sparkrig docs adopting says how they are handed over"
        yield Finding("NetworkManager", Verdict("unknown", "unmanaged", why, cure))


def _waiting(states: Iterable[tuple[str, str]]) -> Iterator[str]:
    names = [name for name, state in states if state == "connecting" and Netdev(name).cage]
    if names:
        yield f"{listed(names)} waits for DHCP: on a cable between two Sparks there is no server"


def _profiles(piece: Piece) -> Explained:
    """The table of profiles, which tells on which netdev one is active."""
    on = [row["name"] for line in piece.lines if (row := _PROFILE.match(line))]
    if not on:
        raise ValueError(f"{piece.tool} printed neither devices nor profiles")
    active = [name for name in on if name != "--"]
    rows = [Netdev(name, carrier=True) for name in active if Netdev(name).cage]
    rows += [Netdev(row.twin, carrier=True, addressed=False) for row in rows if row.twin not in active]
    read = f"active on {listed(active)}" if active else "no profile is active"
    return Explained(piece.tool, read, tuple(cages.judged(rows)))


def _profile(piece: Piece, settings: dict[str, str]) -> Explained:
    """One profile: what it gives its netdev."""
    name, method = settings["connection.interface-name"], settings.get("ipv4.method", "auto")
    addresses = re.findall(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}/\d\d?", settings.get("ipv4.addresses", ""))
    mtu = settings.get("802-3-ethernet.mtu", "")
    row = Netdev(
        name,
        carrier=True,
        addressed={"manual": bool(addresses), "disabled": False}.get(method),
        addresses=tuple(IPv4Interface(address) for address in addresses[:1]),
        mtu=int(mtu) if mtu.isdecimal() else None,
    )
    notes = [*_waiting([(name, "connecting" if method == "auto" else "")])]
    if row.cage and row.mtu is None:
        notes.append(f"no MTU is given, so it is 1500: {cages.MTU} lets RDMA send 4096 bytes")
    read = f"{row.netdev} by {method} {' '.join(addresses)}".rstrip()
    return Explained(piece.tool, read, tuple(cages.judged([row], state="defined")), tuple(notes))
