"""What a host's own name leads to on that host.

Ray and PyTorch look it up where no address is given: rank 0 then binds loopback, and its peer waits for ever.
DGX OS maps the name to 127.0.0.1 [@epappas].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address

from sparkrig.value import Value


@dataclass(frozen=True)
class OwnAddress(Value):
    """The name, and the IPv4 addresses that it has there; none where it cannot be resolved."""

    name: str
    addresses: tuple[IPv4Address, ...] = ()

    @property
    def loops(self) -> bool:
        """Whether it leads to no address that a peer can reach."""
        return all(address.is_loopback for address in self.addresses)


def parse(lines: Iterable[str]) -> OwnAddress:
    """Read the `name NAME` row and the `address ADDRESS` rows. Raises ValueError or LookupError for nonsense."""
    rows = [line.partition(" ")[::2] for line in lines]
    return OwnAddress(
        next(rest.strip() for word, rest in rows if word == "name"),
        tuple(dict.fromkeys(IPv4Address(rest.strip()) for word, rest in rows if word == "address")),
    )
