"""The variables of a shell while a script is read, and what a word becomes with them.

What is not known stays as it is written, so that a `$` in a value means: not known. A value that only a branch, a
loop or a function gives is a doubt, which stays in whatever is made of it and names the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sparkrig.serving.launch import Unreadable
from sparkrig.serving.launches import words
from sparkrig.serving.launches.words import Token

_MOST_READ = 1_000_000  # characters that are made of a text: `A=$A$A` doubles a value
_SHOWN = 40  # of a command whose output is not known
_PIECE = re.compile(rf"(?s){words.PIECES}")
_EXPANDED = rf"(?P<command>{words.COMMAND}|{words.BACK})|(?P<variable>{words.BRACED}|{words.NAME})"
_IN_DOUBLE = re.compile(rf"(?s)(?P<joined>{words.JOINED})|\\(?P<escaped>[$`\"\\])|{_EXPANDED}")
_PARAMETER = re.compile(r"([A-Za-z_]\w*|[0-9@*])(?:\[[@*]\])?(?:(:?[-=+?])(.*))?", re.DOTALL)
_SEVERAL = re.compile(r"([A-Za-z_]\w*|[@*])(?:\[([@*])\])?")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
_DOUBT = re.compile(r"\0([^\0]*)\0")

ARGUMENTS = ("@", *"123456789")  # of a script
DECLARE = frozenset({"export", "readonly", "declare", "local", "typeset"})
_HIDDEN = "$(...)"  # the output of a long command

Value = str | tuple[str, ...]


def doubt(texts: Iterable[str]) -> str:
    """Why some of these is not known, empty where nothing is in doubt."""
    return next((found[1] for text in texts if (found := _DOUBT.search(text))), "")


class Left:
    """How much is still read of a text with all that is made of it."""

    def __init__(self) -> None:
        self.characters = _MOST_READ

    def take(self, characters: int) -> None:
        """Raises Unreadable where that is too much."""
        self.characters -= characters
        if self.characters < 0:
            raise Unreadable("it is longer than any launch")


class Variables:
    """What is known of them. exported: names; one without a value is set where the script is started.

    changed: names that were given a value since this was made; local: those of the function that is read; doubted:
    why a name is in doubt for good.
    """

    def __init__(self, given: Mapping[str, str | None] | None = None, left: Left | None = None) -> None:
        self.values: dict[str, Value] = {name: value for name, value in (given or {}).items() if value is not None}
        self.exported: dict[str, None] = dict.fromkeys(given or {})
        self.left = left or Left()
        self.changed: set[str] = set()
        self.local: set[str] = set()
        self.doubted: dict[str, str] = {}

    def copy(self) -> Variables:
        made = Variables(left=self.left)
        made.values, made.exported, made.doubted = {**self.values}, {**self.exported}, {**self.doubted}
        return made

    @property
    def environment(self) -> dict[str, str | None]:
        """What a program that is started gets."""
        found = {name: self.values.get(name) for name in self.exported}
        return {name: value if not isinstance(value, tuple) else None for name, value in found.items()}

    def assign(self, name: str, value: Value) -> None:
        self.changed.add(name)
        self.values[name] = f"\0{self.doubted[name]}\0" if name in self.doubted else value

    def hide(self, name: str) -> None:
        """Forgets a value, which something unseen now sets."""
        array = isinstance(self.values.get(name), tuple)
        self.assign(name, (f"${{{name}[@]}}",) if array else f"${{{name}}}")

    def question(self, names: Iterable[str], why: str) -> None:
        """Puts values in doubt."""
        for name in names:
            self.assign(name, f"\0{why}\0")

    def assignment(self, token: Token) -> tuple[str, Value] | None:
        """The name and the value of `NAME=value`, or of `NAME=(values)`."""
        if token.kind == "array":
            name, more, given = words.parts(token.text)
            before = self.values.get(name, ()) if more else ()
            return name, (*(before if isinstance(before, tuple) else (before,)), *self.all_fields(given))
        found = _ASSIGNED.fullmatch(token.bare)
        if found is None:
            return None
        name, raw = found[1], found[3]
        value = self.text(raw)
        if re.fullmatch(rf"(?s)\"?(?:{words.COMMAND}|{words.BACK})\"?", raw):
            value = f"${{{name}}}"
        before = self.values.get(name, "") if found[2] else ""
        return name, (*before, value) if isinstance(before, tuple) else before + value

    def declare(self, how: str, given: Sequence[Token]) -> None:
        """`export`, `local` and their like."""
        exported = how == "export" or any(re.match(r"-\w*x", token.bare) for token in given)
        for token in given:
            found = self.assignment(token)
            text = self.text(token.bare)
            if found is None and "=" in text:  # all of it is quoted
                found = text.partition("=")[0], text.partition("=")[2]
            name = found[0] if found else text
            if not name.isidentifier():
                continue
            if how in ("local", "declare", "typeset") and not exported:
                self.local.add(name)
            if found:
                self.assign(*found)
            if exported:
                self.changed.add(name)
                self.exported[name] = None

    # --- words

    def fields(self, word: str) -> list[str]:
        """The words that a word becomes."""
        made, begun = [""], False
        for piece in _PIECE.finditer(word):
            several = self._several(piece)
            if several is not None:
                made[-1] += several[0] if several else ""
                made += several[1:]
                begun = begun or bool(several)
                continue
            text = self._expanded(piece)
            alone = piece.lastgroup in ("command", "variable") and piece[0] == word
            if alone and text[:1] != "$" and not doubt([text]) and re.search(r"\s", text):
                return self.parted(text)
            made[-1] += text
            begun = begun or piece.lastgroup in ("single", "double") or text != ""
        self.left.take(sum(map(len, made)))
        return made if begun else []

    def all_fields(self, given: Iterable[str]) -> list[str]:
        """Of several words."""
        return [field for word in given for field in self.fields(word)]

    def text(self, word: str) -> str:
        """The one text that a word becomes."""
        return "".join(self._expanded(piece) for piece in _PIECE.finditer(word))

    def parted(self, text: str) -> list[str]:
        """The words of a text that a shell parts once more."""
        try:
            return [Variables(left=self.left).text(token.text) for token in words.tokens(text) if token.bare]
        except ValueError:
            return text.split()

    def _several(self, piece: re.Match[str]) -> list[str] | None:
        """The words of an array that is expanded as such, None of what is one word."""
        found = _SEVERAL.fullmatch(re.sub(r"^\"?\$\{?|\}?\"?$", "", piece[0])) if "$" in piece[0] else None
        value = self.values.get("@" if found[1] == "*" else found[1]) if found else None
        if found is None or not isinstance(value, tuple):
            return None
        if not found[2] and found[1] not in "@*":  # bash takes the first
            return [*value[:1]]
        return [" ".join(value)] if piece[0][0] == '"' and "*" in (found[1], found[2]) else [*value]

    def _expanded(self, piece: re.Match[str]) -> str:
        """What a piece of a word, or of double quotation marks, becomes."""
        kind = piece.lastgroup or ""
        if kind == "double":
            return _IN_DOUBLE.sub(self._expanded, piece["double"])
        if kind == "command":
            source = f"$({piece[0][1:-1]})" if piece[0][0] == "`" else piece[0]
            short = source.startswith("$((") or (len(source) <= _SHOWN and "\n" not in source)
            return source if short else _HIDDEN
        made = self._parameter(piece[0]) if kind == "variable" else " " if kind == "joined" else piece[kind]
        self.left.take(len(made))
        return made

    def _parameter(self, source: str) -> str:
        """The value of `$NAME` or `${NAME:-default}`; the same as it is written where that is not known."""
        inner = source[2:-1] if source[1] == "{" else source[1:]
        found = _PARAMETER.fullmatch(inner)
        if found is None:  # cut, replaced, counted or one of several
            name = re.search(r"\w+", inner)
            why = doubt([self._value(name[0]) or ""]) if name else ""
            return f"\0{why}\0" if why else source
        known, sign, more = self._value(found[1]), found[2] or "", found[3] or ""
        if sign[-1:] in ("-", "=") and (known is None or (known == "" and sign[0] == ":")):
            known = self._default(more)
            if sign[-1] == "=":
                self.assign(found[1], known)
        elif sign[-1:] == "+" and known is not None and "$" not in known and not doubt([known]):
            return self._default(more) if known or sign[0] != ":" else ""
        elif sign[-1:] == "+" and not doubt([known or ""]):
            return source
        return source if known is None else known

    def _default(self, text: str) -> str:
        """Of what stands in `${NAME:-here}`: blanks part nothing, and quotation marks are left out."""
        return _IN_DOUBLE.sub(self._expanded, text).replace('"', "")

    def _value(self, name: str) -> str | None:
        value = self.values.get(name)
        return " ".join(value) if isinstance(value, tuple) else value
