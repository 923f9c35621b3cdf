"""What can be had of driver and kernel on a Spark, from its repositories or from apt's cache, and its kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sparkrig.parsing import debian_version, grammar
from sparkrig.text import plain
from sparkrig.value import Value


@dataclass(frozen=True)
class Kernel(Value):
    """A kernel in /boot. initrd: whether its initrd is there, and not empty; module: whether its nvidia.ko is."""

    release: str
    initrd: bool
    module: bool


@dataclass(frozen=True)
class Build(Value):
    """A package of prebuilt modules that can be had, and which versions of the driver it takes.

    One kernel has several, each for another driver: `>= 580.142`, `<= 580.142-1`.
    """

    name: str
    version: str
    takes: tuple[tuple[str, str], ...]

    def fits(self, driver: str) -> bool:
        """Whether it takes a version of the driver."""
        return all(_RELATIONS[relation](driver, bound) for relation, bound in self.takes)


# of Depends, by Debian Policy 7.1
_RELATIONS: Mapping[str, Callable[[str, str], bool]] = {
    ">=": lambda one, other: not debian_version.older(one, other),
    "<=": lambda one, other: not debian_version.older(other, one),
    ">>": lambda one, other: debian_version.older(other, one),
    "<<": debian_version.older,
    "=": lambda one, other: debian_version.key(one) == debian_version.key(other),
}


@dataclass(frozen=True)
class Repositories(Value):
    """What apt knows.

    now: the host's clock, seconds since 1970; fetched: when apt fetched its lists, 0 for never; versions: of each
    installed package of driver or kernel those that a repository has; cached: files in apt's cache of the kind;
    held: all names on hold; builds: of modules; kernels: in /boot; reboot: packages that wait for a reboot, None
    where none does.
    """

    now: int
    fetched: int
    versions: Mapping[str, tuple[str, ...]]
    cached: frozenset[str]
    held: tuple[str, ...]
    kernels: tuple[Kernel, ...]
    reboot: tuple[str, ...] | None = None
    builds: tuple[Build, ...] = ()

    def has(self, name: str, version: str) -> bool:
        """Whether a version of a package can be installed again, from a repository or from apt's cache."""
        file = f"{name}_{version.replace(':', '%3a')}_"
        return version in self.versions.get(name, ()) or any(each.startswith(file) for each in self.cached)


def parse(lines: Iterable[str]) -> Repositories:
    """Read what repositories.sh prints. Raises ValueError where a row makes no sense."""
    now, fetched, reboot = 0, 0, None
    versions: dict[str, tuple[str, ...]] = {}
    cached, held, kernels, builds = [], [], [], list[Build]()
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
                builds.append(_build(rest))
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
    return Repositories(
        now, fetched, versions, frozenset(cached), tuple(held), tuple(kernels), reboot, tuple(builds)
    )


def _build(rest: str) -> Build:
    """A row `NAME VERSION [RELATION VERSION]...`. Raises ValueError."""
    name, version, *takes = rest.split(" ")
    pairs = tuple(zip(takes[::2], takes[1::2], strict=True))
    if unknown := {relation for relation, _ in pairs} - _RELATIONS.keys():
        raise ValueError(f"no relation of versions: {min(unknown)[:10]!r}")
    return Build(
        grammar.PACKAGE.held(name),
        grammar.VERSION.held(version),
        tuple((relation, grammar.VERSION.held(bound)) for relation, bound in pairs),
    )
