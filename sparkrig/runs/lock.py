"""The lock of a host: who works on it, from where, since when and why, and whether that run is still there.

It lies in /run, so a reboot frees it. Its holder is a process that the run starts over its own connection and that
keeps a file locked (flock(2)). That process ends as its output does, which the kernel closes with the connection;
so whether a lock is held is the kernel's word, whatever login shell, ssh server, sudo or wrapper lies in between
(docs/background/reasons.md weighs the other ways; Tailscale's server closes it too [@tailscale-ssh]).
A controller that knows its own earlier process to be dead may declare it so, for a connection can live on behind
a cut link. From a live holder it is taken by `sparkrig unlock` alone.
What is kept of an owner follows kamal's lock [@kamal].
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from sparkrig import programs
from sparkrig.cure import FILE, advice
from sparkrig.parsing import bounds, grammar
from sparkrig.refusal import Refusal
from sparkrig.text import plain

FOLDER = "/run/sparkrig"
_YEAR_10000 = 253402300800  # which datetime knows no more
RUNS = "/var/lib/sparkrig/runs"  # sparkrig.runs.journal describes what is in there
_NAME, _HOSTS = 253, 64  # characters of a host's name that are read (a DNS name has no more), and names of a run

TICK_S = 2  # a holder outlives its connection, or the lock, by as much

HOLD = programs.text("runs/lock_hold.sh")

# What orders the hosts of every run, from any controller: names differ between inventories, the hardware does not.
IDENTITY = "cat /sys/class/dmi/id/product_uuid /etc/machine-id 2>/dev/null | sha256sum | head -c 64"

LOCK = programs.text("runs/lock.sh")

RELEASE = programs.text("runs/lock_release.sh")

UNLOCK = programs.text("runs/lock_unlock.sh")


@dataclass(frozen=True)
class Owner:
    """Who began a run, and why, as the host keeps it.

    run: its id; who: user@machine; why: what was typed; version: of sparkrig; undoes: the run that it takes back,
    or nothing; origin: the address that ssh came from; since: seconds since 1970 by the host's clock; boot: the
    host's boot id then; hosts: the names of all that the run began on, empty where an older version kept none.
    """

    run: str = ""
    who: str = "an unknown user"
    why: str = "an unknown reason"
    version: str = ""
    undoes: str = ""
    origin: str = ""
    since: int = 0
    boot: str = ""
    hosts: tuple[str, ...] = ()


_THERE = {
    True: "its session is still there",
    False: "that run is dead, and the next one takes the lock over",
    None: "whether its session is still there cannot be told",
}


@dataclass(frozen=True)
class Lock:
    """The lock of a host as it stands.

    alive: whether its run is there, None where that is unknown; run: its id, as far as it can be read; id: of
    this very lock, by which it is taken away.
    """

    owner: Owner
    alive: bool | None
    run: str = ""
    id: str = ""

    @property
    def sentence(self) -> str:
        """Who holds it, and whether that run is there."""
        return f"{sentence(self.owner, self.run)}; {_THERE[self.alive]}"


@dataclass(frozen=True, kw_only=True)
class Unlock:
    """What came of each host, by its name, in words."""

    schema: Literal["sparkrig.unlock/1"] = "sparkrig.unlock/1"
    hosts: Mapping[str, str]


def given(run: str, who: str, why: str, version: str, undoes: str = "", hosts: Iterable[str] = ()) -> str:
    """The part of an owner that the controller knows, as the scripts take it."""
    by = {"run": run, "who": who, "why": why, "version": version, "undoes": undoes, "hosts": [*hosts]}
    return json.dumps(by)


def owner(text: str) -> Owner:
    """Read what a host keeps of an owner; one without a run where that is garbled (by a full disk, for one)."""
    try:
        found: Mapping[str, Any] = bounds.loads(text)
        by = {key: str(found["by"][key]) for key in ("run", "who", "why", "version", "undoes")}
        for id in filter(None, (by["run"], by["undoes"])):
            grammar.RUN.held(id)
        origin, since, boot = str(found["from"]), int(found["since"]), str(found["boot"])
        if not 0 <= since < _YEAR_10000:
            raise ValueError(f"{since} is no time")
        return Owner(**by, origin=origin, since=since, boot=boot, hosts=_hosts(found["by"].get("hosts")))
    except (ValueError, LookupError, TypeError):
        return Owner()


def _hosts(found: object) -> tuple[str, ...]:
    """The names that a host keeps of a run's hosts; none of what is no list of names."""
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        return ()
    return tuple(plain(name[:_NAME]) for name in found[:_HOSTS])


@dataclass(frozen=True)
class Answer:
    """What taking a lock came to.

    found: free, stale, ours, held, or unknown where it is there and its holder is not known; owner: whose it
    was; step: where that run is.
    """

    found: str
    owner: Owner
    step: str = ""

    @property
    def refused(self) -> bool:
        return self.found in ("held", "unknown")

    def refusal(self, at: str) -> Refusal:
        """Why nothing is done to the host of that name."""
        step = f", now at {self.step}" if self.step else ""
        doubt = f"; {_THERE[None]}" if self.found == "unknown" else ""
        return Refusal(
            f"{at} is locked by {sentence(self.owner)}{step}{doubt}",
            advice(f"wait for that run; if it is known to be dead: sparkrig unlock {FILE}"),
        )


def parse(text: str) -> Answer:
    """Read what `take` prints. Raises ValueError for anything else."""
    step = ""
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        found, _, whose = rest.partition(" ")
        if word == "step":
            step = re.sub(r"^\d+ (begun|ended \d+) ", "", rest)
        if word == "lock" and found in ("free", "stale", "ours", "held", "unknown"):
            return Answer(found, owner(whose), step)
    raise ValueError(f"the host did not say what became of its lock: {text[-200:]!r}")


def sentence(whose: Owner, run: str = "") -> str:
    """`root@laptop (from 10.0.2.2) since 03:15:00 UTC for: pyinfra ...`; run: of an owner that is garbled."""
    if not whose.run:
        named = f" of run {run}" if run else ""
        return f"an unknown holder (the owner.json{named} in {FOLDER}/lock is empty or garbled)"
    since = datetime.fromtimestamp(whose.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if whose.since else "?"
    origin = f" (from {whose.origin})" if whose.origin else ""
    return f"{whose.who}{origin} since {since} for: {whose.why}"
