"""The time servers that the service which keeps the clock asks: setting `ntp`.

DGX OS 7 comes with systemd-timesyncd [@spark-fleet-updates]; chrony takes its place where an owner installs it.
Sources: timesyncd.conf(5) of systemd 255, and /etc/chrony/sources.d/README of chrony 4.3 (Debian 12).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from sparkrig import programs
from sparkrig.cure import Cure, on_host, quoted
from sparkrig.files import File, Managed
from sparkrig.host.preflight import SKEW_WARN_S
from sparkrig.parsing.grammar import SERVER
from sparkrig.parsing.rows import told
from sparkrig.refusal import Refusal
from sparkrig.resources import file_diff
from sparkrig.resources.check import Check, Subject, check, refused
from sparkrig.resources.kind import PREFLIGHT, Kind
from sparkrig.resources.resource import Changes, Resource, on_paths
from sparkrig.text import listed
from sparkrig.value import Value

if TYPE_CHECKING:
    from sparkrig.resources.state import State

TIMESYNCD_PATH = "/etc/systemd/timesyncd.conf.d/60-sparkrig.conf"
CHRONY_PATH = "/etc/chrony/sources.d/sparkrig.sources"

Service = Literal["systemd-timesyncd", "chrony"]
SERVICES: tuple[Service, ...] = get_args(Service)

_HEAD = "# sparkrig: deploys/time.py writes this file; its servers are the setting ntp.\n"


@dataclass(frozen=True)
class Time(Value):
    """What keeps a host's clock.

    service: None where neither is installed; running: whether it runs; synchronised: whether it reports that it
    keeps the clock, None without a service; asks: the servers that it was configured with, None where no file of
    ours is there to ask for.
    """

    service: Service | None = None
    running: bool = False
    synchronised: bool | None = None
    asks: tuple[str, ...] | None = None


class TimeServers(Resource[Time]):
    """Which service keeps the clock, and the time servers that it asks."""

    name, title = "time", "Time"
    step, rereads = "time servers", "let the service read them"
    files = (
        Managed(
            TIMESYNCD_PATH,
            reload="if [ -d /run/systemd/timesync ]; then systemctl try-restart systemd-timesyncd.service; fi",
        ),
        Managed(
            CHRONY_PATH,
            reload="if [ -e /run/chrony/chronyd.pid ]; then timeout -k 2 10 chronyc reload sources; fi",
        ),
    )
    script = on_paths(programs.text("facts/time.sh"), files)
    absent = Time()
    kinds = (
        Kind(
            "time.servers",
            "time",
            "the clock's service asks the time servers of the setting ntp",
            "its file was edited or removed by hand, or the service does not run",
            PREFLIGHT,
        ),
        Kind(
            "time.synchronised",
            "time",
            "NTP keeps the clock, or it is right all the same",
            "no time server is reached, or no service asks one",
            PREFLIGHT,
        ),
    )

    def parse(self, lines: Iterable[str]) -> Time:
        rows = told(lines, "service", "running", "synchronised", "asks", "servers")
        words = dict(rows)
        service = next((each for each in SERVICES if each == words.get("service")), None)
        if "service" in words and service is None:
            raise ValueError(f"{words['service'][:60]!r} is no service that keeps a clock")
        return Time(
            service=service,
            running="running" in words,
            synchronised="synchronised" in words if service else None,
            asks=_asked(rows) if words.keys() & {"asks", "servers"} else None,
        )

    def changes(self, subject: Subject) -> Changes:
        """Raises Refusal where servers are declared and no service could ask them."""
        state, servers = subject.found.time, subject.settings.ntp
        deaf = state.running and not set(servers) <= set(state.asks or ())
        return Changes.of(_files(state.service, servers), subject.found.files, self.files, unread=deaf)

    def settings_of(self, found: State) -> Mapping[str, Any]:
        ours = any(file.path in found.files for file in self.files)
        return {"ntp": list(found.time.asks)} if ours and found.time.asks else {}

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Whether the declared servers are asked; nothing is declared of a host without the setting."""
        state, servers = subject.found.time, subject.settings.ntp
        id, want = "time.servers", f"{listed(servers)} asked" if servers else "no time server of ours"
        try:
            changes = self.changes(subject)
        except Refusal as refusal:
            yield refused(id, want, refusal)
            return
        if servers and not changes and not state.running:
            yield check(id, False, want, f"{state.service} does not run", _start(subject))
        elif servers or changes:
            odd = file_diff.differences(changes.write, changes.remove, subject.found.files)
            differs = listed(odd) or ("its service asks others" if changes.reload else "")
            yield check(id, not changes, want, differs or f"by {state.service}", subject.apply)

    def synchronised(self, subject: Subject) -> Check:
        """A clock that nothing keeps is no fault as long as it is right: a pair may have no network to ask."""
        state, skew = subject.found.time, subject.found.preflight.skew_s
        id, want = "time.synchronised", f"kept by NTP, or within {SKEW_WARN_S} s of this machine's"
        off = f"{abs(skew):.0f} s {'ahead' if skew > 0 else 'behind'}"
        kept = {True: "kept by NTP", False: "not kept by NTP", None: "whether it is kept is not told"}
        holds = bool(state.synchronised) or abs(skew) <= SKEW_WARN_S
        return check(id, holds, want, f"{kept[state.synchronised]}, {off}", _start(subject), environment=True)


TIME = TimeServers()


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


def _files(service: Service | None, servers: Sequence[str]) -> Iterator[File]:
    if not servers:
        return
    if service is None:
        raise Refusal(
            "no service keeps the clock, and the setting ntp needs systemd-timesyncd or chrony",
            on_host("sudo apt-get install systemd-timesyncd"),
        )
    if service == "chrony":  # one server a row, beside those of chrony.conf
        yield File(CHRONY_PATH, _HEAD + "".join(f"server {server} iburst\n" for server in servers))
    else:  # the empty row takes away those of files before this one
        yield File(TIMESYNCD_PATH, f"{_HEAD}[Time]\nNTP=\nNTP={' '.join(servers)}\n")


def _start(subject: Subject) -> Cure:
    return subject.run(f"systemctl enable --now {quoted(subject.found.time.service or 'systemd-timesyncd')}")
