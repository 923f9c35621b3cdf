"""What holds for every tier."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkrig import cure
from tests import warm

# thousands of tests are no garbage; a tenth of their time went into looking through them
gc.set_threshold(50_000)
warm.keep_catalogue()
# a host that is lost on purpose does not reboot, so nobody waits for it (sparkrig/ssh/session.py)
os.environ.setdefault("SPARKRIG_WAIT_S", "0")
# the tables of a person's own updates are no matter of a test
os.environ["XDG_DATA_HOME"] = "/nonexistent"
# xdist gives its workers a width, which a person's pipe has not
os.environ.pop("COLUMNS", None)
NAMED = "pair.py"  # the inventory that every cure names
cure.TYPED[0] = NAMED


@pytest.fixture(autouse=True)
def no_inventory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test's inventory says of a host counts in no other test."""
    monkeypatch.setattr(cure, "LOGINS", {"@local": cure.THIS_MACHINE})
    monkeypatch.setattr(cure, "TYPED", [NAMED])
    monkeypatch.setattr(cure, "DEPLOYED_FROM", ["deploys"])
    monkeypatch.setattr(cure, "LISTED", [True])
    monkeypatch.setattr(cure, "AGAIN", [""])


@pytest.fixture(autouse=True)
def not_patched() -> Iterator[None]:
    """What imports the command of pyinfra is patched by it; there the threads of each later test stand still."""
    yield
    patches = sys.modules.get("gevent.monkey")
    patched = "pyinfra_cli" in sys.modules or (patches and patches.is_module_patched("threading"))
    assert not patched, "import it in a process of its own, as tests/warm.py does"


def mark_below(folder: Path, items: list[pytest.Item], *marks: pytest.MarkDecorator) -> None:
    """Mark all tests below a folder. CI leaves them to `make faults`, but for representative ones."""
    for item in items:
        if folder in item.path.parents:
            for mark in marks:
                item.add_marker(mark)
            if item.get_closest_marker("representative") is None:
                item.add_marker(pytest.mark.exhaustive)
