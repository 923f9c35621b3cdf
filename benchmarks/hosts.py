"""Where is measured: the virtual pair, and light hosts on loopback."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import wanted
from benchmarks.shell import Ssh
from lab import NODES
from sparkrig import inventory, ssh
from sparkrig.facts.spark import Spark
from sparkrig.fleet import Fleet
from tests.plan import fleet
from tests.plan.conftest import ROOT
from tests.plan.desk import write
from tests.plan.distance import further

LAB = ROOT / "inventories" / "lab.py"
# Every contender runs apt's simulated upgrade, whose seconds would drown all else on a machine of two cores; and
# a container, for example, has no systemd to ask.
_STAND_INS = {
    "apt-get": "exit 0",
    "systemctl": "printf '%s\\n' Id=docker.service LoadState=loaded ActiveState=active SubState=running",
}


@dataclass(frozen=True)
class Place:
    """Hosts, and the files by which each contender reaches them.

    inventory: sparkrig's; hosts: Ansible's and stock pyinfra's; look: what the floor asks, as a shell script.
    """

    name: str
    count: int
    inventory: Path
    ssh_config: Path
    hosts: Path
    look: Path
    sudo: bool
    settled: bool  # as Sparks that are what is declared; else everything drifts
    round_trip_ms: int = 0


def prepared(name: str, folder: Path, file: Path, *, settled: bool, round_trip_ms: int = 0) -> Place:
    """The place of an inventory file, without what only a settled host can show (see `learn`)."""
    data = inventory.load(file)
    folder.mkdir(parents=True, exist_ok=True)
    place = Place(
        name,
        len(data),
        file,
        ssh_config=folder / "ssh_config",
        hosts=folder / "hosts.json",
        look=folder / "look.sh",
        sudo=all(values["_sudo"] for values in data.values()),
        settled=settled,
        round_trip_ms=round_trip_ms,
    )
    # no shared connections: each contender pays for its own, Ansible as it is configured
    lines = ssh.config(data, str(folder)).splitlines()
    place.ssh_config.write_text("\n".join(line for line in lines if "Control" not in line) + "\n")
    place.look.write_text(Spark().command())
    return place


def learn(place: Place) -> dict[str, Any]:
    """Let the other contenders know what the settled hosts of a place hold; gives what one of them does."""
    data = inventory.load(place.inventory)
    hosts, shell = Fleet.parse(data), Ssh(place.ssh_config)
    found = {name: wanted.host_vars(name, hosts, values, shell) for name, values in data.items()}
    place.hosts.write_text(wanted.dump(found))
    name, known = next(iter(found.items()))
    return {**known, "dpkg_status": shell.output(name, "cat /var/lib/dpkg/status")}


def pair(folder: Path) -> Place:
    """The virtual pair, which must run."""
    return prepared(" and ".join(NODES), folder, LAB, settled=True)


@contextmanager
def light(folder: Path, count: int, known: Mapping[str, Any], round_trip_ms: int = 0) -> Iterator[Place]:
    """Hosts behind sshds on loopback, all of them this machine itself: one Spark without fabric each.

    Real ssh, real shells, real files; dpkg's list is that of the pair, apt and systemctl are stand-ins. known:
    what `learn` found on a pair; round_trip_ms: by how much each is further away.
    """
    tools, dpkg = folder / "bin", folder / "dpkg"
    for each in (tools, dpkg):
        each.mkdir(parents=True)
    for name, text in _STAND_INS.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    (dpkg / "status").write_text(known["dpkg_status"])
    # a home of their own: what a user's .bashrc does is not part of a contender
    environment = f"SetEnv HOME={folder} PATH={tools}:{os.environ['PATH']} DPKG_ADMINDIR={dpkg}"
    with ExitStack() as there:
        logins = there.enter_context(fleet.listening_on_loopback(folder, count, environment))
        if round_trip_ms:
            ports = [login["ssh_port"] for login in logins]
            ways = there.enter_context(further(folder / "known", ports, round_trip_ms / 1000))
            logins = [{**login, "ssh_port": port} for port, login in zip(ways, logins, strict=True)]
        own = {"fabric": {}, "allow_non_spark": True, "_sudo": False}
        entries = [(f"light-{number:03}", {**own, **login}) for number, login in enumerate(logins)]
        file = write(folder / "inventory", entries)
        place = prepared(f"{count} light hosts", folder, file, settled=False, round_trip_ms=round_trip_ms)
        of_the_pair = ("ansible_", "ssh_", "_", "dpkg")
        shared = {key: value for key, value in known.items() if not key.startswith(of_the_pair)}
        alone = {"fabric": {}, "leads": False, "become_root": False}
        place.hosts.write_text(
            wanted.dump({name: {**shared, **wanted.login(data), **alone} for name, data in entries})
        )
        yield place
