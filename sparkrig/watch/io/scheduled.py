"""What the timer of `sparkrig schedule` does: run drift, and send a notice of what changed."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from sparkrig.cure import quoted_path
from sparkrig.refusal import Refusal
from sparkrig.terminal import project, terminal
from sparkrig.text import listed, plain, reason, some

if TYPE_CHECKING:
    from sparkrig.drift.drift import Report
    from sparkrig.watch.schedule import Known, Problem, Schedule, State

_NAMED = 4  # hosts
_SAID = 300  # characters of what drift complains of


def run(inventory: Path) -> int:
    """One run. Exit code 0 once it has a report and its notices were taken, whatever drift found; else 1."""
    from sparkrig.watch import schedule as judgement
    from sparkrig.watch.io import schedule_files

    asked = schedule_files.schedule(inventory)
    if asked is None:
        raise Refusal(
            f"nothing is scheduled for {inventory}",
            f"sparkrig schedule {quoted_path(inventory)} --every 1h, and with --now behind it where no systemd is",
        )
    with schedule_files.alone(inventory):
        before = schedule_files.state(inventory)
        started, clock = datetime.now(UTC), monotonic()
        report, code, trouble = _drift(inventory)
        ran = judgement.Ran(
            started=started,
            seconds=round(monotonic() - clock, 1),
            exit=code,
            trouble=trouble,
            **({"counts": report.counts} if report else {}),
        )
        after = judgement.after_run(before.open, report, trouble)
        state = _told(asked, before.model_copy(update={"ran": ran}), after)
        schedule_files.keep_state(inventory, state)
    outcome = judgement.told(report.counts.model_dump()) if report else f"failed: {trouble}"
    unread = [host.name for host in report.hosts if host.unread is not None] if report else []
    why = f" ({some(unread, _NAMED)}; sparkrig drift {quoted_path(inventory)} says why)" if unread else ""
    terminal.echo(f"{inventory.name}: {outcome}{why}")
    return 1 if trouble or state.unsent else 0


def known(inventory: Path) -> Known | None:
    """How the schedule of an inventory stands; None where there is none. Raises Refusal."""
    from sparkrig.watch.io import schedule_files, user_units
    from sparkrig.watch.render.schedule import units
    from sparkrig.watch.schedule import Known

    asked = schedule_files.schedule(inventory)
    if asked is None:
        return None
    _, timer = units(schedule_files.folder(inventory).name)
    there = user_units.there([timer])
    return Known(
        asked,
        schedule_files.state(inventory),
        by="systemd" if there else "cron",
        stopped=bool(there) and user_units.active(timer) is False,
        now=datetime.now(UTC),
    )


def _drift(inventory: Path) -> tuple[Report | None, int, str]:
    """The report, the exit code, and why there is no report. A process of its own, so that it can be given up."""
    from pydantic import ValidationError

    from sparkrig.drift.drift import Report
    from sparkrig.watch.schedule import RUN_S

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
    last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "")
    complaint = plain(last.removeprefix("Error: "))[:_SAID]
    try:
        report = Report.model_validate_json(done.stdout)
    except ValidationError:
        return None, done.returncode, complaint or f"drift ended with exit code {done.returncode} and no report"
    return report, done.returncode, ""


def _told(asked: Schedule, before: State, after: Sequence[Problem]) -> State:
    """The state after the notice of a change. Where it was not delivered, what was open before stays open."""
    from sparkrig.watch.io import notify
    from sparkrig.watch.schedule import notice

    made = notice(asked, before.open, after, platform.node())
    if made is None or not asked.notify:
        return before.model_copy(update={"open": tuple(after), "unsent": ""})
    try:
        failed, every = notify.send(Path(asked.notify), made)
    except Refusal as refusal:
        failed, every = [refusal.what], 1
    for sentence in failed:
        terminal.echo(f"Warning: {sentence}", err=True)
    if len(failed) == every:
        return before.model_copy(update={"unsent": listed(failed)})
    return before.model_copy(update={"open": tuple(after), "unsent": ""})
