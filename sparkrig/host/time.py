"""Which service keeps the clock, and the time servers that it asks.

DGX OS 7 comes with systemd-timesyncd [@spark-fleet-updates]; chrony takes its place where an owner installs it.
Sources: timesyncd.conf(5) of systemd 255, and /etc/chrony/sources.d/README of chrony 4.3 (Debian 12).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from sparkrig.cure import on_host
from sparkrig.files import File, Found, Managed, stale
from sparkrig.parsing.grammar import Grammar
from sparkrig.refusal import Refusal
from sparkrig.value import Value

TIMESYNCD_PATH = "/etc/systemd/timesyncd.conf.d/60-sparkrig.conf"
CHRONY_PATH = "/etc/chrony/sources.d/sparkrig.sources"

Service = Literal["systemd-timesyncd", "chrony"]
SERVICES: tuple[Service, ...] = get_args(Service)
PATHS: Mapping[Service, str] = {"systemd-timesyncd": TIMESYNCD_PATH, "chrony": CHRONY_PATH}

_HEAD = "# sparkrig: deploys/time.py writes this file; its servers are the setting ntp.\n"
# RFC 1123's host names, and addresses
SERVER = Grammar("name or address of a time server", r"[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}")


@dataclass(frozen=True)
class Time(Value):
    """What keeps a host's clock.

    service: None where neither is installed; running: whether it runs; synchronised: whether it reports that it
    keeps the clock, None without a service; asks: the servers that it was configured with, None where no file of
    ours is there to ask for.
    """

    FILES: ClassVar = (
        Managed(
            TIMESYNCD_PATH,
            reload="if [ -d /run/systemd/timesync ]; then systemctl try-restart systemd-timesyncd.service; fi",
        ),
        Managed(
            CHRONY_PATH,
            reload="if [ -e /run/chrony/chronyd.pid ]; then timeout -k 2 10 chronyc reload sources; fi",
        ),
    )

    service: Service | None = None
    running: bool = False
    synchronised: bool | None = None
    asks: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Plan:
    """What makes a host ask the servers that are declared.

    write: files; remove: paths of files that name servers which are declared no more; reload: paths whose service
    has to read them again.
    """

    write: tuple[File, ...] = ()
    remove: tuple[str, ...] = ()
    reload: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.write or self.remove or self.reload)


def parse(lines: Iterable[str]) -> Time:
    """Read the time fact. Raises ValueError where a row makes no sense."""
    rows = [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]
    words = {word for word, _ in rows}
    if unknown := words - {"service", "running", "synchronised", "asks", "servers"}:
        raise ValueError(f"no row begins with {min(unknown)[:60]!r}")
    name = next((rest for word, rest in rows if word == "service"), None)
    service = next((each for each in SERVICES if each == name), None)
    if name is not None and service is None:
        raise ValueError(f"{name[:60]!r} is no service that keeps a clock")
    return Time(
        service=service,
        running="running" in words,
        synchronised="synchronised" in words if service else None,
        asks=_asked(rows) if words & {"asks", "servers"} else None,
    )


def _asked(rows: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The servers by chrony's rows, or by the one that busctl prints: `as 2 "a" "b"`."""
    names: list[str] = []
    for word, rest in rows:
        if word == "asks":
            names.append(rest)
        elif word == "servers":
            if not re.fullmatch(r'as \d+( "[^"]*")*', rest):
                raise ValueError(f"{rest[:60]!r} is no list of servers")
            names += re.findall(r'"([^"]*)"', rest)
    return tuple(map(SERVER.held, names))


def plan(found: Time, files: Mapping[str, Found], servers: Sequence[str]) -> Plan:
    """What is to be done. files: ours, as they stand on the host.

    Raises Refusal where servers are declared and no service could ask them.
    """
    wanted = _files(found.service, servers)
    remove = tuple(path for path in PATHS.values() if path in files and path not in {each.path for each in wanted})
    write = tuple(stale(wanted, files))
    deaf = not write and found.running and not set(servers) <= set(found.asks or ())
    unread = [each.path for each in wanted] if deaf else [each.path for each in write]
    return Plan(write, remove, (*unread, *remove))


def _files(service: Service | None, servers: Sequence[str]) -> list[File]:
    if not servers:
        return []
    if service is None:
        raise Refusal(
            "no service keeps the clock, and the setting ntp needs systemd-timesyncd or chrony",
            on_host("sudo apt-get install systemd-timesyncd"),
        )
    if service == "chrony":  # one server a row, beside those of chrony.conf
        rows = "".join(f"server {server} iburst\n" for server in servers)
    else:  # the empty row takes away those of files before this one
        rows = f"[Time]\nNTP=\nNTP={' '.join(servers)}\n"
    return [File(PATHS[service], f"{_HEAD}{rows}")]
