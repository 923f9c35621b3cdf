"""The words of a shell script: quoting, expansions, arrays and here-documents, as bash parts them.

What was pasted from a page is read as it was meant: typographic quotation marks and dashes, lines that lost their
backslash, fences of Markdown. Nothing is expanded here (sparkrig/serving/launches/variables.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from sparkrig.serving.launches import enclosed

# of a text, each of which may be searched for to its end: beyond these it is read as it stands
_MOST_DOCUMENTS = 100
_MOST_UNCLOSED = 3

_TYPED = str.maketrans("\u201c\u201d\u2018\u2019\u00a0", "\"\"'' ")
_DASH = re.compile(r"(?<!\S)[\u2013\u2014](?=[a-z])")
_FENCE = re.compile(r"(?m)^[ \t]*```.*$")

_CONTINUED = re.compile(r"\\[ \t\r]*(?:\n\s*|$)")
_LOST = re.compile(r"\\[ \t]+")  # a backslash whose line end was lost
_FLAG_NEXT = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?\n)+[ \t]*(?=--?[A-Za-z])")
_OPERATOR = re.compile(r";;&|;;|;&|&&|\|\||\|&|[;&|()]")
_REDIRECTION = re.compile(r"(?:\d+|&)?(?:<<<|<<-?|>>|>\||[<>]&|<>|[<>])")
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w .:/-]*>")
_DELIMITER = re.compile(r"[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|(\\?[^\s;&|()<>'\"]+))")
_PLAIN = re.compile(r"[^\s'\"\\$`;&|()]+")
_PLAIN_IN_TEST = re.compile(r"[^\s'\"\\$`]+")
_TEST_ENDS = re.compile(r"\]\](?=[\s;&|)]|$)")
_IN_DOUBLE = re.compile(r"[^\"\\$`]+")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?!-]")
_ARRAY = re.compile(r"([A-Za-z_]\w*)(\+?)=")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


Kind = Literal["text", "variable", "command", "arithmetic"]

_OPENING: tuple[tuple[str, Kind], ...] = (("$((", "arithmetic"), ("$(", "command"), ("${", "variable"))


class Part(NamedTuple):
    """A piece of a word. text: without what encloses it; quoted: whether it is one word whatever is in it.

    source: as it was written, for what stays unknown.
    """

    kind: Kind
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
    """What stands below `<<WORD`, or behind `<<<`. expands: whether its variables do."""

    text: str = ""
    expands: bool = True
    delimiter: str = ""
    indented: bool = False


class Into(NamedTuple):
    """The file that output goes to."""

    file: Word


class Arithmetic(NamedTuple):
    """`(( ... ))`."""

    text: str


class Operator(NamedTuple):
    """What parts commands; a line end, too."""

    text: str


Token = Word | Array | Document | Into | Arithmetic | Operator


def tokens(text: str) -> list[Token]:
    """The tokens of a script. Raises ValueError where a quotation mark is not closed."""
    text = _FENCE.sub("", _DASH.sub("--", text.translate(_TYPED)))
    return [*_Reader(text).tokens()]


def parted(text: str) -> list[str]:
    """The words of a text as bash would part it, with what would be expanded as it stands."""
    try:
        return [each.plain for each in tokens(text) if isinstance(each, Word)]
    except ValueError:
        return text.split()


def parts(text: str, *, marks: bool = False) -> tuple[Part, ...]:
    """Of what stands in `${NAME:-here}`, or below `<<WORD`, whose quotation marks stay: blanks part nothing."""
    return _Reader(text).loose(marks=marks)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.documents: list[Document] = []
        self.seen = 0  # here-documents
        self.unclosed = 0
        self.in_test = False  # between [[ and ]]
        self.in_array = False

    def tokens(self) -> Iterator[Token]:
        last: Token = Operator("\n")
        continued = False
        while self.at < len(self.text):
            char = self.text[self.at]
            if (found := _CONTINUED.match(self.text, self.at) or _LOST.match(self.text, self.at)) is not None:
                self.at, continued = found.end(), True
            elif char == "#":
                self._skip_comment(continued=continued)
            elif char == "\n":
                if not self._flag_follows(last) and not self.in_test:
                    yield (last := Operator("\n"))
                continued = False
            elif char.isspace():
                self.at += 1
            else:
                continued = False
                for last in self._next():
                    yield last
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

    def _next(self) -> Iterator[Token]:
        text, at = self.text, self.at
        if not self.in_test:
            if text.startswith("((", at) and (end := self._closing(at + 2, "((")) is not None:
                self.at = end + 2
                yield Arithmetic(text[at + 2 : end])
                return
            redirected = _REDIRECTION.match(text, at)
            if redirected and not _PLACEHOLDER.match(text, at) and text[redirected.end() : at + 2] != "(":
                yield from self._redirected(redirected)
                return
            if (operator := _OPERATOR.match(text, at)) is not None:
                self.at = operator.end()
                yield Operator(operator[0])
                return
        elif _TEST_ENDS.match(text, at):
            self.at, self.in_test = at + 2, False
            yield Word((Part("text", "]]", False, "]]"),))
            return
        yield self._word()

    def _redirected(self, found: re.Match[str]) -> Iterator[Token]:
        self.at = found.end()
        kind = found[0].lstrip("0123456789&")
        if kind in ("<<", "<<-"):
            yield from self._announced(indented=kind == "<<-")
            return
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1
        target = self._word() if self.at < len(self.text) and self.text[self.at] not in "\n;&|()" else Word(())
        assert isinstance(target, Word)
        if kind == "<<<":
            yield Document(target.plain)
        elif kind in (">", ">>", ">|"):
            yield Into(target)

    def _announced(self, *, indented: bool) -> Iterator[Token]:
        """A here-document, whose text begins below this line."""
        found = _DELIMITER.match(self.text, self.at)
        self.seen += 1
        if found is None or self.seen > _MOST_DOCUMENTS:
            return
        self.at = found.end()
        bare = found[3] or ""
        name = found[1] or found[2] or bare.lstrip("\\")
        made = Document(expands=bool(bare) and not bare.startswith("\\"), delimiter=name, indented=indented)
        self.documents.append(made)
        yield made

    def _fill_documents(self) -> None:
        for document in self.documents:
            tabs = r"\t*" if document.indented else ""
            end = re.compile(rf"(?m)^{tabs}{re.escape(document.delimiter)}[ \t\r]*$").search(self.text, self.at)
            if end:
                body = self.text[self.at : end.start()]
                document.text = re.sub(r"(?m)^\t+", "", body) if document.indented else body
                self.at = end.end()
        self.documents = []

    def _word(self) -> Word | Array:
        made: list[Part] = []
        plain = _PLAIN_IN_TEST if self.in_test else _PLAIN
        begun = self.at
        while self.at < len(self.text):
            if (found := plain.match(self.text, self.at)) is not None:
                made.append(Part("text", found[0], False, found[0]))
                self.at = found.end()
            elif self.text[self.at] == "(":
                if self.at > begun:
                    assigned = _ARRAY.fullmatch(self.text[begun : self.at])
                    if assigned and not self.in_array:
                        return self._array(assigned[1], more=bool(assigned[2]))
                    if self.text[begun : self.at] not in ("<", ">"):
                        break
                made.append(self._process())
            elif not self._quoted_or_expanded(made, doubled=False):
                break
        if not made:  # nothing else takes this character
            self.at = max(self.at, begun + 1)
            made.append(Part("text", self.text[begun : self.at].strip("\\"), True, ""))
        word = Word(tuple(made))
        self.in_test = self.in_test or word.bare == "[["
        return word

    def _process(self) -> Part:
        """`<(command)`, whose parenthesis is next."""
        end = self._closing(self.at + 1, "(")
        begun, self.at = self.at, len(self.text) if end is None else end + 1
        return Part("command", self.text[begun + 1 : self.at - 1], True, self.text[begun : self.at])

    def _array(self, name: str, *, more: bool) -> Array:
        self.at += 1
        words: list[Word] = []
        self.in_array = True
        while self.at < len(self.text) and self.text[self.at] != ")":
            char = self.text[self.at]
            if (found := _CONTINUED.match(self.text, self.at)) is not None:
                self.at = found.end()
            elif char == "#":
                self._skip_comment(continued=True)
            elif char.isspace() or char in ";&|":
                self.at += 1
            else:
                word = self._word()
                words += [word] if isinstance(word, Word) else word.words
        self.in_array = False
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
            self._double(made)
        elif char == "'" and not doubled:
            made.append(self._single(self.at + 1))
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

    def _single(self, begun: int) -> Part:
        end = self.text.find("'", begun)
        if end < 0:
            raise ValueError("a quotation mark in it is not closed")
        self.at = end + 1
        return Part("text", self.text[begun:end], True, self.text[begun:end])

    def _double(self, made: list[Part]) -> None:
        """To the closing mark."""
        while self.at < len(self.text):
            if (found := _IN_DOUBLE.match(self.text, self.at)) is not None:
                made.append(Part("text", found[0], True, found[0]))
                self.at = found.end()
            elif self.text[self.at] == '"':
                self.at += 1
                return
            else:
                self._quoted_or_expanded(made, doubled=True)
        raise ValueError("a quotation mark in it is not closed")

    def loose(self, *, marks: bool) -> tuple[Part, ...]:
        """All of the text as the parts of one word, without or with its quotation marks."""
        made: list[Part] = []
        while self.at < len(self.text):
            if (found := _IN_DOUBLE.match(self.text, self.at)) is not None:
                made.append(Part("text", found[0], True, found[0]))
                self.at = found.end()
            elif self.text[self.at] == '"':
                made.append(Part("text", '"' * marks, True, '"'))
                self.at += 1
            else:
                self._quoted_or_expanded(made, doubled=True)
        return tuple(made)

    def _ansi(self, begun: int) -> Part:
        """`$'...'`, with escapes as C has them."""
        end = re.compile(r"(?:[^'\\]|\\.)*", re.DOTALL).match(self.text, begun)
        body = end[0] if end else ""
        self.at = begun + len(body) + 1
        body = re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), body, flags=re.DOTALL)
        return Part("text", body, True, body)

    def _backquoted(self, *, doubled: bool) -> Part:
        end = re.compile(r"`((?:[^`\\\n]|\\.)+)`").match(self.text, self.at)
        self.at = end.end() if end else self.at + 1
        if end is None:
            return Part("text", "`", True, "`")
        return Part("command", end[1], doubled, f"$({end[1]})")

    def _dollar(self, made: list[Part], *, doubled: bool) -> None:
        text, begun = self.text, self.at
        if text.startswith("$'", begun) and not doubled:
            made.append(self._ansi(begun + 2))
            return
        if text.startswith('$"', begun) and not doubled:
            self.at += 1
            return
        made.append(self._expansion(begun, doubled=doubled))

    def _expansion(self, begun: int, *, doubled: bool) -> Part:
        text = self.text
        for opening, kind in _OPENING:
            if text.startswith(opening, begun):
                start = begun + len(opening)
                end = self._closing(start, opening[1:], doubled=doubled)
                if end is not None:
                    self.at = end + len(opening) - 1
                    return Part(kind, text[start:end], doubled, text[begun : self.at])
        named = _NAME.match(text, begun + 1)
        self.at = named.end() if named else begun + 1
        if named is None:
            return Part("text", "$", True, "$")
        return Part("variable", named[0], doubled, text[begun : self.at])

    def _closing(self, start: int, opened: str, *, doubled: bool = False) -> int | None:
        """Where what was opened before `start` is closed: by counting, past quotation marks and here-documents."""
        if self.unclosed > _MOST_UNCLOSED:
            return None
        end = enclosed.closed(self.text, start, [*('"' * doubled), *opened])
        if end is not None and opened == "((":
            end = end - 1 if self.text[end - 1 : end] == ")" else None
        self.unclosed += end is None
        return end
