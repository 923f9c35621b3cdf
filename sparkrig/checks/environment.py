"""The files that NCCL, vLLM and Ray read, and what keeps their GID current."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from sparkrig import environment, gid
from sparkrig.check import Check, Subject, check, refused, there
from sparkrig.files import File, Found

WITH_GIDS = (environment.NCCL_CONF, environment.CONTAINER_ENV)


def checks(subject: Subject) -> Iterator[Check]:
    if isinstance(subject.files, Exception):
        files = refused("environment.files", "files for NCCL, vLLM and Ray", subject.files)
        yield replace(files, status="skipped", cure="") if _without_a_rail(subject) else files
        return
    for wanted in subject.files:
        yield file(f"environment.{PurePosixPath(wanted.path).name}", wanted, subject)


def _without_a_rail(subject: Subject) -> bool:
    """Whether a rail has no device or no GID, which other checks say (rdma)."""
    rails, found = subject.settings.fabric, subject.found.rdma
    return any(found.on(netdev) is None for netdev in rails) or bool(gid.missing(found.gids, rails))


def file(id: str, wanted: File, subject: Subject) -> Check:
    """A file of ours; its GID block is another check's (rdma.gid-index)."""
    found = subject.found.files.get(wanted.path)
    digest = hashlib.sha256(_without_gids(wanted).encode()).hexdigest()[:8]
    want = f"{wanted.path} as declared ({digest})"  # so that another declaration is another want
    if found is None:
        return there(id, want, None, subject.apply)
    differs = _differs(wanted, found)
    return check(id, not differs, want, differs or want, subject.apply)


def _differs(wanted: File, found: Found) -> str:
    """In what way, in words; empty where it does not."""
    odd = [] if (found.mode, found.owner) == (wanted.mode, "root:root") else [f"{found.mode} {found.owner}"]
    here, declared = _without_gids(replace(wanted, content=found.content)), _without_gids(wanted)
    if here != declared:
        odd.append(_lines(declared, here))
    return ", ".join(odd)


def _lines(wanted: str, found: str) -> str:
    here, there = found.splitlines(), wanted.splitlines()
    more, less = [line for line in here if line not in there], [line for line in there if line not in here]
    if not more and not less:
        return "its lines stand in another order"
    return ", ".join(filter(None, (_count(more, "more"), _count(less, "less"))))


def _count(lines: list[str], word: str) -> str:
    return f"{len(lines)} line{'s' if len(lines) > 1 else ''} {word}" if lines else ""


def _without_gids(file: File) -> str:
    """The text without what follows the devices by itself."""
    try:
        return gid.replace_block(file.content, "") if file.path in WITH_GIDS else file.content
    except ValueError:
        return file.content
