"""How this toolkit's connections differ from pyinfra's stock ones."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paramiko import Transport


def transport(sock: Any, **kwargs: Any) -> Transport:
    """A paramiko `transport_factory`: Nagle's algorithm off, a lost link noticed, and an end of what is printed.

    paramiko leaves it on, and every command after the first then waits some 40 ms for a delayed
    ACK. A connection through a ProxyJump rides on a channel, which has no such options.
    """
    from sparkrig.ssh import controller
    from sparkrig.ssh.heartbeat import DEAD_S
    from sparkrig.ssh.stream import TextTransport

    if isinstance(sock, socket.socket):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        controller.end_unacknowledged(sock, DEAD_S)
    return TextTransport(sock, **kwargs)


# pyinfra's host data -> OpenSSH's own words for it
_OPTIONS = {
    "ssh_hostname": "HostName",
    "ssh_port": "Port",
    "ssh_user": "User",
    "ssh_key": "IdentityFile",
    "ssh_known_hosts_file": "UserKnownHostsFile",
}


def config(hosts: Mapping[str, Mapping[str, Any]], control_folder: str) -> str:
    """An OpenSSH client configuration that reaches the hosts of an inventory as pyinfra does.

    Host keys are always checked strictly, whatever pyinfra did at the first contact. control_folder: where
    one shared connection per host is kept (a short path: a socket's name has room for some 80 characters).
    What the data leaves open comes from the user's own ~/.ssh/config, which pyinfra reads too.
    """
    blocks = []
    for number, (name, data) in enumerate(hosts.items()):
        lines = [f"Host {name}"]
        for key, option in _OPTIONS.items():
            if data.get(key):
                lines.append(f"    {option} {_quoted(data[key])}")
        if data.get("ssh_key"):
            lines.append("    IdentitiesOnly yes")
        lines += [
            "    StrictHostKeyChecking yes",
            "    BatchMode yes",
            "    ConnectTimeout 10",
            "    ServerAliveInterval 15",
            "    ControlMaster auto",
            # not %C: its 40 letters leave no room below a long TMPDIR
            f'    ControlPath {_quoted(control_folder)[:-1]}/{number}"',
            "    ControlPersist 60",
            f'    Include "{data.get("ssh_config_file") or "~/.ssh/config"}"',
        ]
        blocks.append("\n".join(lines))
    return "\n".join(blocks) + "\n"


def _quoted(value: Any) -> str:
    """A value that may have spaces, and whose % is no token of OpenSSH's."""
    return '"' + str(value).replace("%", "%%") + '"'
