"""What can be had of driver and kernel on a Spark, from its repositories or from apt's cache, and its kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sparkrig.host import release_upgrade
from sparkrig.host.release_upgrade import Others
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
class Source(Value):
    """A source of packages. suite: `/` for one without suites; fetched: whether apt has a list of it."""

    uri: str
    suite: str
    fetched: bool


@dataclass(frozen=True)
class Repositories(Value):
    """What apt knows.

    now: the host's clock, seconds since 1970; fetched: when apt fetched its lists, 0 for never; versions: of each
    installed package of driver or kernel, and of the driver of each branch, those that a repository has; cached:
    files in apt's cache of the kind; held: all names on hold; kernels: in /boot; reboot: packages that wait for a
    reboot, None where none does; builds: of each package of prebuilt modules, for installed kernels and others,
    its versions with the bounds that they set to the driver's, as (`>=`, version); sources: of apt; codename: of
    the host's own release of Ubuntu, such as noble, empty where it names none; dkms: the modules that DKMS
    builds, as NAME/VERSION; key_absent: whether Secure Boot is on and does not know the key that they are signed
    by; kho: what GRUB's settings say of it on the kernel's command line, empty for nothing; others: what else
    changes the host.
    """

    now: int
    fetched: int
    versions: Mapping[str, tuple[str, ...]]
    cached: frozenset[str]
    held: tuple[str, ...]
    kernels: tuple[Kernel, ...]
    reboot: tuple[str, ...] | None = None
    builds: Mapping[str, Mapping[str, tuple[tuple[str, str], ...]]] = field(default_factory=dict)
    sources: tuple[Source, ...] = ()
    codename: str = ""
    dkms: tuple[str, ...] = ()
    key_absent: bool = False
    kho: str = ""
    others: Others = field(default_factory=Others)

    def has(self, name: str, version: str) -> bool:
        """Whether a version of a package can be installed again, from a repository or from apt's cache."""
        file = f"{name}_{version.replace(':', '%3a')}_"
        return version in self.versions.get(name, ()) or any(each.startswith(file) for each in self.cached)


_WORDS = (
    "now",
    "lists",
    "held",
    "version",
    "build",
    "cached",
    "kernel",
    "source",
    "codename",
    "dkms",
    "key",
    "reboot",
    "kho",
)
_OTHERS = ("works", "offer", "dashboard")  # of sparkrig.host.release_upgrade


def parse(lines: Iterable[str]) -> Repositories:
    """Read what repositories.sh prints. Raises ValueError where a row makes no sense."""
    rows: dict[str, list[str]] = {word: [] for word in _WORDS}
    read = [line.strip() for line in lines]
    for line in read:
        word, _, rest = line.partition(" ")
        if word in _OTHERS:
            continue
        if word not in rows:
            raise ValueError(f"cannot read the row {word!r}")
        rows[word].append(rest)
    if not rows["now"]:
        raise ValueError("the host does not say what time it is there")
    reboot = rows["reboot"]
    return Repositories(
        now=int(rows["now"][-1]),
        fetched=int(rows["lists"][-1]) if rows["lists"] else 0,
        versions=_versions(rows["version"]),
        cached=frozenset(map(plain, rows["cached"])),
        held=tuple(grammar.PACKAGE.held(name.partition(":")[0]) for name in rows["held"]),
        kernels=tuple(map(_kernel, rows["kernel"])),
        reboot=tuple(grammar.PACKAGE.held(name) for name in reboot if name) if reboot else None,
        builds=_builds(rows["build"]),
        sources=tuple(map(_source, rows["source"])),
        codename="".join(map(plain, rows["codename"][-1:])),
        dkms=tuple(map(plain, rows["dkms"])),
        key_absent=rows["key"] == ["absent"],
        kho="".join(map(plain, rows["kho"][-1:])),
        others=release_upgrade.parse(read),
    )


def _versions(rows: Iterable[str]) -> dict[str, tuple[str, ...]]:
    versions: dict[str, tuple[str, ...]] = {}
    for row in rows:
        name, version = row.split(" ")
        versions[name] = (*versions.get(grammar.PACKAGE.held(name), ()), grammar.VERSION.held(version))
    return versions


def _builds(rows: Iterable[str]) -> dict[str, dict[str, tuple[tuple[str, str], ...]]]:
    builds: dict[str, dict[str, tuple[tuple[str, str], ...]]] = {}
    for row in rows:
        name, version, *words = row.split(" ")
        bounds = zip(map(_RELATION.held, words[::2]), map(grammar.VERSION.held, words[1::2]), strict=True)
        builds.setdefault(grammar.PACKAGE.held(name), {})[grammar.VERSION.held(version)] = tuple(bounds)
    return builds


def _kernel(row: str) -> Kernel:
    release, initrd, module = row.split(" ")
    return Kernel(grammar.KERNEL.held(release), initrd == "initrd", module == "module")


def _source(row: str) -> Source:
    fetched, suite, uri = row.split(" ", 2)  # a source on a disk or a CD may have blanks in its name
    return Source(plain(uri), plain(suite), fetched == "fetched")
