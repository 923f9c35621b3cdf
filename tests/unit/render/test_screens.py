"""Each screen at each width: no line is wider than the screen, nothing is cut off, no command is broken."""

from __future__ import annotations

import io
import re
import shlex
from itertools import product

from sparkrig.terminal.screen import Screen
from tests.tables import each_row
from tests.unit.screens import COMMAND, SCREENS

STYLE = re.compile(r"\x1b\[[\d;]*m")
COLOUR = re.compile(r"\x1b\[[\d;]*\b(?:3[0-8]|4[0-8]|9[0-7])[\d;]*m")
ALONE = re.compile(r" *((sudo|sparkrig|pyinfra|ssh|apt-get) .+|https?://\S+)")

HEADINGS = {
    "second",
    "column",
    "used",
    "by",
    "address",
    "RoCE",
    "direction",
}  # of tables, lists on a narrow screen
LEAVING_OUT = {"models": 76, "model": 60}  # columns below which these leave out columns of a table, on purpose


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
        if width < LEAVING_OUT.get(name, 0):
            return
        whole, narrow = ({*re.findall(r"[\w.]+", " ".join(drawn(name, columns)))} for columns in (400, width))
        lost = {word for word in whole - narrow if len(word) <= width // 2}
        assert lost <= HEADINGS, lost

    each_row([*product(SCREENS, (80, 60, 40))], holds)


def test_a_screen_in_a_pipe_is_plain_text_and_one_with_no_color_has_styles_alone() -> None:
    def written(name: str, **environment: str) -> str:
        file = io.StringIO()
        console = Screen(
            file=file, width=80, legacy_windows=False, _environ={"TERM": "xterm-256color", **environment}
        )
        SCREENS[name](console)
        return file.getvalue()

    def holds(name: str) -> None:
        piped = written(name)
        assert "\x1b" not in piped
        assert [line for line in piped.splitlines() if line != line.rstrip()] == []
        forced = [written(name, FORCE_COLOR="1"), written(name, FORCE_COLOR="1", NO_COLOR="1")]
        assert not COLOUR.search(forced[1])
        assert [STYLE.sub("", each).split() for each in forced] == [piped.split()] * 2

    each_row([*SCREENS], holds)
    assert COLOUR.search(written("drift", FORCE_COLOR="1"))


def test_the_launch_of_a_model_is_one_command_on_each_screen() -> None:
    def typed(width: int) -> list[list[str]]:
        page = "\n".join(drawn("model", width))
        return [shlex.split(each.replace("\\\n", " ")) for each in re.findall(r"vllm serve (?:.*\\\n)*.*", page)]

    assert len(typed(400)) == 2 and all(typed(width) == typed(400) for width in (80, 60, 40))


def test_a_command_is_on_one_line_of_each_screen_that_has_it() -> None:
    shown = {name: [*map(str.strip, drawn(name, 40))] for name in SCREENS}
    assert [name for name, lines in shown.items() if any(line.endswith(COMMAND) for line in lines)] == [
        *("doctor, one away", "findings", "plan", "update", "bandwidth, refused")
    ]
