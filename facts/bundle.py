"""Several nouns of a host in one look.

The unit of cost is the SSH exec (pyinfra has no fact cache), so the nouns' own commands run as sections
of one script, each in a subshell of its own. Processes are counted too: on a slow host one of `timeout`, or a new
shell, costs as much as what it runs (docs/performance.md).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pyinfra.api import FactBase
from pyinfra.api.exceptions import FactProcessError

from facts.noun import PREAMBLE, Noun

T = TypeVar("T")

_END = "#sparkrig:end"
_LIMIT_S = 300  # of the whole look; a host that hangs is said to, and not waited for


class Bundle(FactBase[T]):
    """All of `nouns`, read by one command; `whole` makes one value of what they found, by their names."""

    nouns: Mapping[str, type[Noun[Any]]]
    whole: Callable[..., T]

    def command(self) -> str:
        sections = "\n".join(
            f"(\n{noun.script.strip()}\n)\nprintf '\\n{_END} {name} %s\\n' $?" for name, noun in self.nouns.items()
        )
        # a look that was cut short still says what it saw
        return f"{PREAMBLE}\ntimeout -k 5 {_LIMIT_S} sh -c {shlex.quote(sections)} 2>/dev/null </dev/null || :"

    def process(self, output: list[str]) -> T:
        sections: dict[str, list[str]] = {}
        lines: list[str] = []
        for line in output:
            if not line.startswith(_END):
                lines.append(line)
                continue
            _, name, status = line.split(" ")
            if status != "0":
                raise FactProcessError(f"{name}: could not be read (exit {status})")
            sections[name], lines = [row for row in lines if row], []
        absent = [name for name in self.nouns if name not in sections]
        if absent:
            raise FactProcessError(
                f"{absent[0]}: could not be read (no answer within {_LIMIT_S} s, or the connection broke off)"
            )
        return type(self).whole(**{name: noun().process(sections[name]) for name, noun in self.nouns.items()})
