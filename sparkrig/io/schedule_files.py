"""The files of a schedule on this machine: what was asked for, what the last run left, and the last reports.

Each inventory has a folder, named as its last drift report is. One process at a time writes there.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout
from pydantic import BaseModel, ValidationError

from sparkrig import controller
from sparkrig.cure import quoted_path
from sparkrig.io import atomic_write, drift_files
from sparkrig.refusal import Refusal
from sparkrig.reports.drift import Report
from sparkrig.reports.schedule import Awake, Schedule, State
from sparkrig.text import reason

T = TypeVar("T", bound=BaseModel)


class _Damaged(Refusal):
    """A file that is there, and has not what is kept in it."""


def folder(inventory: Path) -> Path:
    """Where all of it lies."""
    report = drift_files.last(inventory)
    return report.parents[1] / "schedule" / report.stem


def exist(inventory: Path) -> bool:
    """Whether anything of it lies there; a folder that cannot be has nothing."""
    try:
        return folder(inventory).exists()
    except OSError:
        return False


def schedule(inventory: Path) -> Schedule | None:
    """What was asked for; None where nothing was. Raises Refusal."""
    return _read(folder(inventory) / "schedule.json", Schedule)


def state(inventory: Path) -> State:
    """What the last run left; nothing where that is damaged, so what is open is told again. Raises Refusal."""
    try:
        return _read(folder(inventory) / "state.json", State) or State()
    except _Damaged:
        return State()


def keep_schedule(inventory: Path, made: Schedule) -> None:
    _write(folder(inventory) / "schedule.json", made.model_dump_json(indent=1))


def keep_state(inventory: Path, made: State) -> None:
    _write(folder(inventory) / "state.json", made.model_dump_json(indent=1))


def keep_report(inventory: Path, report: Report, most: int) -> None:
    """Add a report, and remove the oldest ones beyond so many. Raises Refusal."""
    file = folder(inventory) / "reports" / f"{report.started.astimezone(UTC):%Y%m%dT%H%M%SZ}.json"
    _write(file, report.dumps())
    for old in sorted(file.parent.glob("*.json"))[:-most]:
        old.unlink(missing_ok=True)


def metrics_file(inventory: Path, made: Schedule) -> Path:
    """Where its metrics are for node_exporter; of each inventory one file."""
    return Path(made.textfile) / f"sparkrig-{folder(inventory).name}.prom"


def keep_metrics(inventory: Path, made: Schedule, text: str) -> None:
    """Replace them; node_exporter, another user, may read them. Raises Refusal."""
    atomic_write.write(metrics_file(inventory, made), text, 0o644)


def forget_metrics(inventory: Path, made: Schedule | None) -> None:
    """Remove them: a file that stays would show its last run for ever. Raises Refusal."""
    if made and made.textfile:
        atomic_write.remove(metrics_file(inventory, made))


def forget(inventory: Path) -> None:
    """Remove all of it. Raises Refusal."""
    place = folder(inventory)
    try:
        shutil.rmtree(place, ignore_errors=False)
    except FileNotFoundError:
        return
    except OSError as error:
        raise Refusal(f"{place} cannot be removed: {reason(error)}", f"ls -ld {quoted_path(place)}") from None


@contextmanager
def alone(inventory: Path) -> Iterator[bool]:
    """Whether this is the one process that works on a schedule, for as long as the block lasts. Raises Refusal."""
    file = folder(inventory) / "lock"
    atomic_write.folder(file)
    lock = FileLock(file, timeout=0, mode=0o600, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        yield False
        return
    except OSError as error:
        raise Refusal(f"{file} cannot be locked: {reason(error)}", f"ls -ld {quoted_path(file.parent)}") from None
    try:
        yield True
    finally:
        lock.release()


def awake() -> Awake:
    """The clocks of this machine; on Linux `time.monotonic` stands still while it sleeps (clock_gettime(2))."""
    return Awake(controller.boot_id(), time.monotonic(), datetime.now(UTC))


def _write(file: Path, text: str) -> None:
    atomic_write.folder(file)
    atomic_write.write(file, text, 0o600)


def _read(file: Path, kind: type[T]) -> T | None:
    try:
        return kind.model_validate_json(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Refusal(f"{file} cannot be read: {reason(error)}", f"ls -l {quoted_path(file)}") from None
    except (ValidationError, UnicodeDecodeError):
        raise _Damaged(f"{file} is damaged", f"rm {quoted_path(file)}, and schedule it again") from None


def node() -> str:
    """The name of this machine."""
    return os.uname().nodename
