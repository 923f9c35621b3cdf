"""Connections to the hosts of an inventory, for the verbs of the command: pyinfra's API and its own data."""

from __future__ import annotations

from gevent import monkey

monkey.patch_all()  # pyinfra asks every program that uses its API to do this first

from collections.abc import Iterator, Mapping  # noqa: E402
from contextlib import contextmanager  # noqa: E402
from typing import Any  # noqa: E402

import gevent  # noqa: E402
from pyinfra.api import Config, Host, Inventory, State  # noqa: E402
from pyinfra.api.exceptions import ConnectError  # noqa: E402


@contextmanager
def connected(data: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Host | str]]:
    """Each host by name: connected, or a sentence that says why it could not be.

    data: each host's merged inventory data (sparkrig.inventory.load).
    """
    inventory = Inventory(([(name, dict(values)) for name, values in data.items()], {}))
    State(inventory, Config())
    hosts = {host.name: gevent.spawn(_connect, host) for host in inventory}
    try:
        yield {name: each.get() for name, each in hosts.items()}
    finally:
        for host in inventory:
            if host.connected:
                host.disconnect()


def _connect(host: Host) -> Host | str:
    try:
        host.connect(show_errors=False, raise_exceptions=True)
    except ConnectError as error:
        return str(error)
    return host
