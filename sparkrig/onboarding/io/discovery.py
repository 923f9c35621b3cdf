"""Machines that offer ssh on this network, by mDNS.

DGX OS announces _ssh._tcp, which NVIDIA's own discover-sparks script relies on (avahi-browse _ssh._tcp).
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from queue import Empty, SimpleQueue
from time import monotonic

from sparkrig.onboarding.candidates import Candidate

_TYPES = ["_ssh._tcp.local.", "_workstation._tcp.local."]
_SECONDS = 4.0  # a machine answers within one; on a slow network within three


def look(seconds: float = _SECONDS, interfaces: Sequence[str] = ()) -> Iterator[Candidate]:
    """Machines as they answer; one may come twice. Raises OSError where this machine has no network.

    interfaces: addresses of this machine, for all of its networks where none is named.
    """
    from zeroconf import InterfaceChoice, IPVersion, ServiceBrowser, ServiceStateChange, Zeroconf

    heard: SimpleQueue[tuple[str, str]] = SimpleQueue()

    def changed(*, service_type: str, name: str, state_change: ServiceStateChange, **_: object) -> None:
        if state_change is ServiceStateChange.Added:
            heard.put((service_type, name))

    end = monotonic() + seconds
    where = list(interfaces) or InterfaceChoice.All
    with Zeroconf(interfaces=where, ip_version=IPVersion.V4Only) as network:
        browser = ServiceBrowser(network, _TYPES, handlers=[changed])
        try:
            while (left := end - monotonic()) > 0:
                try:
                    kind, name = heard.get(timeout=left)
                except Empty:
                    return
                told = network.get_service_info(kind, name, timeout=int(1000 * max(0.5, left)))
                if told and told.server:
                    addresses = tuple(sorted(told.parsed_addresses(IPVersion.V4Only)))
                    port = told.port if kind == _TYPES[0] and told.port else 22
                    yield Candidate(told.server.rstrip("."), addresses, port)
        finally:
            browser.cancel()


def reachable(found: Candidate) -> str:
    """What ssh gets for it: its name where this machine can resolve that, an address otherwise."""
    try:
        socket.getaddrinfo(found.name, found.port)
    except OSError:
        usable = [address for address in found.addresses if not address.startswith(("169.254.", "127."))]
        return next(iter(usable or found.addresses), found.name)
    return found.name
