"""A host that cannot be reached."""

from __future__ import annotations

from tests.plan.conftest import Host
from tests.unit.sshd import free_ports


def lost(hosts: list[Host]) -> list[Host]:
    """spark-b is down: a real address where nobody listens."""
    (port,) = free_ports(1)
    # pyinfra waits 5 s before it tries again
    way = {"ssh_hostname": "127.0.0.1", "ssh_port": port, "ssh_connect_retries": 0}
    away = Host("spark-b", "", data={**hosts[1].data, **way})
    return [hosts[0], away]
