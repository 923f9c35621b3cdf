"""How this toolkit's connections differ from pyinfra's stock ones."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paramiko import Transport


def nodelay_transport(sock: Any, **kwargs: Any) -> Transport:
    """A paramiko `transport_factory` that turns Nagle's algorithm off.

    paramiko leaves it on, and every command after the first then waits some 40 ms for a delayed
    ACK. A connection through a ProxyJump rides on a channel, which has no such option.
    """
    from paramiko import Transport

    if isinstance(sock, socket.socket):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Transport(sock, **kwargs)
