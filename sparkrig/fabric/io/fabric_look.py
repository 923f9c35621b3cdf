"""The look before a measurement: the fabric of all hosts of a group at once, and who else measures there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyinfra.api import Host

from sparkrig.bandwidth import perftest_run
from sparkrig.bandwidth.perftest_preflight import Users, judge_preflight
from sparkrig.bandwidth.perftest_run import Pace
from sparkrig.fabric.io import survey
from sparkrig.fabric.neighbours import Neighbours
from sparkrig.fabric.survey import Survey
from sparkrig.facts.survey import Looked
from sparkrig.facts.survey import Survey as Asked
from sparkrig.fleet import Fleet
from sparkrig.resources.state import State
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.verdict import Finding


@dataclass(frozen=True)
class Known:
    """What a run that changes a group has seen of it, and what still stands.

    found: by host, its last look; heard: by host, by whom it is reached below IP. Each is empty where the look has
    to ask. What a cable, a link or a GID did since shows in the trials: their clients ping the peer's address from
    the rail's own netdev, with frames of its MTU, and use the GID by its index.
    """

    found: Mapping[str, State] = field(default_factory=dict)
    heard: Mapping[str, Neighbours] = field(default_factory=dict)


NOTHING = Known()
_STANDS = ("network", "rdma", "files")  # of Known.found; counters, the load and who measures are always asked


def look(hosts: Mapping[str, Host | Failed | Lost], fleet: Fleet, known: Known) -> tuple[Survey, list[Finding]]:
    """The survey of a group, and who else measures there; one exec on each host, at the same time.

    hosts: each host, or why it is not connected; such a one, and one that cannot be read, is unread in the survey.
    Raises Failed where sparkrig itself measures there.
    """
    looked = _asked(hosts, fleet, known)
    if any(_rebooted(known.found.get(name), each) for name, each in looked.items()):
        known = NOTHING  # links, addresses and the indexes of GIDs are of the boot before
        looked = _asked(hosts, fleet, known)
    found = {
        name: each if isinstance(each, Exception) else each.over(known.found.get(name))
        for name, each in looked.items()
    }
    read = {name: each for name, each in looked.items() if isinstance(each, Looked)}
    others = [finding for name, each in read.items() for finding in _others(name, each.users)]
    return survey.survey(fleet, found, known.heard), others


def _asked(
    hosts: Mapping[str, Host | Failed | Lost], fleet: Fleet, known: Known
) -> dict[str, Looked | Failed | Lost]:
    """What each host shows of what is not known, or why it cannot be read."""
    patience = max(fleet[name].patience for name in hosts)
    wait = max(Pace(fleet[name].bandwidth_seconds, patience).wait for name in hosts)
    asked = Asked(
        _STANDS if known.found.keys() >= hosts.keys() else (),
        patience=None if known.heard.keys() >= hosts.keys() else patience,
        fan=max(map(fleet.fan, hosts)),
        port=(wait, perftest_run.FIRST_PORT),
    )
    return survey.ask(hosts, asked, patience)


def _rebooted(known: State | None, looked: Looked | Failed | Lost) -> bool:
    """Whether a host was booted since what is known of it was seen."""
    if known is None or isinstance(looked, Exception):
        return False
    return known.identity.boot_id not in ("", looked.found.health.boot_id)


def _others(name: str, users: Users | None) -> list[Finding]:
    """What else uses perftest on a host. Raises Failed where that is sparkrig itself."""
    if users is None:
        return []
    if users.running:
        raise Failed(f"sparkrig already measures on {name} ({users.running[0]}); wait for its end")
    return [Finding(name, verdict) for verdict in judge_preflight(users)]
