"""Connections to the hosts of an inventory, for the verbs of the command: pyinfra's API and its own data.

A host that may be rebooting is waited for, up to SPARKRIG_WAIT_S seconds (90).
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import metadata

from gevent import monkey

# pyinfra asks every program that uses its API to do this first. gevent looks 31 times for plugins of its own
# meanwhile, and each look reads the metadata of all that is installed: a tenth of the time of a short command.
_entry_points = metadata.entry_points
_all = cache(_entry_points)
metadata.entry_points = lambda **wanted: _all().select(**wanted)  # type: ignore[assignment]
try:
    monkey.patch_all()
finally:
    metadata.entry_points = _entry_points

# paramiko loads it for `Match exec` of an ssh_config alone, and pyinfra then puts its own in place of it
# (connectors/sshuserclient/config.py): a tenth of the time before the first packet
_absent = sys.modules.setdefault("invoke", None) is None  # type: ignore[arg-type]

import logging  # noqa: E402
import os  # noqa: E402
import signal  # noqa: E402
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence  # noqa: E402
from contextlib import contextmanager  # noqa: E402
from functools import partial  # noqa: E402
from importlib import import_module  # noqa: E402
from math import nan  # noqa: E402
from time import monotonic, sleep  # noqa: E402
from typing import Any, NoReturn, TypeVar  # noqa: E402

import click  # noqa: E402
from gevent import Timeout, get_hub, getcurrent, idle, spawn  # noqa: E402
from pyinfra.api import Config, Host, Inventory, State  # noqa: E402
from pyinfra.api.exceptions import PyinfraError  # noqa: E402
from pyinfra.connectors import util  # noqa: E402
from pyinfra.connectors.ssh import SSHConnector  # noqa: E402
from pyinfra.connectors.sshuserclient.client import get_host_keys  # noqa: E402

from sparkrig import login  # noqa: E402
from sparkrig.ssh import controller  # noqa: E402
from sparkrig.ssh.refused import passing, reason  # noqa: E402
from sparkrig.ssh.remote import Failed, Lost, each  # noqa: E402
from sparkrig.terminal import progress  # noqa: E402
from sparkrig.terminal.progress import Told  # noqa: E402

if _absent:
    del sys.modules["invoke"]

get_hub().NOT_ERROR += (KeyboardInterrupt,)  # Ctrl-C: click prints "Aborted!", and that is enough
for _library in ("pyinfra", "paramiko"):
    # a verb itself reports what went wrong, once
    logging.getLogger(_library).addHandler(logging.NullHandler())


_LONGEST_WAIT_S = 86400
_WAIT_S = 90  # a Spark reboots within a minute or two; the silent part of it costs a try of ten seconds each
_PAUSE_S = 3
_FILES, _FILES_A_HOST = 128, 4  # open at once: by a verb itself, and for a host while it is connected

T = TypeVar("T")


def _interrupt(*_: object) -> None:
    """Ctrl-C is for the main greenlet: one that draws, or carries a connection, would swallow it and end alone."""
    hub = get_hub()
    if getcurrent() is hub.parent:
        raise KeyboardInterrupt
    hub.loop.run_callback(hub.parent.throw, KeyboardInterrupt)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _interrupt)


def _no_password(*_: object) -> NoReturn:
    raise PyinfraError("sudo asks for a password, and is expected to work without one")


class _Rows:
    """What pyinfra gathers the rows of a command in, without the locks of its queue, which has one reader.

    Under gevent each row of a queue is a turn of the hub: some 320 of each host's look.
    """

    def __init__(self) -> None:
        self.queue: list[util.OutputLine] = []
        self.put = self.queue.append


util.Queue = _Rows  # type: ignore[misc,assignment]
util.getpass = _no_password  # type: ignore[assignment]  # pyinfra would ask the terminal; it has no switch for that


def read_known_hosts_again() -> None:
    """Let later connections see what known_hosts has now; pyinfra 3.10 reads it once in a process."""
    get_host_keys.cache.clear()


@contextmanager
def connected(data: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Host | Failed | Lost]]:
    """Each host by name: connected, or why it could not be.

    data: each host's merged inventory data (sparkrig.inventory.load); exit code 1 where pyinfra refuses it.
    """
    wait_s = _wait_s()
    with _hosts(data) as hosts:
        with progress.hosts(hosts, "Connecting") as told:
            found = each(hosts, told.during("connecting", partial(_connect, told=told, wait_s=wait_s)))
        yield found


def asked(
    data: Mapping[str, Mapping[str, Any]],
    title: str,
    ask: Callable[[Host], T],
    *,
    wait_s: float | None = None,
    limits_s: Mapping[str, float] | None = None,
    meanwhile: Sequence[str] = (),
) -> dict[str, T | Failed | Lost]:
    """What each host answers, or why it does not. No host waits for another one to be connected, or read.

    data: as of `connected`; title: what is done, for the user to see (`Looking at pair.py`); wait_s: for how long
    a host may be rebooting; limits_s: by host, when it is given up, counted from its first packet; meanwhile:
    modules that are needed afterwards, loaded while every host is waited for.
    """
    with staying(data, title, ask, (), wait_s=wait_s, limits_s=limits_s, meanwhile=meanwhile) as (answers, _):
        return answers


@contextmanager
def staying(
    data: Mapping[str, Mapping[str, Any]],
    title: str,
    ask: Callable[[Host], T],
    stay: Collection[str],
    *,
    wait_s: float | None = None,
    limits_s: Mapping[str, float] | None = None,
    meanwhile: Sequence[str] = (),
) -> Iterator[tuple[dict[str, T | Failed | Lost], dict[str, Host]]]:
    """The same, with the hosts of `stay` that answered: they stay connected, to be asked again.

    stay: names of hosts; all others are disconnected once they have answered.
    """
    for_s = _wait_s() if wait_s is None else wait_s
    with _hosts(data) as hosts:
        with progress.hosts(hosts, title) as told, _loading(meanwhile):

            def answer(host: Host) -> T:
                limit = limits_s[host.name] if limits_s else None
                done = False
                with Timeout(limit, False):
                    try:
                        _connect(host, told, for_s)
                        told(host.name, "reading")
                        found = ask(host)
                        done = True
                        return found
                    finally:
                        if not done or host.name not in stay:
                            _disconnect(host)
                raise Lost(f"{host.name} does not answer within {limit:g} s")

            answers = each(hosts, told.during("connecting", answer))
        yield answers, {name: at for name, at in hosts.items() if at.connected}


@contextmanager
def _loading(modules: Sequence[str]) -> Iterator[None]:
    """Load modules whenever there is nothing else to do; those that are not loaded in the end are left out."""

    def load() -> None:
        for name in modules:
            idle()
            import_module(name)

    loader = spawn(load)
    try:
        yield
    finally:
        loader.kill()


def ask(
    hosts: Mapping[str, Host | Failed | Lost], title: str, question: Callable[[Host], T]
) -> dict[str, T | Failed | Lost]:
    """The same of hosts that are connected; one that is not stays what it is."""
    with progress.hosts([name for name, at in hosts.items() if isinstance(at, Host)], title) as told:
        return each(hosts, told.during("reading", question))


@contextmanager
def _hosts(data: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Host]]:
    """Hosts that are not connected yet; each is disconnected afterwards."""
    controller.make_room(_FILES + _FILES_A_HOST * len(data))
    once = {"ssh_connect_retries": 0}  # pyinfra's own are for a deploy: it shows nothing while it waits
    try:
        named = [(login.connector_name(name, values), {**values, **once}) for name, values in data.items()]
        inventory = Inventory((named, {}))
        State(inventory, Config())
    except PyinfraError as error:
        raise click.ClickException(str(error)) from None
    try:
        yield {host.name: host for host in inventory}
    finally:
        for host in inventory:
            _disconnect(host)


def _disconnect(host: Host) -> None:
    """End a host's connection, also one that was given up half-way.

    pyinfra 3.10 leaves it open: a thousand of them are as many files, heartbeats and stacks.
    """
    if host.connected:
        host.disconnect()
    at = host.connector
    if isinstance(at, SSHConnector) and at.client:
        spawn(at.client.close)  # which waits for a thread of paramiko's
        at.client = None


def _wait_s() -> float:
    """For how many seconds a host may be rebooting; exit code 1 where SPARKRIG_WAIT_S is not such a number."""
    asked = os.environ.get("SPARKRIG_WAIT_S") or str(_WAIT_S)
    try:
        seconds = float(asked)
    except ValueError:
        seconds = nan
    if not 0 <= seconds <= _LONGEST_WAIT_S:  # nan is in no range
        raise click.ClickException(
            f"SPARKRIG_WAIT_S is {asked!r}, and seconds from 0 to {_LONGEST_WAIT_S} are expected. "
            "Try: unset SPARKRIG_WAIT_S"
        )
    return seconds


def _connect(host: Host, told: Told, wait_s: float) -> Host:
    """The host, once it lets us in. Raises Lost where waiting cannot help, or was in vain."""
    end = monotonic() + wait_s
    while True:
        try:
            host.connect(show_errors=False, raise_exceptions=True)
            return host
        except PyinfraError as error:
            why, left = passing(error.__context__), end - monotonic()
            if not why or left <= 0:
                raise Lost(reason(host.name, host.data.dict(), error)) from None
        told(host.name, f"may be rebooting ({why})", until=end)
        sleep(min(_PAUSE_S, left))
