"""The tokens of a shell script as bash parts them (words, signs, arrays), and its commands one after another.

What was pasted from a page is read as it was meant: typographic quotation marks and dashes, lines that lost their
backslash, fences of Markdown. Nothing is expanded here (sparkrig/serving/launches/variables.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

_TYPED = str.maketrans("\u201c\u201d\u2018\u2019\u00a0", "\"\"'' ", "\0")
_DASH = re.compile(r"(?<!\S)[\u2013\u2014](?=[a-z])")
_FENCE = re.compile(r"(?m)^[ \t]*```.*$")

# the pieces of a word; brackets nest three levels deep at the most
JOINED = r"\\[ \t\r]*(?:\n\s*|\Z)"
SINGLE = r"\$?'(?P<single>[^']*+)'"
_INSIDE = r"[^()'\"\\]++|\\.|'[^']*+'|\"(?>[^\"\\]++|\\.)*+\""
COMMAND = rf"\$\((?>{_INSIDE}|\((?>{_INSIDE}|\((?>{_INSIDE}|\([^()]*+\))*+\))*+\))*+\)"
BRACED = r"\$\{(?>[^{}]++|\{(?>[^{}]++|\{(?>[^{}]++|\{[^{}]*+\})*+\})*+\})*+\}"
BACK = r"`(?>[^`\\\n]++|\\.)++`"
NAME = r"\$(?:[A-Za-z_]\w*+|[0-9@*#?!-])"
DOUBLE = rf"\$?\"(?P<double>(?>[^\"\\$`]++|\\.|{COMMAND}|{BRACED}|{BACK}|[$`])*+)\""
PIECES = rf"{SINGLE}|{DOUBLE}|(?P<command>{COMMAND}|{BACK})|(?P<variable>{BRACED}|{NAME})"
PIECES += rf"|(?!{JOINED})\\(?P<escaped>.)|(?P<plain>[^\s'\"\\$`;&|()]++|[$`])"
_WORD = re.sub(r"\(\?P<\w+>", "(?:", f"(?:{PIECES})++")
_TOKEN = re.compile(
    rf"(?s)(?P<blank>(?:[^\S\n]|{JOINED}|\\[ \t]+)++)"  # or a backslash whose line end was lost
    r"|(?P<comment>\#[^\n]*+)"
    # a sum or a test is one word
    r"|(?P<test>\(\((?>[^()]++|\((?>[^()]++|\([^()]*+\))*+\))*+\)\)|\[\[ [^\n]{0,500}? \]\])"
    rf"|(?P<array>[A-Za-z_]\w*+\+?=\((?>[\s;&|]|(?<=\s)\#[^\n]*+|{JOINED}|{_WORD})*+\))"
    r"|(?P<redirected>(?:\d+|&)?(?:<<<|<<-?|>>|>\||[<>]&|<>|>|<(?![A-Za-z][\w .:/-]*>))[ \t]*)"
    r"|(?P<sign>;;&|;;|;&|&&|\|\||\|&|[\n;&|()])"
    rf"|(?P<word>{_WORD})"
)
_TARGET = re.compile(rf"(?s){_WORD}")  # of a redirection
_OF_ARRAY = re.compile(rf"(?s)(?<=\s)\#[^\n]*+|(?P<word>{_WORD})")
_FLAG_NEXT = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?\n)+[ \t]*(?=--?[A-Za-z])")

_DEEPEST = 24  # blocks in blocks; what people publish nests four levels
_CLOSES = {"if": "fi", "case": "esac", "{": "}", "(": ")"}
_CLOSES |= dict.fromkeys(("for", "select", "while", "until"), "done")
PIPES = ("|", "|&")
JOINS = ("&&", "||", *PIPES)
RESERVED = frozenset(
    {"if", "then", "elif", "else", "fi", "do", "done", "esac", "while", "until", "{", "}", "!", "time"}
)


class Token(NamedTuple):
    """text: as it is written; line: its number."""

    kind: Literal["word", "test", "array", "sign"]
    text: str
    line: int

    @property
    def bare(self) -> str:
        """The word, which may be a reserved one; empty for anything else."""
        return self.text if self.kind == "word" else ""

    @property
    def sign(self) -> str:
        """What parts commands, a line end too; empty for anything else."""
        return self.text if self.kind == "sign" else ""


class Command(NamedTuple):
    """One command.

    line: where it stands, or the block that it is in; block: what decides whether it runs, in words, empty where
    it is in none; joiner: the sign before it; piped: whether it writes or reads a pipe.
    """

    tokens: Sequence[Token]
    line: int
    block: str = ""
    joiner: str = ""
    piped: bool = False


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a script, redirections left out. Raises ValueError where a quotation mark is not closed."""
    text = _FENCE.sub("", _DASH.sub("--", text.translate(_TYPED)))
    at, line, counted = 0, 1, 0
    last: Token | None = None
    continued = False
    while at < len(text):
        if last and last.kind == "word" and (flag := _FLAG_NEXT.match(text, at)):  # its backslash was lost
            at, continued = flag.end(), False
        if (match := _TOKEN.match(text, at)) is None:
            if text[at] in "'\"":
                raise ValueError("a quotation mark in it is not closed")
            at += 1
            continue
        kind, begun, at = match.lastgroup, at, match.end()
        if kind == "blank":
            continued = continued or "\\" in match[0]
        elif kind == "comment":  # where the line before goes on here, it goes on behind it
            at += continued
        elif kind == "redirected":
            target = _TARGET.match(text, at)
            at, last, continued = target.end() if target else at, None, False
        else:
            line, counted, continued = line + text.count("\n", counted, begun), begun, False
            last = Token(kind, match[0], line)  # type: ignore[arg-type]
            yield last


def parts(array: str) -> tuple[str, bool, list[str]]:
    """The name of `name=(words)`, whether it is `+=`, and the words."""
    name, _, inner = array.partition("=(")
    words = [match["word"] for match in _OF_ARRAY.finditer(inner[:-1]) if match["word"]]
    return name.removesuffix("+"), name.endswith("+"), words


def commands(script: Sequence[Token]) -> Iterator[Command]:
    """Each command. Of blocks in blocks the outermost is named; braces that surely run are no block."""
    closed = _closed(script)
    at, until, joiner, block, begun = 0, 0, "", "", 0
    while at < len(script):
        token = script[at]
        block = block if at < until else ""
        function, body = _function(script, at)
        opens = body if body in closed else at
        if opens in closed and not block:
            end = closed[opens] + 1
            joined = joiner in JOINS or (end < len(script) and script[end].sign in PIPES)
            if opens != at or token.text != "{" or joined:
                block = _called(script[opens].text, function if opens == body else "")
                at, until, begun = opens, end, token.line
                continue
        if token.sign or token.bare in RESERVED:
            joiner = joiner if not token.sign or (token.sign == "\n" and joiner) else token.sign
            at += 1
            continue
        end = next((place for place in range(at, len(script)) if script[place].sign), len(script))
        piped = joiner in PIPES or (end < len(script) and script[end].sign in PIPES)
        yield Command(script[at:end], begun if block else token.line, block, joiner, piped)
        at, joiner = end, ""


def _called(word: str, function: str) -> str:
    if function:
        return f"the function {function}"
    return {"{": "braces", "(": "parentheses"}.get(word, f"`{word}`")


def _closed(script: Sequence[Token]) -> dict[int, int]:
    """Where each reserved word or parenthesis that is closed is closed."""
    pairs: dict[int, int] = {}
    opened: list[tuple[str, int]] = []
    begins = True  # whether a command does
    for at, token in enumerate(script):
        here = token.sign or (token.bare if begins or token.bare == "{" else "")
        if here in _CLOSES:
            opened.append((here, at))
        elif here == ")" and opened and opened[-1][0] == "case":
            pass  # of a pattern
        elif here in _CLOSES.values() and any(_CLOSES[word] == here for word, _ in opened[-_DEEPEST:]):
            while _CLOSES[opened[-1][0]] != here:
                opened.pop()
            pairs[opened.pop()[1]] = at
        begins = token.sign != "" or here in RESERVED
    return pairs


def _function(script: Sequence[Token], at: int) -> tuple[str, int]:
    """The name of the function that begins there, and where its body does; a place of nothing if none does."""
    named = at + (script[at].bare == "function")
    name = script[named].bare if named < len(script) else ""
    signs = "".join(token.sign for token in script[named + 1 : named + 3])
    if not name or (named == at and signs != "()"):
        return "", -1
    body = named + 1 + 2 * (signs == "()")
    while body < len(script) and script[body].sign == "\n":
        body += 1
    return name, body
