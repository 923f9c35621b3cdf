"""The statements of a shell script in order, and which of them stand in a branch, a loop or a function.

Prose around a command is no error: a reserved word that nothing closes is a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sparkrig.serving.launches.words import Array, Document, Into, Operator, Token, Word, tokens

_DEEPEST = 24  # scripts that people publish nest four levels
_CLOSES = {"if": "fi", "case": "esac", "{": "}", "(": ")"}
_CLOSES |= dict.fromkeys(("for", "select", "while", "until"), "done")
_BEFORE_COMMANDS = frozenset({"if", "then", "elif", "else", "do", "while", "until", "{", "!", "time"})
_REST = frozenset({"then", "elif", "else", "do", "!", "time", "fi", "done", "esac", "}"})
_JOINERS = {"&&": "&&", "||": "||", "|": "|", "|&": "|"}


class Command(NamedTuple):
    """One command, or assignments alone. joiner: what parts it from the one before, empty for a line end.

    documents: texts on its standard input; writes: whether its output goes to a file.
    """

    line: int
    joiner: str
    words: tuple[Word | Array, ...]
    documents: tuple[str, ...]
    writes: bool


class Block(NamedTuple):
    """What stands between a reserved word and its end: every arm, in order. name: of a function, or of `for`."""

    line: int
    joiner: str
    word: str
    name: str
    body: Sequence[Statement]


Statement = Command | Block


def parsed(text: str) -> list[Statement]:
    """Raises ValueError where something is not closed."""
    found = [*tokens(text)]
    return _Parser(found, _closed([token for _, token in found])).statements(0, len(found), 0)


def commands(given: Sequence[Statement]) -> Iterator[list[str]]:
    """The words of each command, with what would be expanded as it stands; a block begins with its word."""
    for each in given:
        if isinstance(each, Block):
            yield from [[each.word]] if each.word not in "({" else []
            yield from commands(each.body)
        elif each.words:
            yield [word.plain if isinstance(word, Word) else f"{word.name}=()" for word in each.words]


def _sign(token: Token) -> str:
    return token.text if isinstance(token, Operator) else ""


def _closed(found: Sequence[Token]) -> dict[int, int]:
    """Where each reserved word or parenthesis that is closed is closed."""
    pairs: dict[int, int] = {}
    opened: list[tuple[str, int]] = []
    begins = True  # whether a command does
    for at, token in enumerate(found):
        word, sign = token.bare if isinstance(token, Word) else "", _sign(token)
        here = sign or (word if begins or word == "{" else "")
        if here in _CLOSES:
            opened.append((here, at))
        elif here == ")" and opened and opened[-1][0] == "case":
            pass  # of a pattern
        elif here in _CLOSES.values() and any(_CLOSES[each] == here for each, _ in opened[-_DEEPEST:]):
            while _CLOSES[opened[-1][0]] != here:
                opened.pop()
            pairs[opened.pop()[1]] = at
        begins = sign != "" or (here in _BEFORE_COMMANDS)
    return pairs


class _Parser:
    def __init__(self, found: Sequence[tuple[int, Token]], closed: Mapping[int, int]) -> None:
        self.found, self.closed = found, closed

    def statements(self, at: int, end: int, depth: int) -> list[Statement]:
        if depth > _DEEPEST:
            raise ValueError("it nests deeper than any launch")
        made: list[Statement] = []
        joiner = ""
        while at < end:
            line, token = self.found[at]
            sign, word = _sign(token), token.bare if isinstance(token, Word) else ""
            name, body = self._function(at)
            if body in self.closed:
                inner = self.statements(body + 1, self.closed[body], depth + 1)
                made.append(Block(line, joiner, "function", name, inner))
                at = self.closed[body] + 1
            elif at in self.closed:
                inner = self.statements(at + 1, self.closed[at], depth + 1)
                made.append(Block(line, joiner, word or sign, self._loops_over(at), inner))
                at = self.closed[at] + 1
            elif sign or word in _REST:
                # a line end goes on with what joins
                joiner = joiner if word or (sign == "\n" and joiner) else _JOINERS.get(sign, "")
                at += 1
                continue
            else:
                at, command = self._command(at, end, joiner)
                made.append(command)
            joiner = ""
        return made

    def _function(self, at: int) -> tuple[str, int]:
        """The name of the function that begins here, and where its body does; a place of nothing if none does."""
        ahead = [token for _, token in self.found[at : at + 8]]
        named = 1 if isinstance(ahead[0], Word) and ahead[0].bare == "function" else 0
        name = ahead[named] if len(ahead) > named else None
        signs = "".join(map(_sign, ahead[named + 1 : named + 3]))
        if not isinstance(name, Word) or not (named or signs == "()"):
            return "", -1
        body = named + 1 + 2 * (signs == "()")
        while body < len(ahead) and _sign(ahead[body]) == "\n":
            body += 1
        return name.bare, at + body

    def _loops_over(self, at: int) -> str:
        token = self.found[at + 1][1]
        return token.bare if isinstance(token, Word) else ""

    def _command(self, at: int, end: int, joiner: str) -> tuple[int, Command]:
        line = self.found[at][0]
        words: list[Word | Array] = []
        documents: list[str] = []
        writes = False
        while at < end and not isinstance(token := self.found[at][1], Operator):
            if isinstance(token, Into):
                writes = True
            elif isinstance(token, Document):
                documents.append(token.text)
            else:
                words.append(token)
            at += 1
        return at, Command(line, joiner, tuple(words), tuple(documents), writes)
