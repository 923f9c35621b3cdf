"""What can be had of driver and kernel on a Spark, from its repositories or from apt's cache, and its kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sparkrig.parsing import grammar
from sparkrig.parsing.grammar import Grammar
from sparkrig.text import plain
from sparkrig.value import Value

_RELATION = Grammar("relation of Debian versions", "<<|<=|=|>=|>>")


@dataclass(frozen=True)
class Kernel(Value):
    """A kernel in /boot. initrd: whether its initrd is there, and not empty; module: whether its nvidia.ko is."""

    release: str
    initrd: bool
    module: bool


@dataclass(frozen=True)
class Repositories(Value):
    """What apt knows.

    now: the host's clock, seconds since 1970; fetched: when apt fetched its lists, 0 for never; versions: of each
    installed package of driver or kernel those that a repository has; cached: files in apt's cache of the kind;
    held: all names on hold; kernels: in /boot; reboot: packages that wait for a reboot, None where none does;
    builds: of each package of prebuilt modules, for installed kernels and others, its versions with the bounds
    that they set to the driver's, as (`>=`, version).
    """

    now: int
    fetched: int
    versions: Mapping[str, tuple[str, ...]]
    cached: frozenset[str]
    held: tuple[str, ...]
    kernels: tuple[Kernel, ...]
    reboot: tuple[str, ...] | None = None
    builds: Mapping[str, Mapping[str, tuple[tuple[str, str], ...]]] = field(default_factory=dict)

    def has(self, name: str, version: str) -> bool:
        """Whether a version of a package can be installed again, from a repository or from apt's cache."""
        file = f"{name}_{version.replace(':', '%3a')}_"
        return version in self.versions.get(name, ()) or any(each.startswith(file) for each in self.cached)


def parse(lines: Iterable[str]) -> Repositories:
    """Read what repositories.sh prints. Raises ValueError where a row makes no sense."""
    now, fetched, reboot = 0, 0, None
    versions: dict[str, tuple[str, ...]] = {}
    cached, held, kernels = [], [], []
    builds: dict[str, dict[str, tuple[tuple[str, str], ...]]] = {}
    for line in lines:
        word, _, rest = line.strip().partition(" ")
        match word:
            case "now":
                now = int(rest)
            case "lists":
                fetched = int(rest)
            case "held":
                held.append(grammar.PACKAGE.held(rest.partition(":")[0]))
            case "version":
                name, version = rest.split(" ")
                known = versions.get(grammar.PACKAGE.held(name), ())
                versions[name] = (*known, grammar.VERSION.held(version))
            case "build":
                name, version, *words = rest.split(" ")
                bounds = zip(map(_RELATION.held, words[::2]), map(grammar.VERSION.held, words[1::2]), strict=True)
                builds.setdefault(grammar.PACKAGE.held(name), {})[grammar.VERSION.held(version)] = tuple(bounds)
            case "cached":
                cached.append(plain(rest))
            case "kernel":
                release, initrd, module = rest.split(" ")
                kernels.append(Kernel(grammar.KERNEL.held(release), initrd == "initrd", module == "module"))
            case "reboot":
                reboot = (*(reboot or ()), *([grammar.PACKAGE.held(rest)] if rest else []))
            case _:
                raise ValueError(f"cannot read the row {word!r}")
    if not now:
        raise ValueError("the host does not say what time it is there")
    return Repositories(now, fetched, versions, frozenset(cached), tuple(held), tuple(kernels), reboot, builds)
