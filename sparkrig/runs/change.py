"""One thing that a step of the deploy changes on a host, old to new: what plans are made of.

An operation reports its changes from the values from which it makes its commands (operations/plan.py), so that
nothing is judged a second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from sparkrig.files import File, Found, stale
from sparkrig.parsing import line_ends
from sparkrig.resources import file_diff
from sparkrig.text import listed

Kind = Literal[
    "file",
    "package",
    "hold",
    "profile",
    "link",
    "address",
    "mtu",
    "netplan",
    "service",
    "secret",
    "login",
    "rails",
]
# What stands before the item in a sentence (a path speaks for itself), and seconds that a step with such a change
# takes, times patience. The guard's proofs and the measurements: the virtual pair on two emulated cores
# (docs/performance.md); all else is our own reasoning, and depends on the line where apt loads something.
KINDS: Mapping[Kind, tuple[str, int]] = {
    "file": ("", 0),
    "package": ("package ", 60),
    "hold": ("hold ", 20),
    "profile": ("profile of ", 25),
    "link": ("", 25),
    "address": ("address of ", 25),
    "mtu": ("MTU of ", 25),
    "netplan": ("netplan file ", 25),
    "service": ("service ", 10),
    "secret": ("secret ", 0),
    "login": ("", 0),
    "rails": ("rails ", 40),
}

NAMED = 3  # packages that are held together; more are counted


@dataclass(frozen=True)
class Change:
    """One thing that changes.

    kind: what it is; item: its name (a path, a package, a netdev, ...); before: None where it is absent; after:
    None where it goes; diff: of a file, a unified diff without values that look like secrets; keeps: of a
    file, what keeps the lines that go, or empty.
    """

    kind: Kind
    item: str
    before: str | None
    after: str | None
    diff: tuple[str, ...] = ()
    # what breaks off meanwhile, in words, or empty; a document has it once for each host
    interrupts: Annotated[str, Field(exclude=True)] = ""
    keeps: str = ""
    # of a file, how many lines go and come: where its diff is shown below
    brief: Annotated[str, Field(exclude=True)] = ""

    @property
    def line(self) -> str:
        """`mtu of enp1s0f0np0: 1500 -> 9000`."""
        keeps = f" ({self.keeps})" if self.keeps else ""
        return f"{self.kind} {self.item}: {self.before or 'none'} -> {self.after or 'none'}{keeps}"


def of_files(wanted: Iterable[File], found: Mapping[str, Found]) -> Iterator[Change]:
    """The files that must be written, each with what becomes of it; compared only once they are asked for."""
    return (of_file(file, found.get(file.path)) for file in stale(wanted, found))


def of_file(file: File, found: Found | None) -> Change:
    """A file that must be written; found: as it stands on the host, None where it is absent."""
    if found is None:
        count = len(line_ends.lines(file.content))
        new = f"a new file, {count} line{'' if count == 1 else 's'}"
        return Change("file", file.path, None, new, file_diff.diff(file.path, "", file.content))
    rows = file_diff.diff(file.path, *file_diff.sides(file, found))
    diff = (*file_diff.ends(found.content, file.content), *rows)
    keeps = file_diff.keeping(file, found)
    differs = file_diff.sentence(file, found) or "another GID index"  # which is no change of a file's own
    brief = file_diff.sentence(file, found, named=False)
    return Change("file", file.path, differs, "as declared", diff, keeps=keeps, brief=brief)


def few(names: Sequence[str]) -> list[str]:
    """The first names of many, and how many more there are."""
    return [*names[:NAMED], f"{len(names) - NAMED} more"] if len(names) > NAMED + 1 else [*names]


def lines(changes: Sequence[Change]) -> list[str]:
    """The changes for a log: a line each, all holds in one, and the diff of each file that was there before."""
    told: list[str] = []
    if held := [each.item for each in changes if each.kind == "hold"]:
        told.append(f"hold {len(held)} packages: {listed(few(held))}")
    for change in changes:
        if change.kind != "hold":
            told.append(change.line)
            told += [f"    {row}" for row in change.diff if change.before is not None]
    return told
