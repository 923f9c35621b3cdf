"""Newer tables from SOURCE: checked as they are read at run, and put in the place of those in use; and back."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from sparkrig.cure import quoted_path
from sparkrig.parsing import bounds
from sparkrig.refusal import Refusal
from sparkrig.serving.io import catalogue_files, lint_rules, table_archive, taken_tables, vllm_flags
from sparkrig.serving.io.taken_tables import Set, TakenRecord
from sparkrig.serving.tables import Tables
from sparkrig.terminal import atomic_write
from sparkrig.text import plain, reason

_NEW = ".new-"
_CHECKED_S = 3600  # a set is checked within seconds; what is older was left by a process that was killed


@dataclass(frozen=True)
class Offer:
    """Tables that were checked, and are not in use yet. content: their files by their paths."""

    set: Set
    tables: Tables
    content: Mapping[str, bytes]


def loaded(folder: Path) -> Tables:
    """The tables of a folder. Raises Refusal where one cannot stand."""
    return Tables(
        catalogue_files.catalogue(folder),
        lint_rules.shipped(folder),
        vllm_flags.knowledge(folder=folder),
        catalogue_files.newest(folder),
    )


def offer(source: str) -> Offer:
    """The tables of SOURCE, checked. Raises Refusal: not reached, torn, of another form, or older."""
    content = table_archive.read(source)
    whole = hashlib.sha256()
    for name, text in sorted(content.items()):
        whole.update(b"%d %s %d " % (len(name), name.encode(), len(text)) + text)
    with _written(content) as folder:
        try:
            tables = loaded(folder)
            _judge_text(folder, content)
        except Refusal as refusal:
            what = refusal.what.replace(f"{folder}/", "").replace(str(folder), source)
            raise Refusal(f"{source}: {what}", "a newer sparkrig, or another SOURCE") from None
    _judge_age(tables, source)
    kept = source if "://" in source else str(Path(source).resolve())
    return Offer(Set(digest=whole.hexdigest()[:16], day=tables.day, source=kept), tables, content)


def _judge_text(folder: Path, content: Mapping[str, bytes]) -> None:
    """Raises Refusal for what a terminal would obey, written as it is or as an escape of YAML."""
    for name in content:
        for text in bounds.texts(catalogue_files.read(folder / name)):
            if plain(text) != text.replace("\n", " "):
                raise Refusal(
                    f"{name}: {plain(text)[:60]!r} has a character that cannot be shown", "another SOURCE"
                )


def _judge_age(offered: Tables, source: str) -> None:
    """Of two sets of one day, the older is the one that knows a part of the other's sources."""
    day, now = offered.day, catalogue_files.newest(catalogue_files.used())
    known, own = catalogue_files.catalogue().sources.keys(), offered.catalogue.sources.keys()
    if day < now or (day == now and own < known):
        why = f"of {day}, and those are of {now}" if day < now else f"it lacks {len(known - own)} of their sources"
        what = f"{source} is older than the tables in use: {why}"
        raise Refusal(what, "sparkrig models update --back goes back to the ones before")
    if day > datetime.now(UTC).date() + timedelta(days=1):
        raise Refusal(f"{source} has a source of {day}, a day that is still to come", "date")


def take(offered: Offer) -> None:
    """Put them in use. Raises Refusal, and then the ones before are still in use."""
    with _alone():
        if not offered.set.folder.exists():
            with _written(offered.content) as folder:
                try:
                    folder.rename(offered.set.folder)
                except OSError as error:
                    raise _unwritten(offered.set.folder, error) from None
        _record(TakenRecord(used=offered.set, before=taken_tables.record().used))


def back() -> Set | None:
    """Put the ones before in use; None: those that sparkrig carries. Raises Refusal where nothing was taken."""
    with _alone():
        try:
            now = taken_tables.record()
        except Refusal:  # what cannot be read leads back to what sparkrig carries
            now = TakenRecord(used=Set(digest="0" * 16, day=date.min, source=""))
        if now.used is None:
            raise Refusal(
                "the tables in use are those that sparkrig carries, and none are before them", "sparkrig models"
            )
        _record(TakenRecord(used=now.before))
        return now.before


def _record(record: TakenRecord) -> None:
    atomic_write.folder(taken_tables.file())
    atomic_write.write(taken_tables.file(), record.model_dump_json() + "\n")
    kept = {each.digest for each in (record.used, record.before) if each}
    for folder in taken_tables.home().iterdir():
        checked = folder.name.startswith(_NEW) and time.time() - folder.lstat().st_mtime < _CHECKED_S
        if folder.is_dir() and folder.name not in kept and not checked:
            # what stays of it is looked at by nobody, and goes next time
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _alone() -> Iterator[None]:
    """While no other process changes which tables are used. Raises Refusal at once."""
    atomic_write.folder(taken_tables.file())
    handle = os.open(taken_tables.home(), os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # a wait would hold all greenlets
        except BlockingIOError:
            raise Refusal("another sparkrig models update is at work", "the same again") from None
        yield
    finally:
        os.close(handle)


@contextmanager
def _written(content: Mapping[str, bytes]) -> Iterator[Path]:
    """A new folder with these files, beside the sets; gone afterwards where nobody renamed it."""
    folder = taken_tables.home() / f"{_NEW}{os.urandom(4).hex()}"
    try:
        for name, text in content.items():
            atomic_write.folder(folder / name)
            atomic_write.create(folder / name, text, 0o644)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unwritten(folder: Path, error: OSError) -> Refusal:
    return Refusal(f"{folder} cannot be written: {reason(error)}", f"ls -ld {quoted_path(folder.parent)}")
