"""The files that NCCL, vLLM and Ray read, and what keeps their GID current."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from sparkrig.checks.network import moves
from sparkrig.files import File, Found, stale
from sparkrig.host import targets
from sparkrig.parsing import line_ends
from sparkrig.rdma import environment, gid
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Subject, check, refused, there
from sparkrig.resources.kind import Kind
from sparkrig.runs import file_diff
from sparkrig.runs.file_diff import without_gids

KINDS = (
    Kind(
        "environment.files",
        "RDMA",
        "the files for NCCL, vLLM and Ray can be made",
        "something that they need was not found on the host",
        "docs/fabric.md#address-and-gid",
    ),
    Kind(
        "environment.FILE",
        "RDMA",
        "a file for NCCL, vLLM and Ray is as declared",
        "it was edited or removed by hand, or the inventory changed since the last deploy",
        "docs/safety.md#the-journal",
    ),
)

_NAMED = 3  # as many lines are shown; more are counted


def due(subject: Subject) -> Iterator[str]:
    """The files that a deploy would write; where the network moves, those with GIDs are known only then."""
    if isinstance(subject.files, Refusal):  # there is no GID yet
        yield from environment.PATHS
    else:
        yield from (wanted.path for wanted in stale(subject.files, subject.found.files))
    yield from environment.WITH_GIDS if moves(subject) else ()


def checks(subject: Subject) -> Iterator[Check]:
    if isinstance(subject.files, Exception):
        files = refused("environment.files", "files for NCCL, vLLM and Ray", subject.files)
        yield replace(files, status="skipped", cure="") if _without_a_rail(subject) else files
        return
    for wanted in subject.files:
        yield file(f"environment.{PurePosixPath(wanted.path).name}", wanted, subject)


def _without_a_rail(subject: Subject) -> bool:
    """Whether a rail has no device or no GID, which other checks report (rdma)."""
    rails, found = subject.settings.fabric, subject.found.rdma
    return any(found.on(netdev) is None for netdev in rails) or bool(gid.missing(found.gids, rails))


def file(id: str, wanted: File, subject: Subject) -> Check:
    """A file of ours; its GID block is another check's (rdma.gid-index)."""
    found = subject.found.files.get(wanted.path)
    digest = hashlib.sha256(without_gids(wanted).encode()).hexdigest()[:8]
    want = f"{wanted.path} as declared ({digest})"  # so that another declaration is another want
    if found is None:
        return _barred(there(id, want, None, subject.apply), wanted, subject)
    differs = _differs(wanted, found)
    return _barred(check(id, not differs, want, differs or want, subject.apply), wanted, subject)


def _barred(found: Check, wanted: File, subject: Subject) -> Check:
    """The check with what keeps the deploy from writing the file, which has to be mended first."""
    bars = targets.bars(subject.found.preflight.barred, {wanted.path}) if found.wrong else []
    if not bars:
        return found
    return replace(found, found=f"{found.found}; {bars[0].what}", cure=subject.run(bars[0].command))


def _differs(wanted: File, found: Found) -> str:
    """In what way, in words; empty where it does not."""
    odd = [] if (found.mode, found.owner) == (wanted.mode, "root:root") else [f"{found.mode} {found.owner}"]
    here, declared = file_diff.sides(wanted, found)
    odd += [f"it is {found.fault}"] if found.fault else []
    odd += line_ends.differ(found.content, wanted.content)
    if here != declared:
        odd.append(_lines(wanted, found, line_ends.lines(declared), line_ends.lines(here)))
    return ", ".join(odd)


def _lines(wanted: File, found: Found, there: list[str], here: list[str]) -> str:
    more, less = [line for line in here if line not in there], [line for line in there if line not in here]
    if not more and not less:
        return "its lines stand in another order"
    counts = ", ".join(filter(None, (_count(more, "more"), _count(less, "less"))))
    keeps = file_diff.keeping(wanted, found)
    return "; ".join(filter(None, (counts, keeps)))


def _count(lines: list[str], word: str) -> str:
    """How many, and the first few."""
    if not lines:
        return ""
    first = "; ".join(map(file_diff.shown, lines[:_NAMED]))
    more = f"; and {len(lines) - _NAMED} lines" if len(lines) > _NAMED else ""
    return f"{len(lines)} line{'s' if len(lines) > 1 else ''} {word} ({first}{more})"
