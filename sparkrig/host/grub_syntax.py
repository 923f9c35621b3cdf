"""The language of grub.cfg, as far as grub-mkconfig writes it: words, commands, conditions, loops."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from sparkrig.text import plain

FOLDER: Final = "/boot/grub"
NAMES = ("grub.cfg", "grubenv", "custom.cfg")
CFG, ENV, CUSTOM = (f"{FOLDER}/{name}" for name in NAMES)
_SHOWN = 80  # characters of a name from the menu in a sentence
DEPTH = 16  # of blocks in blocks, functions in functions and submenus in submenus; Ubuntu has four


class Untold(ValueError):
    """What GRUB boots next depends on something that its files do not contain; the message names it."""


def shown_name(text: str | None) -> str:
    return plain(text or "")[:_SHOWN]


@dataclass(frozen=True)
class Word:
    """The pieces of a word, as text or as the name of a variable; bare: whether none of it is quoted."""

    pieces: tuple[tuple[str, str], ...]
    bare: bool

    @property
    def text(self) -> str | None:
        """The word itself where it may be a keyword."""
        return "".join(text for _, text in self.pieces) if self.bare and not self._variables else None

    @property
    def _variables(self) -> bool:
        return any(kind == "variable" for kind, _ in self.pieces)


@dataclass(frozen=True)
class Command:
    """A command with its words."""

    words: tuple[Word, ...]
    block: tuple[Statement, ...] | None = None  # of a function, an entry or a submenu


@dataclass(frozen=True)
class If:
    """Each condition with what it leads to, and what is done where none holds."""

    branches: tuple[tuple[tuple[Statement, ...], tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True)
class Loop:
    """A `for`, `while` or `until`; its condition is never read."""

    variable: str  # of a `for`, else empty
    block: tuple[Statement, ...]


Statement = Command | If | Loop
_VARIABLE = r"\$(?:\{[^{}\s]{1,64}\}|[A-Za-z_]\w{0,63}|[0-9?*@#])"
_PIECE = re.compile(
    r"'(?P<raw>[^']*)'"
    r'|"(?P<quoted>(?:[^"\\]|\\.)*)"'
    rf"|(?P<variable>{_VARIABLE})"
    r"|\\(?P<escaped>.)"
    r"""|(?P<text>[^\s;{}|&<>'"\\$]+|\$)""",
    re.DOTALL,
)
_IN_QUOTES = re.compile(rf'(?P<variable>{_VARIABLE})|\\(?P<escaped>["\\$])|\\\n|(?P<text>[^\\$]+|.)', re.DOTALL)
_SKIPPED = re.compile(r"(?:[ \t\r]|\\\n)+|#[^\n]*")
_MARK = re.compile(r"[;\n{}]|&&?|\|\|?")
_OPENS = ("function", "menuentry", "submenu")


def _symbols(text: str) -> Iterator[Word | str]:
    """Words, and `;` `{` `}`; the end of a line is a `;`."""
    at = 0
    while at < len(text):
        if found := _SKIPPED.match(text, at):
            at = found.end()
        elif found := _MARK.match(text, at):
            at = found.end()
            yield found[0] if found[0] in "{}" else ";"
        else:
            at, word = _word(text, at)
            yield word
    yield ";"


def _word(text: str, at: int) -> tuple[int, Word]:
    pieces: list[tuple[str, str]] = []
    begin, bare = at, True
    while found := _PIECE.match(text, at):
        at = found.end()
        kind = found.lastgroup or ""
        if kind == "quoted":
            pieces += _pieces(_IN_QUOTES.finditer(found["quoted"]))
        else:
            pieces += _pieces([found])
        bare = bare and kind in ("variable", "text")
    if at == begin:
        raise Untold(f"{CFG} has a line that cannot be read ({shown_name(text[at:].partition(chr(10))[0])})")
    return at, Word(tuple(pieces), bare)


def _pieces(found: Iterable[re.Match[str]]) -> Iterator[tuple[str, str]]:
    for each in found:
        if each.lastgroup == "variable":
            yield "variable", each[0].strip("${}")
        elif each.lastgroup:
            yield "text", each[each.lastgroup]


@lru_cache(4)  # one look has the same menu for two nouns
def parsed(text: str) -> tuple[Statement, ...]:
    reader = _Reader(list(_symbols(text)))
    statements = reader.statements(0)
    if reader.next() is not None:
        raise Untold(f"a block of {CFG} ends that did not begin")
    return statements


class _Reader:
    """Statements out of symbols."""

    def __init__(self, symbols: Sequence[Word | str]) -> None:
        self.symbols = symbols
        self.at = 0

    def next(self) -> Word | str | None:
        return self.symbols[self.at] if self.at < len(self.symbols) else None

    def statements(self, depth: int, *ends: str) -> tuple[Statement, ...]:
        """Statements up to one of the keywords `ends`, or to what ends a block; it is not taken."""
        if depth > DEPTH:
            raise Untold(f"the blocks of {CFG} nest too deep")
        found: list[Statement] = []
        while (symbol := self.next()) is not None and symbol != "}":
            if symbol == ";":
                self.at += 1
            elif isinstance(symbol, Word) and symbol.text in ends:
                break
            else:
                found.append(self._statement(depth + 1))
        return tuple(found)

    def _statement(self, depth: int) -> Statement:
        symbol = self.next()
        word = symbol.text if isinstance(symbol, Word) else None
        if word == "if":
            return self._if(depth)
        if word in ("while", "until", "for"):
            self._take(word)
            head = self.statements(depth, "do")
            self._take("do")
            block = self.statements(depth, "done")
            self._take("done")
            first = head[0] if word == "for" and head else None
            return Loop((isinstance(first, Command) and first.words[0].text) or "", block)
        return self._command(depth)

    def _if(self, depth: int) -> If:
        branches = []
        keyword: str | None = "if"
        while keyword in ("if", "elif"):
            self._take(keyword)
            condition = self.statements(depth, "then")
            self._take("then")
            branches.append((condition, self.statements(depth, "elif", "else", "fi")))
            symbol = self.next()
            keyword = symbol.text if isinstance(symbol, Word) else None
        otherwise: tuple[Statement, ...] = ()
        if keyword == "else":
            self._take("else")
            otherwise = self.statements(depth, "fi")
        self._take("fi")
        return If(tuple(branches), otherwise)

    def _take(self, expected: str) -> None:
        symbol = self.next()
        if (symbol.text if isinstance(symbol, Word) else symbol) != expected:
            raise Untold(f"{CFG} lacks a {expected}")
        self.at += 1

    def _command(self, depth: int) -> Command:
        words: list[Word] = []
        while isinstance(symbol := self.next(), Word):
            words.append(symbol)
            self.at += 1
        if symbol != "{":
            return Command(tuple(words))
        if not words or words[0].text not in _OPENS:
            raise Untold(f"{CFG} has a block that belongs to nothing")
        self._take("{")
        block = self.statements(depth)
        self._take("}")
        return Command(tuple(words), block)
