"""What every fact of this toolkit has in common: one command, and a pure parser."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from pyinfra.api import FactBase
from pyinfra.api.exceptions import FactProcessError

T = TypeVar("T")

# nmcli and others speak the language of the host otherwise.
PREAMBLE = "LC_ALL=C.UTF-8; export LC_ALL"


class Noun(FactBase[T]):
    """A fact that is read by one shell command and understood by one pure function.

    `script` is the shell text that prints everything of its kind. `parse` takes the output's lines and
    raises ValueError, or
    stumbles over a missing key, where they make no sense; pyinfra allows `process` no other exception than
    FactProcessError, which fails this one host.
    """

    script: str
    parse: Callable[[Iterable[str]], T]

    def command(self) -> str:
        return f"{PREAMBLE}\n{self.script}"

    def process(self, output: list[str]) -> T:
        try:
            return type(self).parse(output)
        except (ValueError, LookupError, TypeError) as error:
            # only the parsers' own errors are sentences
            why = str(error) if isinstance(error, ValueError) else "a row has another form than is expected"
            raise FactProcessError(f"{type(self).__name__.lower()}: cannot be understood ({why})") from error
