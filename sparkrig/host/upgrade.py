"""What apt would do to a Spark in a dist-upgrade, once what a deploy holds is released."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sparkrig.parsing import grammar
from sparkrig.text import plain
from sparkrig.value import Value

# Inst NAME [INSTALLED] (CANDIDATE ARCHIVE [ARCHITECTURE]) as apt-get -s prints it; a new package has no INSTALLED
_INST = re.compile(r"(?P<name>[^ :]+)(?::\S+)?(?: \[(?P<old>[^]]*)\])? \((?P<new>[^ )]+)")

_CUT_SHORT = dict.fromkeys(("124", "137"), "it took too long")  # of timeout


@dataclass(frozen=True)
class Move(Value):
    """A version, or a release of the kernel, before and after; empty where there is none."""

    before: str
    after: str

    @property
    def moves(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True)
class Upgrade(Value):
    """A forecast.

    installs: package -> its versions, new packages included; removes: what would go; manual: what of it was
    installed by its own name, and not for the sake of another package; kept: what apt keeps back,
    since it needs something that apt may not touch; trouble: why apt could not tell, else empty; bytes: to
    download, without what is in apt's cache; sources: bytes by host that they come from.
    """

    installs: Mapping[str, Move]
    removes: tuple[str, ...]
    kept: tuple[str, ...]
    trouble: str
    bytes: int
    sources: Mapping[str, int]
    manual: frozenset[str] = frozenset()

    @property
    def idle(self) -> bool:
        """Whether apt would do nothing."""
        return not self.trouble and not self.installs and not self.removes


IDLE = Upgrade({}, (), (), "", 0, {})


def parse(lines: Iterable[str]) -> Upgrade:
    """Read what upgrade.sh prints. Raises ValueError where a row makes no sense, or the end is missing."""
    installs: dict[str, Move] = {}
    sources: dict[str, int] = {}
    removes, kept, trouble, manual = [], list[str](), [], set[str]()
    simulated, size = "", 0
    for line in lines:
        word, _, rest = line.strip().partition(" ")
        match word:
            case "Inst":
                name, move = _install(rest)
                installs[name] = move
            case "Remv":
                removes.append(grammar.PACKAGE.held(rest.split(" ", 1)[0].split(":", 1)[0]))
            case "manual":
                manual.add(grammar.PACKAGE.held(rest))
            case "kept":
                kept += (grammar.PACKAGE.held(name.partition(":")[0]) for name in rest.split())
            case "E:":
                trouble.append(plain(rest))
            case "simulated":
                simulated = rest
            case "bytes":
                size = int(rest)
            case "from":
                name, _, count = rest.rpartition(" ")
                sources[plain(name)] = int(count)
            case _:
                raise ValueError(f"cannot read the row {word!r}")
    if not simulated:
        raise ValueError("apt's forecast of an upgrade left no result")
    why = "" if simulated == "0" else " ".join(trouble) or _CUT_SHORT.get(simulated, f"exit {simulated}")
    if why:
        installs, removes = {}, []
    return Upgrade(installs, tuple(removes), tuple(kept), why, size, sources, frozenset(manual))


def _install(rest: str) -> tuple[str, Move]:
    """A package and its versions. Raises ValueError."""
    if not (found := _INST.match(rest)):
        raise ValueError("a row of apt's forecast has no version")
    before = grammar.VERSION.held(found["old"]) if found["old"] else ""
    return grammar.PACKAGE.held(found["name"]), Move(before, grammar.VERSION.held(found["new"]))
