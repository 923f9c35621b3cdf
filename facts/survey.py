"""The fabric of a host, whom it hears, and who else measures there: what a measurement needs, in one look."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace

from sparkrig.bandwidth import perftest_preflight
from sparkrig.bandwidth.perftest_preflight import PREFLIGHT, Users
from sparkrig.fabric import neighbours
from sparkrig.facts.bundle import Bundle, looked, meanwhile, section
from sparkrig.facts.fabric import Fabric
from sparkrig.facts.neighbours import Neighbours
from sparkrig.facts.noun import Noun
from sparkrig.resources.state import State


@dataclass(frozen=True)
class Looked:
    """What one look saw of a host of a group.

    found: of the host, what was asked for; heard: by whom it is reached below IP, users: who else measures there,
    each None where that was not asked.
    """

    found: State
    heard: neighbours.Neighbours | None = None
    users: Users | None = None

    def over(self, known: State | None) -> Looked:
        """The same with what is known of the host from a look before, of what was not asked again."""
        return replace(self, found=self.found.over(known)) if known else self


def _heard(rows: Iterable[str]) -> neighbours.Neighbours:
    """Whom the host hears; a probe that broke off hides nothing else of it."""
    try:
        return neighbours.parse(rows)
    except ValueError as error:
        return neighbours.Neighbours(trouble=str(error))


class Heard(Noun[neighbours.Neighbours]):
    """Whom a host hears, as part of a look at more."""

    parse = staticmethod(_heard)
    script = Neighbours.script


class Perftest(Noun[Users]):
    """Who else measures; what an earlier measurement of ours left over is ended."""

    parse = staticmethod(lambda rows: perftest_preflight.parse_preflight("\n".join(rows)))
    script = PREFLIGHT


class Survey(Bundle[Looked]):
    """What Fabric reads and is not known; the probe listens meanwhile, so the hosts are asked at once."""

    whole = staticmethod(lambda heard=None, users=None, **found: Looked(State(**found), heard, users))

    def __init__(
        self,
        known: Iterable[str] = (),
        *,
        patience: float | None = None,
        fan: int = 1,
        port: tuple[int, int] | None = None,
    ):
        """known: nouns that are not asked; patience, fan: of the probe, None for none.

        port: for how many seconds a server of ours may wait for its client, and its first port; None where it does
        not matter who else measures.
        """
        self._patience, self._fan, self._port = patience, fan, port
        self.nouns = {name: noun for name, noun in Fabric.nouns.items() if name not in known}
        self._own = dict(self.nouns)
        if port:
            self.nouns["users"] = Perftest
        if patience:
            self.nouns["heard"] = Heard

    def command(self) -> str:
        sections = [section(name, noun.script) for name, noun in self._own.items()]
        if self._port:
            words = shlex.join(map(str, self._port))
            sections.append(section("users", f"set -- {words}\n{PREFLIGHT}"))
        if not self._patience:
            return looked(*sections)
        listens = Neighbours().command(self._patience, self._fan)
        probe = f'{{\n{listens}\n}} || echo "trouble the probe ended with exit $?"'
        return looked(meanwhile(section("heard", probe), *sections))
