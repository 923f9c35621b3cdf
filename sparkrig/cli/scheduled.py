"""What the two timers of `sparkrig schedule` do: run drift with its notices, and look for a missing run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from sparkrig.cure import quoted_path
from sparkrig.io import project, terminal
from sparkrig.refusal import Refusal
from sparkrig.text import listed, plain, reason

if TYPE_CHECKING:
    from sparkrig.reports.drift import Report
    from sparkrig.reports.schedule import Awake, Problem, Schedule, State

    Known = tuple[Schedule, State, Awake, list[str] | None]

_REPORTS = (0, 2, 3)  # exit codes of drift with a report
_SAID = 300  # characters of what drift complains of


def run(inventory: Path) -> int:
    """One run. Exit code 0 once it has a report and its notices were taken, whatever drift found; else 1."""
    from sparkrig.io import schedule_files
    from sparkrig.reports import schedule as judgement

    asked = _asked(inventory)
    with schedule_files.alone(inventory) as free:
        if not free:
            raise Refusal(f"another run of the schedule of {inventory} goes on", "the same once it ended")
        before = schedule_files.state(inventory)
        started, clock = datetime.now(UTC), monotonic()
        report, code, trouble = _drift(inventory)
        awake = schedule_files.awake()
        ran = judgement.Ran(
            started=started,
            seconds=round(monotonic() - clock, 1),
            exit=code,
            trouble=trouble,
            boot=awake.boot,
            clock_s=awake.clock_s,
            **({"counts": report.counts} if report else {}),
        )
        after = judgement.after_run(before.open, report, trouble, stopped(inventory))
        state = _told(asked, before.model_copy(update={"ran": ran, "runs": before.runs + 1}), after)
        schedule_files.keep_state(inventory, state)
        if report:
            schedule_files.keep_report(inventory, report, asked.keep)
        _measure(inventory, asked, state, report)
    what = f"failed: {trouble}" if report is None else judgement.told(report.counts.model_dump())
    terminal.echo(f"{inventory.name}: {what}")
    if report and not state.unsent:
        _beat(asked)
        return 0
    return 1


def check(inventory: Path) -> int:
    """Whether a run is missing. Exit code 0 where none is, or its notice was taken; else 1."""
    from sparkrig.io import schedule_files
    from sparkrig.reports import schedule as judgement

    asked = _asked(inventory)
    with schedule_files.alone(inventory) as free:
        if not free:  # a run goes on, so none is missing
            return 0
        before = schedule_files.state(inventory)
        after = judgement.after_check(before.open, asked, before.ran, schedule_files.awake(), stopped(inventory))
        state = _told(asked, before, after)
        if state != before:
            schedule_files.keep_state(inventory, state)
    for line in standing(inventory):
        terminal.echo(line)
    return 1 if state.unsent else 0


def standing(inventory: Path) -> list[str]:
    """How the schedule of an inventory stands, for a person; nothing where there is none. Raises Refusal."""
    from sparkrig.render import schedule as picture

    found = known(inventory)
    return picture.lines(*found) if found else []


def known(inventory: Path) -> Known | None:
    """What was asked for, what the last run left, the clocks, and the stopped timers; None without a schedule.

    Raises Refusal.
    """
    from sparkrig.io import schedule_files

    asked = schedule_files.schedule(inventory)
    if asked is None:
        return None
    return asked, schedule_files.state(inventory), schedule_files.awake(), stopped(inventory)


def stopped(inventory: Path) -> list[str] | None:
    """The timers of a schedule that wait for nothing; None where that is not known, or it has none."""
    from sparkrig.io import schedule_files, user_units
    from sparkrig.render import schedule as picture

    asked = schedule_files.schedule(inventory)
    if asked is None or asked.by == "cron":
        return None
    names = picture.units(schedule_files.folder(inventory).name)
    active = {option: user_units.active(timer) for option, (_, timer) in names.items()}
    if None in active.values():
        return None
    return [picture.STOPPED[option] for option, is_active in active.items() if not is_active]


def _asked(inventory: Path) -> Schedule:
    from sparkrig.io import schedule_files

    asked = schedule_files.schedule(inventory)
    if asked is None:
        raise Refusal(
            f"nothing is scheduled for {inventory}", f"sparkrig schedule {quoted_path(inventory)} --every 1h"
        )
    return asked


def _drift(inventory: Path) -> tuple[Report | None, int, str]:
    """The report, the exit code, and why there is no report. A process of its own, so that it can be given up."""
    from pydantic import ValidationError

    from sparkrig.reports.drift import Report
    from sparkrig.reports.schedule import RUN_S

    words = [str(Path(sys.executable).with_name("sparkrig")), "drift", str(inventory.absolute()), "--json"]
    try:
        done = subprocess.run(
            words,
            cwd=project.root(inventory),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=RUN_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, 1, f"drift did not end within {RUN_S // 60} min"
    except OSError as error:
        return None, 1, f"drift cannot be started: {reason(error)}"
    if done.returncode in _REPORTS:
        try:
            return Report.model_validate_json(done.stdout), done.returncode, ""
        except ValidationError:
            return None, done.returncode, "drift printed no report"
    last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "")
    said = plain(last.removeprefix("Error: "))[:_SAID]
    return None, done.returncode, said or f"drift ended with exit code {done.returncode}"


def _told(asked: Schedule, before: State, after: Sequence[Problem]) -> State:
    """The state after the notice of a change. Where it was not delivered, what was open before stays open."""
    from sparkrig.io import notify, schedule_files
    from sparkrig.reports.schedule import notice

    made = notice(asked, before.open, after, schedule_files.node())
    if made is None or not asked.notify:
        return before.model_copy(update={"open": tuple(after), "unsent": ""})
    try:
        failed, every = notify.send(Path(asked.notify), made)
    except Refusal as refusal:
        failed, every = [refusal.what], 1
    for each in failed:
        terminal.echo(f"Warning: {each}", err=True)
    if len(failed) == every:
        return before.model_copy(update={"unsent": listed(failed)})
    return before.model_copy(update={"open": tuple(after), "unsent": ""})


def _measure(inventory: Path, asked: Schedule, state: State, report: Report | None) -> None:
    """Write the metrics; where that fails, Prometheus misses them, and says so itself."""
    from sparkrig.io import schedule_files
    from sparkrig.render import schedule_prom

    if asked.textfile:
        id = schedule_files.folder(inventory).name
        try:
            schedule_files.keep_metrics(inventory, asked, schedule_prom.metrics(asked, state, report, id))
        except Refusal as refusal:
            terminal.echo(f"Warning: {refusal.what}. Try: {refusal.cure}", err=True)


def _beat(asked: Schedule) -> None:
    """Give the sign of life. A service that misses it says so itself."""
    from sparkrig.io import notify

    if asked.heartbeat and (why := notify.ping(Path(asked.heartbeat))):
        terminal.echo(f"Warning: {why}", err=True)
