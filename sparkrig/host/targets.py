"""Whether a file of ours can be put in its place: what bars it, as seen before the first change.

A file is written anew beside the old one and renamed over it (operations/files.py), so it is its folder that must
be writable, and the old file must be one that a rename may replace. Sources: rename(2), chattr(1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from sparkrig.cure import on_host, quoted_path
from sparkrig.refusal import Refusal
from sparkrig.text import listed
from sparkrig.value import Value

# immutable: chattr +i; append-only: chattr +a; read-only: the mount; mount: the file is a mount point of its own;
# folder, fifo, socket, device: such a thing in place of a file, or at the end of a link there; no-folder: a
# file in place of a folder
Kind = Literal["immutable", "append-only", "read-only", "mount", "folder", "no-folder", "fifo", "socket", "device"]
_KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Barred(Value):
    """A file that cannot be written. path: of the file; where: the file or the folder that bars it."""

    kind: Kind
    where: str
    path: str


def parse(rows: Iterable[str]) -> tuple[Barred, ...]:
    """Read `KIND WHERE PATH` rows. Raises ValueError where one makes no sense."""
    return tuple(map(_row, rows))


def _row(row: str) -> Barred:
    word, where, path = row.split(" ")
    kind = next((each for each in _KINDS if each == word), None)
    if kind is None or not f"{path}/".startswith(f"{where.rstrip('/')}/"):
        raise ValueError(f"cannot read the row {row[:60]!r} of a file that cannot be written")
    return Barred(kind, where, path)


def refusals(found: Iterable[Barred], due: Collection[str]) -> list[Refusal]:
    """Why files cannot be written, once for each thing that bars some. due: the paths that are to be written."""
    return [Refusal(bar.what, on_host(f"{bar.sudo}{bar.command}")) for bar in bars(found, due)]


@dataclass(frozen=True)
class Bar:
    """What bars some files. what: in words; command: what to try as root; sudo: what a person types before it."""

    what: str
    command: str
    sudo: str


def bars(targets: Iterable[Barred], due: Collection[str]) -> list[Bar]:
    """Each thing that bars some of the paths that are to be written."""
    barred: dict[tuple[Kind, str], list[str]] = {}
    for target in targets:
        if target.path in due:
            barred.setdefault((target.kind, target.where), []).append(target.path)
    return [_bar(kind, where, paths) for (kind, where), paths in barred.items()]


def _bar(kind: Kind, where: str, paths: list[str]) -> Bar:
    due = "" if paths == [where] else f", and {listed(paths)} {'is' if len(paths) == 1 else 'are'} to be written"
    aside = f"mv {quoted_path(where)} {quoted_path(f'{where}.old')}"
    what, command = {
        "immutable": (f"is immutable (chattr +i){due}", f"chattr -i {quoted_path(where)}"),
        "append-only": (f"is append-only (chattr +a){due}", f"chattr -a {quoted_path(where)}"),
        "read-only": (f"cannot be written: its file system is read-only{due}", f"findmnt -T {quoted_path(where)}"),
        "mount": ("is a mount point, and a file is to be replaced there", f"umount {quoted_path(where)}"),
        "folder": ("is a directory, and a file is expected there", aside),
        "no-folder": (f"is no directory, and one is expected there{due}", aside),
        "fifo": ("is a FIFO, not a file", aside),
        "socket": ("is a socket, not a file", aside),
        "device": ("is a device, not a file", aside),
    }[kind]
    return Bar(f"{where} {what}", command, "" if kind == "read-only" else "sudo ")
