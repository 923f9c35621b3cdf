"""The time of redaction grows with the text and no faster, and what an archive takes has a bound."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Callable
from itertools import product

import pytest

from sparkrig.redaction.redactor import Redactor
from sparkrig.redaction.words import Words, alone, anywhere
from sparkrig.support.archive import Archive, File, archive
from tests.attacks import canaries, growth, lines
from tests.tables import each_row

DICE = random.Random(49)


def test_words_are_found_as_a_pattern_of_all_of_them_finds_them() -> None:
    words = ["Ab", "abc", "abcd-e", "b.c", "\u017fen", "Café", "x1", *(f"w{number:03}" for number in range(80))]
    longest = "|".join(re.escape(each) for each in sorted(words, key=len, reverse=True))
    bounded = re.compile(rf"(?i)(?:(?<![^\W_])|(?<=\\[ntr]))(?:{longest})(?![^\W_])")
    for _ in range(200):
        text = "".join(DICE.choice([*words, " ", "_", "\\n", "A", "CAFÉ", "Sen", "\U000f0001"]) for _ in range(30))
        for fits, pattern in ((alone, bounded), (anywhere, re.compile(f"(?i){longest}"))):
            assert [*Words(zip(words, words, strict=True)).spans(text, fits)] == [
                each.span() for each in pattern.finditer(text)
            ], text


def test_of_more_text_than_an_archive_takes_the_end_of_the_longest_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    most = 1000
    monkeypatch.setattr("sparkrig.support.archive.ALL_CHARS", most)
    long = "a line of a log\n" * most
    made = archive(
        [File("machine-1/tools/a.txt", "short\n"), File("machine-1/tools/b.txt", f"{long}the newest\n")],
        Redactor(kinds=[]),
        Archive("1", "now", ("machine-1",), (), {}),
    )
    short, cut = made.files
    assert (short.text, short.cut, cut.cut) == ("short\n", False, True)
    assert cut.text.startswith("a line of") and cut.text.endswith("the newest\n")
    assert len(short.text + cut.text) <= most


def word(size: int) -> str:
    return "".join(DICE.choices("abcdefghkmnpqrstuvwxyz", k=size))


def pairs(size: int) -> str:
    return ":".join(f"{DICE.randrange(256):02x}" for _ in range(size))


PLANTED = lines.planted()
LINES: dict[str, Callable[[], str]] = {
    "MACs": lambda: pairs(6),
    "IPv6": lambda: f"2001:db8:{DICE.randrange(9999)}::{pairs(1)} ff02::1:ff{pairs(1)}:{DICE.randrange(9999):04d}",
    "keys": lambda: f"API_KEY={word(10)}{DICE.randrange(10**6)}",
    "names": lambda: f"{word(6)}@{word(9)} {word(8)}.{word(7)}.de /home/{word(7)}",
    "networks": lambda: f'ssid="{word(7)} {word(4)}"',
    "serial numbers": lambda: f"serial number: {word(4).upper()}{DICE.randrange(10**6)}",
    "ends of keys": lambda: f"-----END {word(5).upper()}-----",
    "base64": lambda: base64.b64encode(f"{word(5)} {word(6)}".encode()).decode(),
    "JSON": lambda: json.dumps({"a": f"{word(5)}\t{word(3)}"}),
    "attacks": lambda: DICE.choice(PLANTED).line,
    "nothing": str,
}
# what is repeated in one line
PARTS = ("x", "a:", "ff-", " ", "-", ".", "1.", '"', "\\", "ab@", "serial ", "eyJ", "/home/", "::1 ")
# what is linear takes six times as long, what goes with the square 36 times
SHORT, LONG, MOST = 8_000, 48_000, 15.0


def filled(make: Callable[[], str], end: str, size: int) -> str:
    parts: list[str] = []
    length = 0
    while length < size:
        parts.append(make() + end)
        length += len(parts[-1])
    return "".join(parts)


def read(text: str) -> None:
    redactor = Redactor(canaries.KNOWN)
    redactor.learn(text)
    redactor.leaks(redactor.redact(text))


@pytest.mark.slow  # 36 texts of 48 KB: a minute
def test_the_time_grows_with_the_text_and_no_faster() -> None:
    def grows(make: Callable[[], str], end: str) -> None:
        short, long = (filled(make, end, size) for size in (SHORT, LONG))
        first = min(growth.seconds(read, short) for _ in range(2))
        assert growth.seconds(read, long) < MOST * first

    rows = {f"{name} {end!r}": (LINES[name], end) for name, end in product(LINES, ("\n", " "))}
    each_row(rows | {part: (lambda: "", part) for part in PARTS}, grows)
