"""`sparkrig storage` on hosts that are only made up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

import sparkrig.ssh
from sparkrig.cli.storage import storage as verb
from sparkrig.facts.storage import Disk
from sparkrig.operations import storage
from sparkrig.ssh.remote import Lost
from tests.unit import disks


def found(rows: str = disks.ROWS) -> Disk:
    made = disks.disk(rows)
    return Disk(made.journal, made.seen)


def typed(patch: pytest.MonkeyPatch, folder: Path, seen: Mapping[str, Disk | Lost], *words: str) -> Result:
    """What it prints."""
    file = folder / "sparks.py"
    file.write_text(f"sparks = {[(name, {'x_': 0}) for name in seen]!r}\n")

    def ask(hosts: Mapping[str, Any], _: str, question: Callable[[Any], Any]) -> dict[str, Any]:
        return {name: at if isinstance(at, Lost) else question(at) for name, at in hosts.items()}

    hosts = {name: at if isinstance(at, Lost) else SimpleNamespace(name=name) for name, at in seen.items()}
    # the real one patches the standard library of the whole process
    session = SimpleNamespace(connected=lambda _: nullcontext(hosts), ask=ask)
    patch.setattr(sparkrig.ssh, "session", session, raising=False)
    patch.setattr(storage, "look", lambda at, *_: seen[at.name])
    return CliRunner().invoke(verb, [str(file), *words])
