"""What lies on a disk, as a screen shows it: whatever a host calls its things."""

from __future__ import annotations

import io
import random

import pytest

from sparkrig.facts.storage import Storage as StorageFact
from sparkrig.runs.journal import Journal
from sparkrig.storage.render.storage import Shown
from sparkrig.storage.report import Declared, Disk, host
from sparkrig.storage.storage import Storage
from sparkrig.terminal.screen import Screen
from tests.attacks.looks import mutated, poisoned, survives
from tests.attacks.texts import WORST, codes
from tests.unit.disks import BASE, NOW, ONE, ROWS

ROWS_OF_ALL = [*ROWS.split("\n"), "odd 3", "cut images", f'container {BASE} exited "/old" "vllm-sm121"']


def drawn(found: Storage, width: int = 40) -> str:
    """All that is made of it."""
    disk, file = Disk(found, Journal(NOW), Declared({ONE: "x"}, {"vllm-sm121": "y"})), io.StringIO()
    Screen(file=file, width=width).print(Shown("spark-a", disk))
    host(disk)
    return file.getvalue()


def test_the_worst_in_each_text_steers_nothing() -> None:
    shown = 0
    for at, row in poisoned(StorageFact(), ROWS_OF_ALL):
        found = survives(StorageFact(), [*ROWS_OF_ALL[:at], row, *ROWS_OF_ALL[at + 1 :]])
        text = drawn(found)
        assert not codes(text), row
        shown += WORST[-3:] in text or "script" in text
    assert shown > 3


@pytest.mark.slow  # every noise in every section, drawn at each width
def test_garbage_is_refused_or_shown() -> None:
    dice, drawn_ones = random.Random(7), 0
    for _ in range(1500):
        found = survives(StorageFact(), mutated(ROWS_OF_ALL, dice))
        if found is not None and drawn_ones < 250:
            assert not codes(drawn(found))
            drawn_ones += 1
    assert drawn_ones > 50


def test_no_line_is_wider_than_the_screen() -> None:
    for width in (20, 40, 80):
        lines = drawn(survives(StorageFact(), ROWS_OF_ALL), width).splitlines()
        assert max(len(line) for line in lines if not line.lstrip().startswith("sudo ")) <= width
