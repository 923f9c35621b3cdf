"""What `sparkrig startup` is given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

import sparkrig.ssh as package
from sparkrig.cli import startup
from sparkrig.serving.startup import Seen
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Lost
from tests.unit.startups import recorded, seen
from tests.unit.surveys import SETTINGS

HEAD, WORKER = seen(recorded("pair-head")), seen(recorded("pair-worker"))


Looks = list[dict[str, Seen | Lost]]


def typed(patch: pytest.MonkeyPatch, folder: Path, looks: Looks, *words: str) -> Result:
    """The verb on a pair whose hosts show one thing after the other."""
    file = folder / "pair.py"
    file.write_text(f"sparks = {list(SETTINGS.items())!r}\n")

    @contextmanager
    def connected(data: dict[str, Any]) -> Iterator[dict[str, None]]:
        yield dict.fromkeys(data)

    patch.setattr(package, "session", SimpleNamespace(connected=connected), raising=False)
    patch.setattr(remote, "each", lambda *_: looks.pop(0))
    patch.setattr("time.sleep", lambda _: None)
    return CliRunner().invoke(startup.startup, [str(file), *words])
