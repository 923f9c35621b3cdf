"""What an update would do to each host: what is seen of it, and what comes of that."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkrig import login
from sparkrig.host.releases import LATEST
from sparkrig.refusal import Refusal

if TYPE_CHECKING:
    from pyinfra.api import Host

    from sparkrig.fleet import Fleet
    from sparkrig.host.releases import Recipe
    from sparkrig.ssh.remote import Failed, Lost
    from sparkrig.update.look import Foreseen, Seen
    from sparkrig.update.report import Prospect

_LOOK_S = 120  # fwupd and two forecasts of apt
_FETCH_S = 720  # as operations/apt.py ends it
_MEANWHILE = (
    "sparkrig.facts.update",
    "sparkrig.facts.upgrade",
    "sparkrig.update.report",
    "sparkrig.terminal.screen",
)


def prospects(
    fleet: Fleet,
    data: Mapping[str, Mapping[str, Any]],
    looked: Mapping[str, Foreseen | Failed | Lost],
    parts: Collection[str],
    may_go: Collection[str] = frozenset(),
) -> dict[str, Prospect]:
    """What comes of each host; one that cannot be read stands by itself. may_go: packages that may be removed."""
    from sparkrig.update import report

    made: dict[str, Prospect] = {}
    for name, found in looked.items():
        if isinstance(found, Exception):
            _, why = login.hindrance(name, data[name], str(found))
            made[name] = report.Prospect(unread=why)
        else:
            made[name] = report.prospect(found, parts, fleet[name].driver_branch, may_go)
    return made


def looked(
    what: str,
    fleet: Fleet,
    data: Mapping[str, Mapping[str, Any]],
    to: str,
    parts: Collection[str],
    *,
    fetch: bool = False,
) -> dict[str, Foreseen | Failed | Lost]:
    """What is seen and foreseen of each host: two execs, since the second one needs what the first one saw.

    fetch: whether apt fetches its package lists first; for a release by its name once the Spark knows that one.
    """
    from sparkrig.ssh import session

    limits = {name: (3 * _LOOK_S + (_FETCH_S if fetch else 0)) * fleet[name].patience for name in data}

    def ask(at: Host) -> Foreseen:
        settings = fleet[at.name]
        return _asked(at, to, parts, settings.driver_branch, settings.patience, fetch=fetch)

    title = f"Looking at {what}"
    return session.asked(data, title, ask, wait_s=0, limits_s=limits, meanwhile=_MEANWHILE)


def _asked(at: Host, to: str, parts: Collection[str], declared: int, patience: float, *, fetch: bool) -> Foreseen:
    """What one host has, and what would come of it. Raises Failed or Lost."""
    from sparkrig.facts.update import Update
    from sparkrig.operations import apt, guard
    from sparkrig.ssh import remote
    from sparkrig.update import report
    from sparkrig.update.look import Foreseen

    seconds = int(_LOOK_S * patience)
    named = to not in (LATEST, report.CANDIDATE)  # and may be unknown, which is told before anything is fetched
    if fetch and not named:
        remote.execute(at, apt.update(), int(_FETCH_S * patience))
    seen = remote.read(at, Update(), seconds=seconds)
    if seen.preflight.armed:
        guard.settle(at, seen.preflight.armed, patience, "superseded by sparkrig update" if fetch else "")
        seen = remote.read(at, Update(), seconds=seconds)
    try:
        goal = report.goal(seen, to, parts, declared)
    except Refusal as refusal:
        return Foreseen(seen, None, None, refusal)
    if fetch and named:
        remote.execute(at, apt.update(), int(_FETCH_S * patience))
        seen = remote.read(at, Update(), seconds=seconds)
    return _foreseen(at, seen, goal, parts, declared, seconds)


def _foreseen(
    at: Host, seen: Seen, goal: Recipe | None, parts: Collection[str], declared: int, seconds: int
) -> Foreseen:
    from sparkrig.facts.upgrade import Upgrade
    from sparkrig.host import driver
    from sparkrig.ssh import remote
    from sparkrig.update import branch, update_limits
    from sparkrig.update.look import Asked, Foreseen

    way = branch.way(seen.driver, seen.releases, goal, moves="driver" in parts, declared=declared)
    try:
        words = branch.words(seen.driver, seen.repositories, goal, way)
    except Refusal as refusal:
        return Foreseen(seen, None, None, refusal)
    ours = tuple(driver.hold_set(seen.driver, way.now))
    released, held = (ours, ()) if "driver" in parts else ((), ours)
    if not released and "os" not in parts:
        return Foreseen(seen, goal, None)
    limits = update_limits.limits(seen.driver, seen.repositories, goal, way) if goal else ""
    asked = Asked(released, held, () if "os" in parts else released, limits, words)
    given = (asked.released, asked.limits, asked.alone, asked.held, seconds, asked.words)
    return Foreseen(seen, goal, remote.read(at, Upgrade(), *given, seconds=seconds), asked=asked)


def show(made: Mapping[str, Prospect], order: Sequence[str], mixed: Sequence[str]) -> None:
    """What an update would do to each host, on the screen. mixed: sentences about clusters."""
    from sparkrig.terminal.screen import Screen
    from sparkrig.update.render import update as picture

    picture.show(Screen(), made, order, mixed)
