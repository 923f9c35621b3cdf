"""Drift by a timer: what was asked for, what the last run left, and what a notice has to say.

A notice is sent when something is new or over, never because it is still so. What a notice was sent for stands in
`State.open`; a notice that was not delivered leaves that as it was, so the next run makes the same one again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Literal

from pydantic import BaseModel, ConfigDict

from sparkrig.cure import quoted_path
from sparkrig.drift.drift import Counts, Report
from sparkrig.text import plain

By = Literal["systemd", "cron"]
Kind = Literal["failure", "warning", "success", "info"]
RUN_S = 1800
"""The longest a run may take: a host has 90 s times its patience, 64 are asked at once."""

# What a chat takes for more than text: a name that it calls, what stands between angle brackets, and a link that
# shows other words. An address of mail calls nobody.
_MARKS = re.compile(r"@(?=everyone|here)|(?<![A-Za-z0-9])@(?=\S)|<(?=[^\s=])|\](?=\()", re.IGNORECASE)
_LINES, _CHARS = 20, 300  # of a notice: some services cut at 1,000 to 4,000 characters


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")  # a later sparkrig may have written more


class Schedule(_Model):
    """What was asked for.

    inventory: whole path; notify: that of a file that only its owner may read, or empty.
    """

    inventory: str
    every_s: int
    notify: str = ""

    @property
    def late_s(self) -> float:
        """After how long without a run one is missing: two of them, and the time that one may take."""
        return 2 * self.every_s + RUN_S


class Ran(_Model):
    """The last run. exit: of drift; trouble: why there is no report, empty where there is one."""

    started: datetime
    seconds: float
    exit: int
    trouble: str = ""
    counts: Counts = Counts()


class Problem(_Model):
    """What a notice is for. host: empty for a run that failed; id: of the check, or `unread`."""

    host: str
    id: str
    said: str

    @property
    def key(self) -> tuple[str, str]:
        return self.host, self.id

    @property
    def name(self) -> str:
        return f"{self.host} {self.id}" if self.host else "the run"


class State(_Model):
    """What lasts from one run to the next. open: what was told; unsent: why the last notice was not delivered."""

    ran: Ran | None = None
    open: tuple[Problem, ...] = ()
    unsent: str = ""


@dataclass(frozen=True)
class Notice:
    """What is sent. kind: as apprise has it."""

    title: str
    body: str
    kind: Kind


# --- what is open


def after_run(before: Sequence[Problem], report: Report | None, trouble: str) -> tuple[Problem, ...]:
    """What is open once a run ended. trouble: why it made no report.

    A host that cannot be read keeps what was known of it, and a run that failed keeps all.
    """
    if report:
        return tuple(_of_hosts(before, report))
    return Problem(host="", id="run", said=plain(trouble)), *(problem for problem in before if problem.host)


def _of_hosts(before: Sequence[Problem], report: Report) -> list[Problem]:
    problems = []
    for host in report.hosts:
        if host.unread is not None:
            problems.append(Problem(host=host.name, id="unread", said=f"cannot be read: {host.unread}"))
            problems += [each for each in before if each.host == host.name and each.id != "unread"]
        problems += [
            Problem(host=host.name, id=row.id, said=f"{row.found}; want: {row.want}")
            for row in host.rows
            if row.counts
        ]
    return problems


# --- what a notice says


def notice(schedule: Schedule, before: Sequence[Problem], after: Sequence[Problem], machine: str) -> Notice | None:
    """What is new and what is over; None where nothing changed. machine: the name of this one."""
    was, now = {each.key for each in before}, {each.key for each in after}
    new = [each for each in after if each.key not in was]
    over = [each for each in before if each.key not in now]
    if not (new or over):
        return None
    lines = [_line(f"NEW {each.name}: {each.said}") for each in new] + [
        _line(f"OVER {each.name}") for each in over
    ]
    still = len(now) - len(new)
    counted = (
        [f"{len(new)} new"] * bool(new) + [f"{len(over)} over"] * bool(over) + [f"{still} still"] * bool(still)
    )
    return Notice(
        f"{PurePath(schedule.inventory).name}: {', '.join(counted) if now else 'in spec again'}",
        _body(lines, schedule.inventory, machine),
        ("failure" if any(not problem.host or problem.id == "unread" for problem in new) else "warning")
        if new
        else ("info" if now else "success"),
    )


def hello(schedule: Schedule, machine: str) -> Notice:
    """The first notice of a schedule: it shows that notices arrive."""
    every = spoken(schedule.every_s)
    what = (
        f"Drift is looked for every {every}. You get a notice when something changes, and none while it stays so."
    )
    return Notice(
        f"{PurePath(schedule.inventory).name}: watched", _body([what], schedule.inventory, machine), "info"
    )


def _body(lines: Sequence[str], inventory: str, machine: str) -> str:
    more = [f"and {len(lines) - _LINES} more"] if len(lines) > _LINES else []
    return "\n".join([*lines[:_LINES], *more, "", f"On {plain(machine)}: sparkrig drift {quoted_path(inventory)}"])


def _line(text: str) -> str:
    """One line of a notice. A blank behind a mark makes words of a host mere text in every service."""
    whole = _MARKS.sub(r"\g<0> ", plain(text))
    return whole if len(whole) <= _CHARS else f"{whole[: _CHARS - 3]}..."


# --- what a person reads of it


@dataclass(frozen=True)
class Known:
    """A schedule as it stands on this machine, at `now`.

    by: cron where no unit of systemd is there; stopped: whether the unit's timer waits for nothing.
    """

    schedule: Schedule
    state: State
    by: By
    stopped: bool
    now: datetime


def standing(known: Known) -> list[str]:
    """What is wrong with the schedule itself, a sentence each; empty where it does what it should."""
    ran, unsent = known.state.ran, known.state.unsent
    wrong = ["the timer that runs drift was stopped"] if known.stopped else []
    if ran is None:
        wrong.append("no run yet")
    elif (known.now - ran.started).total_seconds() > known.schedule.late_s:
        wrong.append(f"no run since {ran.started.astimezone():%d %b %H:%M}")
    if ran and ran.trouble:
        wrong.append(f"the last run failed: {ran.trouble}")
    return [*wrong, *([f"the last notice was not taken: {unsent}"] if unsent else [])]


def spoken(seconds: int) -> str:
    """`30 min`, `1 h`, `2 days`."""
    for size, one, many in ((86400, "day", "days"), (3600, "h", "h")):
        if seconds % size == 0:
            return f"{seconds // size} {one if seconds == size else many}"
    return f"{seconds // 60} min"


def told(counts: Mapping[str, int]) -> str:
    """`in spec`, or what is not: of a report's counts."""
    parts = [f"{counts[each]} {each}" for each in ("drift", "unknown", "unread") if counts[each]]
    return ", ".join(parts) or "in spec"


# --- for programs


@dataclass(frozen=True)
class LastRun:
    """The last scheduled run of drift. trouble: why it made no report, empty where it made one."""

    started: str
    seconds: float
    exit: int
    trouble: str


@dataclass(frozen=True)
class Scheduled:
    """Drift by a timer (`sparkrig schedule`). last: None before the first run; wrong: of the schedule itself."""

    every_s: int
    by: Literal["systemd", "cron"]
    notifies: bool
    last: LastRun | None
    open: tuple[Problem, ...]
    wrong: list[str]


def document(known: Known) -> Scheduled:
    """The document of a schedule."""
    ran = known.state.ran
    return Scheduled(
        every_s=known.schedule.every_s,
        by=known.by,
        notifies=bool(known.schedule.notify),
        last=LastRun(ran.started.isoformat(), ran.seconds, ran.exit, ran.trouble) if ran else None,
        open=known.state.open,
        wrong=standing(known),
    )
