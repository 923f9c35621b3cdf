"""What `sparkrig support` makes: evidence and verdicts of each host, without what identifies its owner."""

from __future__ import annotations

import getpass
import json
import platform
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from traceback import format_exc
from typing import TYPE_CHECKING, Any

from sparkrig.doctor import examination
from sparkrig.doctor.examination import Seen
from sparkrig.facts.evidence import JOURNAL, Evidence
from sparkrig.facts.examination import Examination
from sparkrig.facts.journal import Journal
from sparkrig.facts.startup import Startup
from sparkrig.fleet import Fleet
from sparkrig.network import profiles
from sparkrig.operations.secrets import gathered
from sparkrig.operations.subject import subjects
from sparkrig.redaction.redactor import Redactor
from sparkrig.refusal import Refusal
from sparkrig.support import archive as archives
from sparkrig.support.archive import Archive, File
from sparkrig.terminal import project
from sparkrig.terminal.project import Where

if TYPE_CHECKING:
    from sparkrig.support.io.evidence import Collected

Drifted = Callable[..., str]
"""The document of drift on hosts that were looked at, as deploys/drifted.py judges them."""
_GIT_S = 5


_UNLISTED = (
    "no inventory declares the hosts: there is no drift, and the settings are the defaults and what was found"
)


@dataclass(frozen=True)
class Asked:
    """An inventory and its hosts."""

    inventory: Where
    fleet: Fleet
    data: Mapping[str, Mapping[str, Any]]


@dataclass
class _Found:
    """What hosts gave. looks: (host, look) -> as it was printed; verdicts: documents by name."""

    collected: Mapping[str, Collected]
    lost: dict[str, str]
    looks: dict[tuple[str, str], str]
    verdicts: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


def archive(asked: Asked, drifted: Drifted) -> Archive:
    """An archive of hosts as they are now; what cannot be had is named in it."""
    created = datetime.now(UTC)
    found = _collect(asked)
    asked = replace(asked, fleet=_judge(asked, found, drifted))
    redactor = _redactor(asked, found)
    folders = {name: redactor.machine(name) for name in asked.data}
    about = Archive(
        version("sparkrig"),
        f"{created:%Y-%m-%dT%H:%MZ}",
        tuple(folders.values()),
        (),
        {},
        tuple(found.missing) + tuple(f"{name}, all of it: {why}" for name, why in found.lost.items()),
        (*_notes(found), *([] if asked.fleet.declared else [_UNLISTED])),
    )
    return archives.archive(_files(asked.fleet, found, folders), redactor, about)


def _collect(asked: Asked) -> _Found:
    """Everything but the verdicts' own looks. A host that does not print its identifiers counts as lost."""
    from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.support.io import evidence

    looks: dict[tuple[str, str], str] = {}
    patience = {name: asked.fleet[name].patience for name in asked.data}

    def keep(host: str, look: str, printed: str) -> None:
        looks[host, look] = printed

    answers = session.asked(
        asked.data,
        f"Collecting evidence of {asked.inventory.name}",
        lambda at: evidence.collect(at, patience[at.name], keep),
        wait_s=0,
        limits_s={name: evidence.limit_s(factor) for name, factor in patience.items()},
    )
    collected = {name: each for name, each in answers.items() if not isinstance(each, Exception)}
    lost = {name: str(each) for name, each in answers.items() if isinstance(each, Exception)}
    missing = [sentence for each in collected.values() for sentence in each.missing]
    return _Found(collected, lost, looks, missing=missing)


def _judge(asked: Asked, found: _Found, drifted: Drifted) -> Fleet:
    """The verdicts of doctor and drift, from one look at each host that may be in the archive; what joins them."""

    def keep(host: str, look: str, printed: str) -> None:
        found.looks[host, look] = printed

    typed, fleet, data = project.as_typed(asked.inventory), asked.fleet, asked.data
    started, clock = datetime.now(UTC), time.monotonic()
    collected = {name: data[name] for name in found.collected}
    seen = Seen({}, {})
    if collected:
        from sparkrig.doctor.io import examine

        fleet, seen = examine.hosts(asked.inventory.name, fleet, collected, (), keep)
    found.missing += [f"{name}: the look examination: {why}" for name, why in seen.unread.items()]
    unread = {**seen.unread, **found.lost}

    def examined() -> str:
        every, hosts = Seen(seen.hosts, unread, seen.heard, seen.pings), subjects(fleet, seen.hosts)
        return examination.judged(typed, fleet, data, every, hosts, (), started, clock).dumps()

    def of_drift() -> str:
        return drifted(typed, fleet, data, seen.hosts, unread, started, clock)

    verdicts = {"doctor": examined} | ({"drift": of_drift} if fleet.declared else {})
    for name, judge in verdicts.items():
        try:
            found.verdicts[f"{name}.json"] = judge()
        except Exception:  # a fault of ours, which is evidence too, and must not take the rest with it
            found.verdicts[f"{name}.error.txt"] = format_exc()
            found.missing.append(f"the verdict of {name}: it failed, {name}.error.txt says how")
    return fleet


def _redactor(asked: Asked, found: _Found) -> Redactor:
    fleet, data = asked.fleet, asked.data
    named = {name: (name, *filter(None, [str(data[name].get("ssh_hostname") or "")])) for name in data}
    users = [str(each["ssh_user"]) for each in data.values() if each.get("ssh_user")]
    with suppress(KeyError, OSError):  # a container may have a user without a name
        users.append(getpass.getuser())
    identifiers = {name: each.identifiers for name, each in found.collected.items()}
    known = archives.known(identifiers, {**named, "": (platform.node(),)}, users, _secrets(fleet))
    netdevs = {netdev for name in data for netdev in fleet[name].fabric if not netdev.startswith("enx")}
    return Redactor(known, ordinary=_ordinary(), shared=map(profiles.uuid, netdevs))


def _secrets(fleet: Fleet) -> Iterator[str]:
    """The value of each secret from its source on this machine, where that can be read."""
    for source in {pair for each in fleet.values() for pair in each.secrets.items()}:
        with suppress(Refusal):
            yield from (value.get_secret_value() for value in gathered(dict([source])).values() if value)


def _ordinary() -> set[str]:
    """The words of our own looks: a host that is called `port` must not take that word out of what they print."""
    scripts = (Examination().command(), Evidence().command(), Journal().command(), Startup().command())
    return {word.lower() for script in scripts for word in re.findall(r"[A-Za-z][A-Za-z0-9]+", script)}


def _notes(found: _Found) -> list[str]:
    kinds = [f"{host}: {each}" for host, told in found.collected.items() for each in told.identifiers.unread]
    unknown = [f"{each}; such values are replaced where their form or label tells of them" for each in kinds]
    lost = [f"{name}: what others print of it is replaced where its form tells of it" for name in found.lost]
    return unknown + lost


def _files(fleet: Fleet, found: _Found, folders: Mapping[str, str]) -> list[File]:
    settings = {folders[name]: fleet[name].model_dump(mode="json") for name in folders}
    made = [
        File("versions.json", json.dumps(_versions(), indent=2) + "\n"),
        File("settings.json", json.dumps(settings, indent=2) + "\n"),
        *(File(name, text + "\n") for name, text in found.verdicts.items()),
    ]
    for host, folder in folders.items():
        looks = {look: text for (name, look), text in found.looks.items() if name == host}
        made += [File(f"{folder}/looks/{look}.txt", f"{text}\n") for look, text in looks.items()]
        parts = found.collected[host].parts if host in found.collected else {}
        for name, part in parts.items():
            room = "" if name.startswith(f"{JOURNAL}/") else "tools/"
            made.append(File(f"{folder}/{room}{name}.txt", part.text, part.cut))
    return made


def _versions() -> dict[str, str]:
    """Of what made the archive."""
    told = {
        "sparkrig": version("sparkrig"),
        "pyinfra": version("pyinfra"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }
    with suppress(OSError, subprocess.SubprocessError):  # no clone, or no git: then there is no commit to name
        words = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--exclude=*"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=_GIT_S, check=True)
        told["commit"] = done.stdout.strip()
    return told
