"""The files of a schedule on this machine: what was asked for, and what the last run left.

Each inventory has a folder, named as its last drift report is. One process at a time writes there.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout
from pydantic import BaseModel, ValidationError

from sparkrig.cure import quoted_path
from sparkrig.drift.io import drift_files
from sparkrig.refusal import Refusal
from sparkrig.terminal import atomic_write
from sparkrig.text import reason
from sparkrig.watch.schedule import Schedule, State

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
def alone(inventory: Path) -> Iterator[None]:
    """Be the one process that works on a schedule. Raises Refusal where another one does."""
    file = folder(inventory) / "lock"
    atomic_write.folder(file)
    lock = FileLock(file, timeout=0, mode=0o600, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        raise Refusal(f"a run of the schedule of {inventory} goes on", "the same once it ended") from None
    except OSError as error:
        raise Refusal(f"{file} cannot be locked: {reason(error)}", f"ls -ld {quoted_path(file.parent)}") from None
    try:
        yield
    finally:
        lock.release()


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
