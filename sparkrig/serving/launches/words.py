"""The words of a shell script: quoting, expansions, arrays and here-documents, as bash parts them.

What was pasted from a page is read as it was meant: typographic quotation marks and dashes, lines that lost their
backslash, fences of Markdown. Nothing is expanded here (sparkrig/serving/launches/variables.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

_MOST_DOCUMENTS = 100  # each may be searched for to the end of the text
_LONGEST_TEST = 2_000  # the same of `[[`

_TYPED = str.maketrans("\u201c\u201d\u2018\u2019\u00a0", "\"\"'' ", "\0")
_DASH = re.compile(r"(?<!\S)[\u2013\u2014](?=[a-z])")
_FENCE = re.compile(r"(?m)^[ \t]*```.*$")

_CONTINUED = re.compile(r"\\[ \t\r]*(?:\n\s*|$)")
_LOST = re.compile(r"\\[ \t]+")  # a backslash whose line end was lost
_FLAG_NEXT = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?\n)+[ \t]*(?=--?[A-Za-z])")
_OPERATOR = re.compile(r";;&|;;|;&|&&|\|\||\|&|[;&|()]")
_REDIRECTION = re.compile(r"(?:\d+|&)?(<<<|<<-?|>>|>\||[<>]&|<>|[<>])[ \t]*")
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w .:/-]*>")
_DELIMITER = re.compile(r"(?:'([^'\n]+)'|\"([^\"\n]+)\"|(\\?[^\s;&|()<>'\"]+))")
_PLAIN = re.compile(r"[^\s'\"\\$`;&|()]+")
_IN_DOUBLE = re.compile(r"[^\"\\$`]+")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?!-]")
_ARRAY = re.compile(r"([A-Za-z_]\w*)(\+?)=")
_BACKQUOTED = re.compile(r"`((?:[^`\\\n]|\\.)+)`")
_ANSI = re.compile(r"(?:[^'\\]|\\.)*", re.DOTALL)
_INSIDE = re.compile(r"[\\'\"(){}]|\$[({]|[^\\'\"(){}$]+|.", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}

_UNCLOSED = "a quotation mark in it is not closed"


class Part(NamedTuple):
    """A piece of a word. text: without what encloses it; quoted: whether it is one word whatever is in it.

    source: as it was written, for what stays unknown.
    """

    kind: Literal["text", "variable", "command"]
    text: str
    quoted: bool
    source: str


class Word(NamedTuple):
    """One word of a command."""

    parts: tuple[Part, ...]

    @property
    def plain(self) -> str:
        """The word as it is written without quotation marks; nothing is expanded."""
        return "".join(part.text if part.kind == "text" else part.source for part in self.parts)

    @property
    def bare(self) -> str:
        """The same, empty where some of it is quoted or expanded: a reserved word is neither."""
        sole = self.parts[0] if len(self.parts) == 1 else None
        return sole.text if sole and sole.kind == "text" and not sole.quoted else ""


class Array(NamedTuple):
    """`name=(words)`, or `name+=(words)`."""

    name: str
    more: bool
    words: tuple[Word, ...]


@dataclass
class Document:
    """What stands below `<<WORD`, or behind `<<<`."""

    text: str = ""
    delimiter: str = ""


class Into(NamedTuple):
    """Output goes to a file."""


class Operator(NamedTuple):
    """What parts commands; a line end, too."""

    text: str


Token = Word | Array | Document | Into | Operator


def tokens(text: str) -> Iterator[tuple[int, Token]]:
    """The tokens of a script, each with its line. Raises ValueError where something is not closed."""
    text = _FENCE.sub("", _DASH.sub("--", text.translate(_TYPED)))
    reader, line, counted = _Reader(text), 1, 0
    for at, token in reader.tokens():
        line, counted = line + text.count("\n", counted, at), at
        yield line, token


def parted(text: str) -> list[str]:
    """The words of a text as bash would part it, with what would be expanded as it stands."""
    try:
        return [each.plain for _, each in tokens(text) if isinstance(each, Word)]
    except ValueError:
        return text.split()


def parts(text: str) -> tuple[Part, ...]:
    """Of what stands in `${NAME:-here}`: blanks part nothing."""
    made: list[Part] = []
    _Reader(text).double(made, loose=True)
    return tuple(made)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.documents: list[Document] = []
        self.seen = 0  # here-documents

    def tokens(self) -> Iterator[tuple[int, Token]]:
        last: Token = Operator("\n")
        continued = False
        while (begun := self.at) < len(self.text):
            char = self.text[begun]
            if (found := _CONTINUED.match(self.text, begun) or _LOST.match(self.text, begun)) is not None:
                self.at, continued = found.end(), True
            elif char == "#":
                self._skip_comment(continued=continued)
            elif char == "\n":
                if not self._flag_follows(last):
                    yield begun, (last := Operator("\n"))
                continued = False
            elif char.isspace():
                self.at += 1
            else:
                continued = False
                if (token := self._next()) is not None:
                    yield begun, (last := token)
        self._fill_documents()

    def _skip_comment(self, *, continued: bool) -> None:
        """To the end of the line, or beyond it where a line before goes on here."""
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end + continued

    def _flag_follows(self, last: Token) -> bool:
        """Takes a line end. Whether the next line goes on with a flag, and the backslash was lost."""
        if self.documents:
            self.at += 1
            self._fill_documents()
            return False
        found = _FLAG_NEXT.match(self.text, self.at) if isinstance(last, Word) else None
        self.at = found.end() if found else self.at + 1
        return found is not None

    def _next(self) -> Token | None:
        """None of a redirection that matters to no launch."""
        text, at = self.text, self.at
        end = self._closing(at + 1, "(") + 1 if text.startswith("((", at) else 0
        if text.startswith("[[ ", at):
            end = text.find(" ]]", at, at + _LONGEST_TEST) + 3
        if end > at:  # a sum or a test is one word
            self.at = end
            return Word((Part("text", text[at:end], True, text[at:end]),))
        found = _REDIRECTION.match(text, at)
        if found and not _PLACEHOLDER.match(text, at):
            self.at = found.end()
            return self._redirected(found[1])
        if (operator := _OPERATOR.match(text, at)) is not None:
            self.at = operator.end()
            return Operator(operator[0])
        return self._word()

    def _redirected(self, sign: str) -> Token | None:
        if sign in ("<<", "<<-"):
            return self._announced()
        target = self._word() if self.text[self.at : self.at + 1] not in ("", *"\n;&|()") else Word(())
        if not isinstance(target, Word):
            return None
        return Document(target.plain) if sign == "<<<" else Into() if sign[0] == ">" else None

    def _announced(self) -> Document | None:
        """A here-document, whose text begins below this line."""
        found = _DELIMITER.match(self.text, self.at)
        self.seen += 1
        if self.seen > _MOST_DOCUMENTS:
            raise ValueError("it has more here-documents than any launch")
        if found is None:
            return None
        self.at = found.end()
        self.documents.append(Document(delimiter=found[1] or found[2] or found[3].lstrip("\\")))
        return self.documents[-1]

    def _fill_documents(self) -> None:
        for document in self.documents:
            end = re.compile(rf"(?m)^\t*{re.escape(document.delimiter)}[ \t\r]*$").search(self.text, self.at)
            if end:
                document.text = self.text[self.at : end.start()]
                self.at = end.end()
        self.documents = []

    def _word(self, *, in_array: bool = False) -> Word | Array:
        made: list[Part] = []
        begun = self.at
        while self.at < len(self.text):
            if (found := _PLAIN.match(self.text, self.at)) is not None:
                made.append(Part("text", found[0], False, found[0]))
                self.at = found.end()
            elif self.text[self.at] == "(" and not in_array:
                assigned = _ARRAY.fullmatch(self.text, begun, self.at)
                return self._array(assigned[1], more=bool(assigned[2])) if assigned else Word(tuple(made))
            elif not self._quoted_or_expanded(made, doubled=False):
                break
        if not made:  # nothing else takes this character
            self.at = max(self.at, begun + 1)
            made.append(Part("text", self.text[begun : self.at].strip("\\"), True, ""))
        return Word(tuple(made))

    def _array(self, name: str, *, more: bool) -> Array:
        self.at += 1
        words: list[Word] = []
        while self.at < len(self.text) and self.text[self.at] != ")":
            char = self.text[self.at]
            if (found := _CONTINUED.match(self.text, self.at)) is not None:
                self.at = found.end()
            elif char == "#":
                self._skip_comment(continued=True)
            elif char.isspace() or char in ";&|":
                self.at += 1
            else:
                word = self._word(in_array=True)
                words += [word] if isinstance(word, Word) else word.words
        self.at += 1
        return Array(name, more, tuple(words))

    def _quoted_or_expanded(self, made: list[Part], *, doubled: bool) -> bool:
        """Takes one piece that begins with a sign. False where it is none, which ends a word."""
        char = self.text[self.at]
        if char == "$":
            self._dollar(made, doubled=doubled)
        elif char == "`":
            made.append(self._backquoted(doubled=doubled))
        elif char == "\\":
            return self._escaped(made, doubled=doubled)
        elif char == '"' and not doubled:
            self.at += 1
            made.append(Part("text", "", True, ""))
            self.double(made)
        elif char == "'" and not doubled:
            end = self.text.find("'", self.at + 1)
            if end < 0:
                raise ValueError(_UNCLOSED)
            piece, self.at = self.text[self.at + 1 : end], end + 1
            made.append(Part("text", piece, True, piece))
        else:
            return False
        return True

    def _escaped(self, made: list[Part], *, doubled: bool) -> bool:
        found = _CONTINUED.match(self.text, self.at)
        if found and not doubled:
            return False
        after = self.text[self.at + 1 : self.at + 2]
        if found:
            piece, self.at = " ", found.end()
        else:
            piece = after if not doubled or after in '$`"\\' else f"\\{after}"
            self.at += 2
        made.append(Part("text", piece, True, piece))
        return True

    def double(self, made: list[Part], *, loose: bool = False) -> None:
        """To the closing mark; or to the end of the text, past marks."""
        while self.at < len(self.text):
            if (found := _IN_DOUBLE.match(self.text, self.at)) is not None:
                made.append(Part("text", found[0], True, found[0]))
                self.at = found.end()
            elif self.text[self.at] != '"':
                self._quoted_or_expanded(made, doubled=True)
            else:
                self.at += 1
                if not loose:
                    return
        if not loose:
            raise ValueError(_UNCLOSED)

    def _backquoted(self, *, doubled: bool) -> Part:
        end = _BACKQUOTED.match(self.text, self.at)
        self.at = end.end() if end else self.at + 1
        return Part("command", end[1], doubled, f"$({end[1]})") if end else Part("text", "`", True, "`")

    def _dollar(self, made: list[Part], *, doubled: bool) -> None:
        text, begun = self.text, self.at
        if text.startswith("$'", begun) and not doubled:
            found = _ANSI.match(text, begun + 2)
            assert found is not None
            self.at = found.end() + 1
            body = re.sub(r"\\(.)", lambda one: _ESCAPES.get(one[1], one[1]), found[0], flags=re.DOTALL)
            made.append(Part("text", body, True, body))
        elif text.startswith('$"', begun) and not doubled:
            self.at += 1
        elif (opened := text[begun + 1 : begun + 2]) in ("(", "{"):
            end = self._closing(begun + 2, opened, doubled=doubled)
            self.at = end + 1
            kind: Literal["command", "variable"] = "command" if opened == "(" else "variable"
            made.append(Part(kind, text[begun + 2 : end], doubled, text[begun : self.at]))
        elif (named := _NAME.match(text, begun + 1)) is not None:
            self.at = named.end()
            made.append(Part("variable", named[0], doubled, text[begun : self.at]))
        else:
            self.at += 1
            made.append(Part("text", "$", True, "$"))

    def _closing(self, at: int, opened: str, *, doubled: bool = False) -> int:
        """Where what was opened is closed: by counting, past quotation marks. Raises ValueError."""
        stack = [*('"' * doubled), opened]
        while (found := _INSIDE.match(self.text, at)) is not None:
            sign, at, top = found[0], found.end(), stack[-1]
            if sign == "\\":
                at += 1
            elif sign in ("$(", "${") or (sign, top) == ("(", "("):
                stack.append(sign[-1])
            elif sign == '"':
                stack.pop() if top == '"' else stack.append('"')
            elif sign == "'" and top != '"' and not doubled:
                at = self.text.find("'", at) + 1 or len(self.text)
            elif (sign, top) in ((")", "("), ("}", "{")):
                stack.pop()
                if len(stack) == doubled:
                    return found.start()
        raise ValueError(f"`{opened}` in it is not closed")
