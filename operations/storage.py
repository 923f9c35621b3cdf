"""What lies on the disks of hosts, and what needs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyinfra.api import Host
from rich.console import Console

from sparkrig.facts.storage import Disk as Seen
from sparkrig.facts.storage import Disks
from sparkrig.fleet import Fleet
from sparkrig.serving.io import recipe_file
from sparkrig.serving.plan import Find
from sparkrig.ssh import remote
from sparkrig.storage import report as judgement
from sparkrig.storage.render import storage as picture
from sparkrig.storage.report import Disk, Report
from sparkrig.value import each_host

LOOK_S = 300  # times `patience`; a healthy host answers within a few


def look(at: Host, weights: str, patience: float) -> Seen:
    """What lies on the disks of a host, and its journal. Raises Failed or Lost."""
    return remote.read(at, Disks(), weights, seconds=int(LOOK_S * patience))


def shown(data: Mapping[str, Mapping[str, Any]], fleet: Fleet, find: Find, console: Console | None) -> Report:
    """The disks of those hosts, on a console unless it is None; for programs, too."""
    from sparkrig.ssh import session

    def ask(at: Host) -> Disk:
        settings = fleet[at.name]
        seen = look(at, settings.weights, settings.patience)
        return Disk(seen.storage, seen.journal, judgement.declared(fleet, at.name, find, recipe_file.read))

    with session.connected(data) as hosts:
        disks = session.ask(hosts, "Looking at the disks", ask)
    if console:
        for host, disk in disks.items():
            drawn = picture.unread(host, str(disk)) if isinstance(disk, Exception) else picture.Shown(host, disk)
            console.print(drawn, end="\n\n")
    unknown = any(isinstance(disk, Exception) or disk.unknown for disk in disks.values())
    return Report(hosts=each_host(disks, judgement.host), exit_code=3 if unknown else 0)
