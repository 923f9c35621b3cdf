"""Several nouns of a host in one look.

The unit of cost is the SSH exec (pyinfra has no fact cache), so the nouns' own commands run as sections
of one script, each in a subshell of its own. Processes are counted too: on a slow host one of `timeout`, or a new
shell, costs as much as what it runs (docs/performance.md).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pyinfra.api import FactBase
from pyinfra.api.exceptions import FactProcessError

from sparkrig.facts.noun import PREAMBLE, Noun, understood
from sparkrig.parsing import bounds

T = TypeVar("T")

_LOOK, _END = "#sparkrig:look", "#sparkrig:end"
_BEGIN = re.compile(rf"{_LOOK} ([0-9a-f-]{{36}})")
_LIMIT_S = 300  # of the whole look; a host that hangs is reported, and not waited for


class Bundle(FactBase[T]):
    """All of `nouns`, read by one command; `whole` makes one value of what they found, by their names.

    limit_s: after which the look ends with what it has; beside: the nouns that wait for tools and servers, which
    are read one after another while the others are; last: the one whose clock is to be that of the answer.
    """

    limit_s = _LIMIT_S
    beside: tuple[str, ...] = ()
    last = ""
    nouns: Mapping[str, type[Noun[Any]]]
    whole: Callable[..., T]

    def command(self) -> str:
        return self.look(self.beside)

    def look(self, beside: Sequence[str]) -> str:
        """The command that reads all. beside: as of the class, which costs two processes more."""
        shared = dict.fromkeys(text for noun in self.nouns.values() for text in noun.shared)
        sections = {name: section(name, noun.script) for name, noun in self.nouns.items()}
        slow = [sections.pop(name) for name in beside]
        last = [sections.pop(self.last)] if self.last else []
        rest = [meanwhile("\n".join(slow), *sections.values())] if slow else [*sections.values()]
        return looked(*shared, *rest, *last, seconds=self.limit_s)

    def process(self, output: list[str]) -> T:
        sections = understood("look", lambda: self._sections(output))
        found = {name: noun().process(sections[name]) for name, noun in self.nouns.items()}
        return understood("look", lambda: type(self).whole(**found))

    def _sections(self, output: Sequence[str]) -> dict[str, list[str]]:
        """The rows of each noun. Raises FactProcessError where one is absent, failed, or ends twice."""
        found: dict[str, list[str]] = {}
        for name, rows in self.parts(output).items():
            if isinstance(rows, FactProcessError):
                raise rows
            found[name] = rows
        return found

    def parts(self, output: Sequence[str]) -> dict[str, list[str] | FactProcessError]:
        """The rows of each noun, or why it has none: it is absent, failed, or ends twice."""
        if sum(map(len, output)) + len(output) > bounds.LOOK_CHARS:
            raise ValueError(f"it printed more than the {bounds.LOOK_CHARS} characters expected")
        begin, token = _begun(output)
        marker = re.compile(rf"{_END} ([a-z_]+) (\d{{1,3}}){token}")
        sections: dict[str, list[str] | FactProcessError] = {}
        lines: list[str] = []
        for line in output[begin:]:
            found = marker.fullmatch(line)
            if not found:
                lines.append(line)
                continue
            name, status = found.groups()
            if status != "0":
                sections[name] = FactProcessError(f"{name}: could not be read (exit {status})")
            elif name in sections:
                sections[name] = FactProcessError(f"{name}: could not be read (its end was printed twice)")
            else:
                sections[name] = [row for row in lines if row]
            lines = []
        for name in self.nouns:
            if name not in sections:
                sections[name] = FactProcessError(
                    f"{name}: could not be read (no answer in time, or the connection broke off)"
                )
        return sections


def _begun(output: Sequence[str]) -> tuple[int, str]:
    """Where a look begins, after what a login shell may print, and how its markers end.

    The recordings of before markers had a word of their own begin with their first row.
    """
    for number, line in enumerate(output):
        if found := _BEGIN.fullmatch(line):
            return number + 1, f" {found[1]}"
    return 0, ""


def looked(*sections: str, seconds: int = _LIMIT_S) -> str:
    """The command of a look that has these sections; what several of them share comes before them.

    seconds: after which it ends with what it has.
    """
    # Each look has a word of its own at the end of its markers, which no file or name on the host can know.
    begin = f"read -r sparkrig_look </proc/sys/kernel/random/uuid; printf '%s\\n' \"{_LOOK} $sparkrig_look\""
    whole = shlex.quote("\n".join([begin, *sections]))
    # A look that was cut short still has what it saw: head ends well, and one byte more shows the excess.
    most = bounds.LOOK_CHARS + 1
    return f"{PREAMBLE}\ntimeout -k 5 {seconds} sh -c {whole} 2>/dev/null </dev/null | head -c {most}"


def section(name: str, text: str) -> str:
    """The part of a look that prints the rows of a noun. text: the shell text that prints them."""
    return f'(\n{text.strip()}\n)\nprintf "\\n%s\\n" "{_END} {name} $? $sparkrig_look"'


def meanwhile(slow: str, *sections: str) -> str:
    """Sections that are read while another one waits, whose rows come last; a pipe takes them meanwhile."""
    rows = "\n".join(sections)
    return f"{{\n{slow}\n}} | {{\n{{\n{rows}\n}} </dev/null\nexec cat\n}}"
