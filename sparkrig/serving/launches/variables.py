"""The variables of a shell while a script is read, and what a word becomes with them.

What is not known stays as it is written, so that a `$` in a value means: not known. A value that only a branch, a
loop or a function gives is a doubt, which stays in whatever is made of it and names the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sparkrig.serving.launches import words
from sparkrig.serving.launches.words import Array, Part, Word

_LONGEST = 65_536  # characters of a value: `A=$A$A` doubles it
_MOST_TOGETHER = 4 * _LONGEST  # of the words of one command
_MOST = 2_000  # words of an array or of one expansion
_DEEPEST = 8  # `${A:-${B:-...}}`
_SHOWN = 40  # of a command whose output is not known
_PARAMETER = re.compile(r"([A-Za-z_]\w*|[0-9@*])(?:\[[@*]\])?(?:(:?[-=+?])(.*))?", re.DOTALL)
_SEVERAL = re.compile(r"([A-Za-z_]\w*|[@*])(?:\[([@*])\])?")
_DOUBT = re.compile(r"\0([^\0]*)\0")

ARGUMENTS = ("@", *"123456789")  # of a script
DECLARE = frozenset({"export", "readonly", "declare", "local", "typeset"})
_HIDDEN = "$(...)"  # the output of a long command

Value = str | tuple[str, ...]


def _symbol(name: str, *, array: bool = False) -> str:
    """What stands for a value that is not known."""
    return f"${{{name}[@]}}" if array else f"${{{name}}}"


def doubt(texts: Iterable[str]) -> str:
    """Why some of these is not known, empty where nothing is in doubt."""
    return next((found[1] for each in texts if (found := _DOUBT.search(each))), "")


class Variables:
    """What is known of them. exported: names; one without a value is set where the script is started.

    changed: names that were given a value since this was made; local: those of the function that is read; doubted:
    why a name is in doubt for good.
    """

    def __init__(self, given: Mapping[str, str | None] | None = None) -> None:
        self.values: dict[str, Value] = {name: value for name, value in (given or {}).items() if value is not None}
        self.exported: dict[str, None] = dict.fromkeys(given or {})
        self.changed: set[str] = set()
        self.local: set[str] = set()
        self.doubted: dict[str, str] = {}

    def copy(self) -> Variables:
        made = Variables()
        made.values, made.exported, made.doubted = {**self.values}, {**self.exported}, {**self.doubted}
        return made

    @property
    def environment(self) -> dict[str, str | None]:
        """What a program that is started gets."""
        found = {name: self.values.get(name) for name in self.exported}
        return {name: value if not isinstance(value, tuple) else None for name, value in found.items()}

    def assign(self, name: str, value: Value, *, exported: bool = False) -> None:
        size = len(value) if isinstance(value, str) else sum(map(len, value))
        if size > _LONGEST or (isinstance(value, tuple) and len(value) > _MOST):
            value = _symbol(name) if isinstance(value, str) else (_symbol(name, array=True),)
        self.changed.add(name)
        self.values[name] = f"\0{self.doubted[name]}\0" if name in self.doubted else value
        if exported:
            self.exported[name] = None

    def hide(self, name: str) -> None:
        """Forgets a value, which something unseen now sets."""
        array = isinstance(self.values.get(name), tuple)
        self.assign(name, (_symbol(name, array=True),) if array else _symbol(name))

    def forget(self, name: str) -> None:
        self.changed.add(name)
        self.values.pop(name, None)
        self.exported.pop(name, None)

    def question(self, names: Iterable[str], why: str) -> None:
        """Puts values in doubt."""
        for name in names:
            self.assign(name, f"\0{why}\0")

    def assignment(self, word: Word | Array) -> tuple[str, Value] | None:
        """The name and the value of `NAME=value`."""
        if isinstance(word, Array):
            return word.name, self.array(word)
        first = word.parts[0] if word.parts else None
        if first is None or first.kind != "text" or first.quoted or "=" not in first.text:
            return None
        name, _, text = first.text.partition("=")
        more = name.endswith("+")
        name = name.removesuffix("+")
        if not name.isidentifier():
            return None
        rest = (first._replace(text=text), *word.parts[1:])
        value = self.text(rest)
        if any(part.kind == "command" and value in (part.source, _HIDDEN) for part in rest[1:]):
            value = _symbol(name)
        before = self.values.get(name, "") if more else ""
        return name, (*before, value) if isinstance(before, tuple) else before + value

    def declare(self, how: str, given: Sequence[Word | Array], line: str) -> None:
        """`export`, `local` and their like."""
        options = [word.bare for word in given if isinstance(word, Word) and word.bare.startswith(("-", "+"))]
        exported = how == "export" or any("x" in each for each in options if each.startswith("-"))
        for word in given:
            found = self.assignment(word)
            text = self.text(word.parts) if isinstance(word, Word) else ""
            if found is None and "=" in text:  # all of it is quoted
                found = text.partition("=")[0], text.partition("=")[2]
            name = found[0] if found else text
            if not name.isidentifier():
                continue
            if how in ("local", "declare", "typeset") and not exported:
                self.local.add(name)
            if found and any("n" in each for each in options):
                self.question([name, str(found[1])], f"{line} gives {name} another name")
            elif found:
                self.assign(name, found[1], exported=exported)
            elif exported:
                self.changed.add(name)
                self.exported[name] = None

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
            if (
                sole
                and not part.quoted
                and not text.startswith("$")
                and not doubt([text])
                and re.search(r"\s", text)
            ):
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
        found = self.values.get(given.name, ()) if given.more else ()
        before = found if isinstance(found, tuple) else (found,)
        return (*before, *self.all_fields(given.words[:_MOST]))

    def _several(self, part: Part) -> list[str] | None:
        """The words of an array that is expanded as such, None of what is one word."""
        found = _SEVERAL.fullmatch(part.text) if part.kind == "variable" else None
        value = self.values.get("@" if found[1] == "*" else found[1]) if found else None
        if found is None or not isinstance(value, tuple):
            return None
        if not found[2] and found[1] not in "@*":  # bash takes the first
            return [*value[:1]]
        return [" ".join(value)] if part.quoted and "*" in (found[1], found[2]) else [*value]

    def _expanded(self, part: Part, depth: int) -> str:
        if depth > _DEEPEST:
            return part.source
        if part.kind == "command":
            short = len(part.source) <= _SHOWN and "\n" not in part.source
            return part.source if short or part.text.startswith("(") else _HIDDEN
        found = _PARAMETER.fullmatch(part.text)
        if found is None:  # cut, replaced, counted or one of several
            name = re.search(r"\w+", part.text)
            value = self.values.get(name[0] if name else "", ())
            why = doubt([value] if isinstance(value, str) else value)
            return f"\0{why}\0" if why else part.source
        known, sign, more = self._value(found[1]), found[2] or "", found[3] or ""
        if sign[-1:] in ("-", "=") and (known is None or (known == "" and sign[0] == ":")):
            known = self.text(words.parts(more), depth + 1)
            if sign[-1] == "=":
                self.assign(found[1], known)
        elif sign[-1:] == "+" and known is not None and "$" not in known and not doubt([known]):
            return self.text(words.parts(more), depth + 1) if known or sign[0] != ":" else ""
        elif sign[-1:] == "+" and not doubt([known or ""]):
            return part.source
        return part.source if known is None else known

    def _value(self, name: str) -> str | None:
        value = self.values.get(name)
        return " ".join(value) if isinstance(value, tuple) else value
