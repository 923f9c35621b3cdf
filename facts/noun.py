"""What every fact of this toolkit has in common: one command, and a pure parser."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from pyinfra.api import FactBase
from pyinfra.api.exceptions import FactProcessError

from sparkrig.parsing import bounds
from sparkrig.text import plain

T = TypeVar("T")
U = TypeVar("U")

_SHOWN = 300  # characters of a parser's sentence, which may have a host's text in it

# nmcli and others speak the language of the host otherwise. What a look asks for several parts is in variables,
# which a host's environment must not seem to have answered; TAR_OPTIONS would change the archive of files.
PREAMBLE = "LC_ALL=C.UTF-8; export LC_ALL; unset packages managed manager_load docker_about TAR_OPTIONS"


class Noun(FactBase[T]):
    """A fact that is read by one shell command and understood by one pure function.

    `script` is the shell text that prints everything of its kind. `parse` takes the output's lines and raises
    ValueError where they make no sense; whatever else it stumbles over is garbage of this one host as well.
    `limit`: the most characters that it may print. `shared`: parts of the script that ask something for several
    nouns; a look at several runs them once, before all.
    """

    script: str
    shared: tuple[str, ...] = ()
    parse: Callable[[Iterable[str]], T]
    limit = bounds.NOUN_CHARS

    def command(self) -> str:
        return f"{PREAMBLE}\n{self.script}"

    def process(self, output: list[str]) -> T:
        return understood(type(self).__name__.lower(), lambda: self._parsed(output))

    def _parsed(self, output: list[str]) -> T:
        bounds.judge(output, self.limit)
        return type(self).parse(output)


def understood(name: str, parse: Callable[[], U]) -> U:
    """The boundary between what a host printed and this program: garbage becomes a FactProcessError.

    name: of the noun that it is about. pyinfra lets a fact raise no other exception: that one fails its host, and
    any other ends the run of every host with a traceback.
    """
    try:
        return parse()
    except (FactProcessError, *bounds.OWN_FAULTS):
        raise
    except Exception as error:
        # Data of the wrong form makes a parser raise nearly anything: AttributeError where a list stands for an
        # object, KeyError, StopIteration, OverflowError, RecursionError, MemoryError. ValueErrors are sentences.
        sentence = isinstance(error, ValueError) and str(error)
        why = sentence or f"a row has another form than is expected: {type(error).__name__}"
        # pyinfra prints the cause of an exception in its place, as it is, so this one has none
        raise FactProcessError(f"{name}: cannot be understood ({plain(why[:_SHOWN])})") from None
