"""Each screen at each width: no line is wider than the screen, nothing is cut off, no command is broken."""

from __future__ import annotations

import io
import re
from itertools import product

from sparkrig.terminal.screen import Screen
from tests.tables import each_row
from tests.unit.screens import COMMAND, SCREENS

ALONE = re.compile(r" *((sudo|sparkrig|pyinfra|ssh|apt-get) .+|https?://\S+)")

HEADINGS = {"second", "column", "used", "by", "address", "RoCE"}  # of tables, which are lists on a narrow screen


def drawn(name: str, width: int, encoding: str = "utf-8") -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    SCREENS[name](Screen(file=file, width=width, color_system=None, legacy_windows=False))
    file.seek(0)
    return file.read().splitlines()


def test_no_line_is_wider_than_the_screen_but_a_command_by_itself() -> None:
    def holds(name: str, width: int, encoding: str) -> None:
        wide = [line for line in drawn(name, width, encoding) if len(line) > width]
        assert [line for line in wide if not ALONE.fullmatch(line)] == []

    each_row([*product(SCREENS, (80, 60, 40), ("utf-8", "ascii"))], holds)


def test_a_narrow_screen_shows_what_a_wide_one_does() -> None:
    def holds(name: str, width: int) -> None:
        whole, narrow = ({*re.findall(r"[\w.]+", " ".join(drawn(name, columns)))} for columns in (400, width))
        lost = {word for word in whole - narrow if len(word) <= width // 2}
        assert lost <= HEADINGS, lost

    each_row([*product(SCREENS, (80, 60, 40))], holds)


def test_a_command_is_on_one_line_of_each_screen_that_has_it() -> None:
    shown = {name: [*map(str.strip, drawn(name, 40))] for name in SCREENS}
    assert [name for name, lines in shown.items() if COMMAND in lines] == [
        *("doctor, one away", "findings", "plan", "update"),
    ]
