"""Every unit test of the lab gets an empty lab of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def lab_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    # pytest's own tmp_path is too long for Unix sockets.
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("SPARKRIG_LAB_DIR", folder)
        monkeypatch.delenv("SPARKRIG_LAB_PORT", raising=False)
        yield Path(folder)
