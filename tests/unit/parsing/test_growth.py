"""Patterns that see a whole text take at most a little more than twice the time for twice the text."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable

from sparkrig.explain.tools import READERS
from sparkrig.serving import launch_text
from tests.tables import each_row

HOSTILE = ("\n", " \n", "# a\n \n", "#\n", "a\n", "| \n", "\t", "1 ", "{{a ", "{%")
NOTICED_S, MOST, LONGEST, ENDLESS_S = 0.004, 3.2, 4_096, 0.1


def grown(run: Callable[[str], object], part: str) -> float:
    """By how much the time grows when the text doubles, once it can be measured; 0 where it never can."""
    # what doubles with each part would never end at twice the parts
    if any(seconds(run, part * few + "!") > ENDLESS_S for few in range(4, 33, 2)):
        return float("inf")
    before, count = 0.0, 32
    while count <= LONGEST:
        took = min(seconds(run, part * count + "!") for _ in range(2))
        if before > NOTICED_S / MOST**2 and took > NOTICED_S and took / before > MOST:
            return took / before
        before, count = took, count * 2
    return 0.0


def seconds(run: Callable[[str], object], text: str) -> float:
    begin = time.process_time()
    run(text)
    return time.process_time() - begin


def found(words: re.Pattern[str]) -> Callable[[str], object]:
    return lambda text: deque(words.finditer(text), maxlen=0)


def test_the_first_lines_of_a_launch() -> None:
    def holds(words: re.Pattern[str]) -> None:
        assert [part for part in HOSTILE if grown(words.match, part)] == []

    each_row({launch_text._YAML.pattern: launch_text._YAML}, holds)


def test_the_signs_of_a_tool_and_of_a_form_of_launches() -> None:
    def holds(words: re.Pattern[str]) -> None:
        assert [part for part in HOSTILE if grown(found(words), part)] == []

    signs = [*launch_text._SIGNS.values(), *(sign.words for reader in READERS for sign in reader.signs)]
    each_row({each.pattern: each for each in signs}, holds)
