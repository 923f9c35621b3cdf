"""The variables of a shell while a script is read, and what a word becomes with them.

What is not known stays as it is written, so that a `$` in a value means: not known. A variable that only some ways
through a script assign is not known after them; of an array, what all of them have is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile

from sparkrig.serving.launches import words
from sparkrig.serving.launches.words import Array, Part, Word

_LONGEST = 65_536  # characters of a value: `A=$A$A` doubles it
_MOST_TOGETHER = 4 * _LONGEST  # of the words of one command
_MOST = 2_000  # words of an array or of one expansion
_DEEPEST = 8  # `${A:-${B:-...}}`
_SHOWN = 40  # of a command whose output is not known
_PARAMETER = re.compile(r"([A-Za-z_]\w*|[0-9@*])(\[(?:[@*]|\d{1,4})\])?(?:(:?[-=+?]|##?|%%?)(.*))?", re.DOTALL)
_PRINTF = re.compile(r"%%|%[sdbq]|\\[nt\"\\]|\\")

HIDDEN = "$(...)"  # the output of a long command

POSITIONAL = ("@", *"123456789")

Value = str | tuple[str, ...]


def symbol(name: str, *, array: bool = False) -> str:
    """What stands for a value that is not known."""
    return f"${{{name}[@]}}" if array else f"${{{name}}}"


class Variables:
    """What is known of them. exported: names; one without a value is set where the script is started.

    another: what `local -n NAME=OTHER` makes another name of a variable.
    """

    def __init__(self, given: Mapping[str, str | None] | None = None) -> None:
        self.another: dict[str, str] = {}
        self.values: dict[str, Value] = {name: value for name, value in (given or {}).items() if value is not None}
        self.exported: dict[str, None] = dict.fromkeys(given or {})
        self.all_exported = False

    def copy(self) -> Variables:
        made = Variables()
        made.values, made.exported = {**self.values}, {**self.exported}
        made.all_exported, made.another = self.all_exported, {**self.another}
        return made

    def merge(self, ways: Sequence[Variables]) -> None:
        """Takes what holds after all ways that may have been gone."""
        names = dict.fromkeys(name for way in ways for name in way.values)
        made = {name: self._common(name, [way.values.get(name) for way in ways]) for name in names}
        self.values = made
        self.exported = {name: None for way in ways for name in way.exported}

    @staticmethod
    def _common(name: str, found: Sequence[Value | None]) -> Value:
        first = found[0]
        if first is not None and all(each == first for each in found):
            return first
        if not any(isinstance(each, tuple) for each in found):
            return symbol(name)
        lists = [each if isinstance(each, tuple) else () for each in found]
        shared = takewhile(lambda row: len(set(row)) == 1, zip(*lists, strict=False))
        return (*(row[0] for row in shared), symbol(name, array=True))

    @property
    def environment(self) -> dict[str, str | None]:
        """What a program that is started gets."""
        found = {name: self.values.get(name) for name in self.exported}
        return {name: value if not isinstance(value, tuple) else None for name, value in found.items()}

    def real(self, name: str) -> str:
        """The variable that a name is another name of, or the name itself."""
        return self.another.get(name, name)

    def assign(self, name: str, value: Value, *, exported: bool = False) -> None:
        size = len(value) if isinstance(value, str) else sum(map(len, value))
        if size > _LONGEST or (isinstance(value, tuple) and len(value) > _MOST):
            value = symbol(name) if isinstance(value, str) else (symbol(name, array=True),)
        name = self.real(name)
        self.values[name] = value
        if exported or self.all_exported:
            self.exported[name] = None

    def hide(self, name: str) -> None:
        """Forgets a value, which something unseen now sets."""
        name = self.real(name)
        self.values[name] = (
            (symbol(name, array=True),) if isinstance(self.values.get(name), tuple) else symbol(name)
        )

    def give(self, arguments: Sequence[str]) -> None:
        """Sets the arguments of a script or a function."""
        numbered: dict[str, Value] = {str(number): value for number, value in enumerate(arguments[:9], 1)}
        kept = {name: value for name, value in self.values.items() if name not in POSITIONAL}
        self.values = kept | numbered | {"@": tuple(arguments)}

    def unset(self, source: str) -> bool:
        """Whether `$NAME` is a variable that nothing has given a value."""
        found = re.fullmatch(r"\$\{?([A-Za-z_]\w*|\d)\}?", source)
        return found is not None and found[1] not in self.values

    # --- words

    def fields(self, word: Word) -> list[str]:
        """The words that a word becomes."""
        made, begun, nothing = [""], False, False
        sole = len(word.parts) == 1
        for part in word.parts:
            if part.kind == "text":
                made[-1] += part.text
                begun = begun or part.quoted or part.text != ""
                continue
            several = self._several(part)
            if several is not None:
                made[-1] += several[0] if several else ""
                made += several[1 : _MOST + 1]
                begun, nothing = begun or bool(several), not several
                continue
            text = self._expanded(part, 0)
            if sole and not part.quoted and not text.startswith("$") and re.search(r"\s", text):
                return words.parted(text)[:_MOST]
            made[-1] = (made[-1] + text)[:_LONGEST]
            begun = begun or part.quoted or text != ""
        return made if begun and not (nothing and made == [""]) else []

    def all_fields(self, given: Iterable[Word]) -> list[str]:
        """Of several words, up to where they are longer than any command."""
        made: list[str] = []
        size = 0
        for word in given:
            more = self.fields(word)
            made += more
            size += sum(map(len, more))
            if size > _MOST_TOGETHER:
                break
        return made

    def text(self, parts: Iterable[Part], depth: int = 0) -> str:
        """The one text that these become."""
        made = ""
        for part in parts:
            several = self._several(part) if part.kind == "variable" else None
            more = part.text if part.kind == "text" else " ".join(several or ())
            made += more if part.kind == "text" or several is not None else self._expanded(part, depth)
            if len(made) > _LONGEST:
                return made[:_LONGEST]
        return made

    def array(self, given: Array) -> tuple[str, ...]:
        found = self.values.get(self.real(given.name), ()) if given.more else ()
        before = found if isinstance(found, tuple) else (found,)
        return (*before, *self.all_fields(given.words[:_MOST]))

    def _several(self, part: Part) -> list[str] | None:
        """The words of an array that is expanded as such, None of what is one word."""
        found = re.fullmatch(r"([A-Za-z_]\w*|[@*])(?:\[([@*])\])?", part.text) if part.kind == "variable" else None
        if found is None:
            return None
        value = self.values.get("@" if found[1] == "*" else self.real(found[1]))
        if not isinstance(value, tuple):
            return None
        if not found[2] and found[1] not in "@*":  # bash takes the first
            return [*value[:1]]
        return [" ".join(value)] if part.quoted and "*" in (found[1], found[2]) else [*value]

    def _expanded(self, part: Part, depth: int) -> str:
        if depth > _DEEPEST:
            return part.source
        if part.kind == "arithmetic":
            return part.source
        if part.kind == "command":
            printed = self._printed(part.text, depth)
            short = part.source if len(part.source) <= _SHOWN and "\n" not in part.source else HIDDEN
            return short if printed is None else printed
        return self._parameter(part, depth)

    def _parameter(self, part: Part, depth: int) -> str:
        found = _PARAMETER.fullmatch(part.text)
        if found is None:
            return part.source
        name, index, sign, more = found[1], found[2], found[3] or "", found[4] or ""
        value = self._value(name, index)
        kind = sign[-1:]
        if kind in ("-", "=") and (value is None or (value == "" and sign[0] == ":")):
            value = self.text(words.parts(more), depth + 1)
            if kind == "=":
                self.assign(name, value)
            return value
        if kind == "+" and value is not None and "$" not in value:
            return self.text(words.parts(more), depth + 1) if value or sign[0] != ":" else ""
        if value is None or kind == "+":
            return part.source
        if kind in ("#", "%") and "$" not in value:
            return _trimmed(value, sign, self.text(words.parts(more), depth + 1))
        return value if kind not in ("#", "%") else part.source

    def _value(self, name: str, index: str | None) -> str | None:
        value = self.values.get(self.real(name))
        if isinstance(value, str) or value is None:
            return value
        if index in ("[@]", "[*]"):
            return " ".join(value)
        place = int(index[1:-1]) if index else 0
        return value[place] if place < len(value) else None

    def _printed(self, command: str, depth: int) -> str | None:
        """What `$(echo ...)`, printf, basename, dirname and `cat <<WORD` print; None of any other command."""
        try:
            found = words.tokens(command) if len(command) <= _LONGEST else []
        except ValueError:
            return None
        documents = [each for each in found if isinstance(each, words.Document)]
        given = [each for each in found if isinstance(each, Word)]
        name = given[0].bare if given else ""
        if any(isinstance(each, words.Operator) and each.text != "\n" for each in found):
            return None
        if name == "cat" and len(given) == len(documents) == 1:
            (document,) = documents
            body = (
                self.text(words.parts(document.text, marks=True), depth + 1) if document.expands else document.text
            )
            return body.rstrip("\n")
        said = [self.text(each.parts, depth + 1) for each in given[1:]] if depth < _DEEPEST else []
        if name == "echo" and said[:1] not in (["-e"], ["-E"]):
            return " ".join(said[said[:1] == ["-n"] :])
        if name in _OF_PATHS and said and "$" not in "".join(said):
            return _OF_PATHS[name](*said[:2])
        return _printf(said[0], said[1:]) if name == "printf" and said and said[0] != "-v" else None


def _basename(path: str, end: str = "") -> str:
    last = path.rstrip("/").rsplit("/", 1)[-1]
    return last.removesuffix(end) if last != end else last


def _dirname(path: str, *_: str) -> str:
    return path.rstrip("/").rpartition("/")[0].rstrip("/") or ("/" if path.startswith("/") else ".")


_OF_PATHS: Mapping[str, Callable[..., str]] = {"basename": _basename, "dirname": _dirname}


def _printf(form: str, values: list[str]) -> str:
    left = iter(values)

    def value(found: re.Match[str]) -> str:
        if found[0][0] == "%":
            return "%" if found[0] == "%%" else next(left, "")
        return {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\\\": "\\"}.get(found[0], found[0])

    return _PRINTF.sub(value, form).rstrip("\n")


def _trimmed(value: str, sign: str, pattern: str) -> str:
    """`${NAME#pattern}` and its like: a beginning or an end is cut, the longest where the sign is doubled."""
    if len(value) > 300 or len(pattern) > 100:  # each place is tried
        return value
    places = range(len(value) + 1)
    if sign[0] == "#":
        found = [place for place in places if fnmatchcase(value[:place], pattern)]
        return value[(found[-1] if len(sign) > 1 else found[0]) :] if found else value
    found = [place for place in places if fnmatchcase(value[place:], pattern)]
    return value[: found[0] if len(sign) > 1 else found[-1]] if found else value
