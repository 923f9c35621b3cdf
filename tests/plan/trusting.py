"""Hosts whose hosts trust each other."""

from __future__ import annotations

import base64
from dataclasses import replace
from ipaddress import IPv4Address

from sparkrig.resources import trust
from tests.plan.conftest import FABRIC, converged, sections

KEYS = {
    "a": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDHqPAK6OhEwKzKIHUlbmYWlhfGqPGBLoKwvJlNFgC1m",
    "b": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBbbPAK6OhEwKzKIHUlbmYWlhfGqPGBLoKwvJlNFgC1m",
}


def trusting(letter: str, *, key: str | None = None, host_key: str | None = None) -> str:
    """A converged host whose peer may log in. key, host_key: those by which it knows the peer, if others."""
    other = "b" if letter == "a" else "a"
    addresses = [address.partition("/")[0] for address in FABRIC[f"@fake/spark-{other}"].values()]
    seen = trust.TRUST.parse(sections(converged(other))["trust"].splitlines())
    known = replace(seen, key=key or KEYS[other], host_keys=(host_key,) if host_key else seen.host_keys)
    peer = trust.Peer(f"spark-{other}", [IPv4Address(each) for each in addresses], known)
    rows = f"private 600 nvidia\npublic {KEYS[letter]} {trust.MARK}\nauthorized {trust.line(peer)}\n"
    files = "".join(
        f"{file.path} 644 root:root {base64.b64encode(file.content.encode()).decode()}\n"
        for file in trust.files("nvidia", [peer])
    )
    return (
        converged(letter)
        .replace("\n#sparkrig:end trust 0", f"{rows}\n#sparkrig:end trust 0")
        .replace("\n#sparkrig:end files 0", f"{files}\n#sparkrig:end files 0")
    )
