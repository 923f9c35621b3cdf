"""The variables of a shell while a script is read, and what a word becomes with them.

What is not known stays as it is written, so that a `$` in a value means: not known. Of a name that only a branch,
a loop or a function sets, the line that does so is kept: `met` has the reasons that were met in what was read.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from sparkrig.serving.launches import words
from sparkrig.serving.launches.words import Token

_SHOWN = 40  # of a command whose output is not known
_PIECE = re.compile(rf"(?s){words.PIECES}")
_EXPANDED = rf"(?P<command>{words.COMMAND}|{words.BACK})|(?P<variable>{words.BRACED}|{words.NAME})"
_IN_DOUBLE = re.compile(rf"(?s)(?P<joined>{words.JOINED})|\\(?P<escaped>[$`\"\\])|{_EXPANDED}")
_PARAMETER = re.compile(r"([A-Za-z_]\w*|[0-9@*])(?:\[[@*]\])?(?:(:?[-=+?])(.*))?", re.DOTALL)
# ${NAME#pattern}, ${NAME%%pattern}: what is cut off, but for patterns with brackets and long texts
_CUT = re.compile(r"([A-Za-z_]\w*)(##?|%%?)([^\[\\]{1,200})", re.DOTALL)
_LONGEST = 1000
_SEVERAL = re.compile(r"([A-Za-z_]\w*|[@*])(?:\[([@*])\])?")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)

ARGUMENTS = ("@", *"123456789")  # of a script

Value = str | tuple[str, ...]


def parted(text: str) -> list[str]:
    """The words of a text that a shell parts once more."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


class Variables:
    """What is known of them.

    take: counts the characters that are made; exported: names; one without a value is set where the script is
    started; doubts: why a name is in doubt for good; why: the same of all that is set now, empty where sure.
    """

    def __init__(self, given: Mapping[str, str | None], take: Callable[[int], None]) -> None:
        self.values: dict[str, Value] = {name: value for name, value in given.items() if value is not None}
        self.exported: dict[str, None] = dict.fromkeys(given)
        self.take = take
        self.doubts: dict[str, str] = {}
        self.met: list[str] = []
        self.why = ""

    def environment(self) -> dict[str, str | None]:
        """What a program that is started gets."""
        values = {name: self._known(name) for name in self.exported}
        return {name: value if isinstance(value, str) else None for name, value in values.items()}

    def assign(self, name: str, value: Value) -> None:
        self.values[name] = value
        if why := self.why or next(iter(self.met), ""):
            self.doubts.setdefault(name, why)

    def hide(self, name: str) -> None:
        """Forgets a value, which something unseen now sets."""
        array = isinstance(self.values.get(name), tuple)
        self.assign(name, (f"${{{name}[@]}}",) if array else f"${{{name}}}")

    def question(self, names: Iterable[str], why: str) -> None:
        """Puts values in doubt."""
        self.doubts |= {name: why for name in names if name not in self.doubts}

    def assignment(self, token: Token) -> tuple[str, Value] | None:
        """The name and the value of `NAME=value`, or of `NAME=(values)`."""
        if token.kind == "array":
            name, more, given = words.parts(token.text)
            before = self._known(name) or () if more else ()
            return name, (*(before if isinstance(before, tuple) else (before,)), *self.all_fields(given))
        match = _ASSIGNED.fullmatch(token.bare)
        if match is None:
            return None
        name, raw = match[1], match[3]
        value = self.text(raw)
        if re.fullmatch(rf"(?s)\"?(?:{words.COMMAND}|{words.BACK})\"?", raw):
            value = f"${{{name}}}"
        before = self._known(name) or "" if match[2] else ""
        return name, (*before, value) if isinstance(before, tuple) else before + value

    def declare(self, how: str, given: Sequence[Token], *, inside: bool) -> None:
        """`export`, `local` and their like. inside: of a function, whose own variables matter to nothing else."""
        exported = how == "export" or any(re.match(r"-\w*x", token.bare) for token in given)
        for token in given:
            self.met.clear()
            text = self.text(token.bare)
            named = (text.partition("=")[0], text.partition("=")[2]) if "=" in text else None
            assigned = self.assignment(token) or named  # all of it may be quoted
            name = assigned[0] if assigned else text
            if not name.isidentifier() or (inside and how not in ("export", "readonly") and not exported):
                continue
            if assigned:
                self.assign(*assigned)
            if exported:
                self.exported[name] = None
                self.question([name] if self.why else [], self.why)

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
            if piece.lastgroup == "variable" and piece[0] == word and text[:1] != "$" and re.search(r"\s", text):
                return parted(text)
            made[-1] += text
            begun = begun or piece.lastgroup in ("single", "double") or text != ""
        self.take(sum(map(len, made)))
        return made if begun else []

    def all_fields(self, given: Iterable[str]) -> list[str]:
        """Of several words."""
        return [field for word in given for field in self.fields(word)]

    def text(self, word: str) -> str:
        """The one text that a word becomes."""
        return "".join(self._expanded(piece) for piece in _PIECE.finditer(word))

    def _several(self, piece: re.Match[str]) -> list[str] | None:
        """The words of an array that is expanded as such, None of what is one word."""
        match = _SEVERAL.fullmatch(re.sub(r"^\"?\$\{?|\}?\"?$", "", piece[0])) if "$" in piece[0] else None
        value = self._known("@" if match[1] == "*" else match[1]) if match else None
        if match is None or not isinstance(value, tuple):
            return None
        if not match[2] and match[1] not in "@*":  # bash takes the first
            return [*value[:1]]
        return [" ".join(value)] if piece[0][0] == '"' and "*" in (match[1], match[2]) else [*value]

    def _expanded(self, piece: re.Match[str]) -> str:
        """What a piece of a word, or of double quotation marks, becomes."""
        kind = piece.lastgroup or ""
        if kind == "double":
            return _IN_DOUBLE.sub(self._expanded, piece["double"])
        if kind == "command":
            source = f"$({piece[0][1:-1]})" if piece[0][0] == "`" else piece[0]
            short = source.startswith("$((") or (len(source) <= _SHOWN and "\n" not in source)
            return source if short else "$(...)"
        made = self._parameter(piece[0]) if kind == "variable" else " " if kind == "joined" else piece[kind]
        self.take(len(made))
        return made

    def _parameter(self, source: str) -> str:
        """The value of `$NAME` or `${NAME:-default}`; the same as it is written where that is not known."""
        inner = source[2:-1] if source[1] == "{" else source[1:]
        if (cut := _CUT.fullmatch(inner)) and isinstance(value := self._known(cut[1]), str):
            return source if len(value) > _LONGEST else _without(value, cut[2], self._default(cut[3]))
        match = _PARAMETER.fullmatch(inner)
        if match is None:  # replaced, counted or one of several
            name = re.search(r"\w+", inner)
            self._known(name[0] if name else "")
            return source
        value, sign, more = self._known(match[1]), match[2] or "", match[3] or ""
        known = " ".join(value) if isinstance(value, tuple) else value
        if sign[-1:] in ("-", "=") and (known is None or (known == "" and sign[0] == ":")):
            known = self._default(more)
            if sign[-1] == "=":
                self.assign(match[1], known)
        elif sign[-1:] == "+":
            if known is None or "$" in known:
                return source
            return self._default(more) if known or sign[0] != ":" else ""
        return source if known is None else known

    def _default(self, text: str) -> str:
        """Of what stands in `${NAME:-here}`: blanks part nothing, and quotation marks are left out."""
        return _IN_DOUBLE.sub(self._expanded, text).replace('"', "")

    def _known(self, name: str) -> Value | None:
        """The value of a name, and why it is in doubt."""
        if why := self.doubts.get(name):
            self.met.append(why)
        return self.values.get(name)


def _without(value: str, sign: str, pattern: str) -> str:
    """A value without the shortest beginning (#) or end (%) that a pattern fits; with two signs the longest."""
    front = sign[0] == "#"
    sizes = range(len(value) + 1) if len(sign) == 1 else range(len(value), -1, -1)
    for size in sizes:
        if fnmatchcase(value[:size] if front else value[len(value) - size :], pattern):
            return value[size:] if front else value[: len(value) - size]
    return value
