"""Which releases of DGX OS a Spark knows of, which one it has, and what of another one it does not have yet.

NVIDIA describes each release in a recipe: packages, kernel, driver and firmware with the versions that belong
together. A Spark knows of those that the package nvidia-spark-ota-check brought. /etc/dgx-release cannot name one.

A Spark **has** a release by these rules, which are ours and not NVIDIA's score:

- The kernel that runs is at least the recipe's, and so is the driver; numbers are compared as numbers.
- Each installed package that the recipe names is at least as new, in dpkg's order. The driver's own packages
  (those with the driver's version) are left out, since the driver's version stands for all of them: the name of
  one of them has that version in it (nvidia-firmware-580-580.159.03), so that a newer driver does not have it.
- No package is missing that the release is the first to name. A missing package that an earlier release names,
  which the Spark is otherwise not behind, was removed by its owner: it is listed, and counts for nothing. So does
  one whose configuration dpkg still has, and one of the oldest recipe, before which nothing is known.
- Newer is never behind: Ubuntu's kernel and driver run ahead of NVIDIA's recipes.
- Firmware does not count, for a maker may bring it months later: sparkrig.update.firmware judges it.

Three Sparks [@spark-fleet-updates] have OTA2607 by these rules; NVIDIA's checker says so of one of them.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Annotated, Final

from annotated_types import MaxLen

from sparkrig.cure import on_host
from sparkrig.host import branches, driver, release_upgrade, update_facts
from sparkrig.host.apt import install_past_the_hold
from sparkrig.host.branches import BRANCH
from sparkrig.host.driver import Package
from sparkrig.parsing import archive, debian_version, document, grammar
from sparkrig.parsing.expected import short
from sparkrig.parsing.grammar import Grammar
from sparkrig.refusal import Refusal
from sparkrig.text import plain
from sparkrig.value import Value

FOLDER: Final = "/opt/nvidia/spark-ota-check/metadata"
CHECKER: Final = "nvidia-spark-ota-check"
LATEST: Final = "latest"
MOST_RECIPES: Final = 40  # NVIDIA published eleven within the first year

_MOST_BYTES = 1_572_864  # of the archive, as facts/releases.sh has it
_MOST_ROWS = 2000  # of one list of a recipe; the longest one recorded has 147
_LONGEST = 128  # characters of a version
_NAME = Grammar("name of a release", r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_PART = Grammar("name of a part with firmware", r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}")
_NUMBER = Grammar("version of firmware", r"[0-9]{1,9}(?:\.[0-9]{1,9}){1,5}")
_FILE = Grammar("name of a recipe's file", r"[A-Za-z0-9._-]{1,255}")
_TITLE = 60  # characters
_WHY = 200  # characters of a reason
_BETA = "ebeta"
_DRIVER_NAME = re.compile(r"nvidia-driver(?:-[0-9]{3})?(?:-open)?")
_LEADING = re.compile(r"[0-9]{1,9}(?:[.-][0-9]{1,9})*")


@dataclass(frozen=True)
class Recipe(Value):
    """One release, as NVIDIA's recipe has it.

    name: `OTA2607`; title: `July 2026`, empty where it has none; date: the ISO day of the release; kernel: as
    `uname -r` prints it; driver: as NVIDIA counts (580.159.03), that of the packages where they are ahead of the
    recipe's own number; packages: version by name; firmware: NVIDIA's version by its name (SOCFW, EC, USBPD, TPM);
    connectx: the version for the ConnectX-7, empty where it has none.
    """

    name: str
    title: str
    date: str
    kernel: str
    driver: str
    packages: Mapping[str, str] = field(default_factory=dict)
    firmware: Mapping[str, str] = field(default_factory=dict)
    connectx: str = ""

    @property
    def dgx_release(self) -> str:
        """The number that /etc/dgx-release has with it: `7.5.0`, as other releases may have; empty if untold."""
        return self.packages.get("dgx-release", "")

    @property
    def branch(self) -> int:
        """Of its driver."""
        return branches.of(self.driver)

    def later_than(self, branch: int | None) -> bool:
        """Whether its driver is of a later branch; None: any branch will do."""
        return branch is not None and self.branch > branch

    @property
    def shown(self) -> str:
        """Its names, for a sentence: `OTA2607 (July 2026, DGX OS 7.5.0)`."""
        more = [self.title, f"DGX OS {self.dgx_release}" if self.dgx_release else ""]
        return f"{self.name} ({', '.join(filter(None, more))})" if any(more) else self.name


@dataclass(frozen=True)
class Releases(Value):
    """The releases that a Spark knows of, and what it has of their packages.

    recipes: the oldest first; left_out: why a file is not among them, by its name (`-` where it cannot be shown);
    packages: the version of each installed package that a recipe names; removed: those of which dpkg has the
    configuration alone.
    """

    recipes: tuple[Recipe, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()

    @property
    def newest(self) -> Recipe | None:
        """The newest release that this Spark knows of; None where it knows of none."""
        return self.recipes[-1] if self.recipes else None


@dataclass(frozen=True)
class Installed(Value):
    """What a Spark has.

    kernel: the one that runs, as `uname -r` prints it; driver: the version of its packages as NVIDIA counts, empty
    where none is installed; packages: version by name; removed: names of which dpkg has the configuration alone.
    """

    kernel: str
    driver: str
    packages: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step(Value):
    """A version that a Spark has, empty where it has none, and the one that a release has."""

    has: str
    wants: str


@dataclass(frozen=True)
class Behind(Value):
    """What of a release a Spark does not have.

    recipe: its name; kernel, driver: None where they are as new; older: the installed packages that are older;
    missing: packages, with their version, that come with the release; removed: those that the owner removed, which
    make no Spark behind.
    """

    recipe: str
    kernel: Step | None = None
    driver: Step | None = None
    older: Mapping[str, Step] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()

    @property
    def outdated(self) -> bool:
        """Whether something that is there is older."""
        return bool(self.kernel or self.driver or self.older)

    @property
    def nothing(self) -> bool:
        """Whether the Spark has the release."""
        return not self.outdated and not self.missing


@dataclass(frozen=True)
class Standing(Value):
    """Where a Spark stands. has: the newest release that it has, None where it has none; ahead: the newer ones."""

    has: Recipe | None
    ahead: tuple[Recipe, ...] = ()


# --- reading

_Text = Annotated[str, MaxLen(_LONGEST)]


@dataclass(frozen=True)
class _Row:
    name: _Text
    version: _Text


_Rows = Annotated[tuple[_Row, ...], MaxLen(_MOST_ROWS)]


@dataclass(frozen=True)
class _Metadata:
    name: _Text
    releaseDate: _Text  # noqa: N815 - NVIDIA's name
    external_name: _Text | None = None


@dataclass(frozen=True)
class _Document:
    """What is read of a recipe's file."""

    metadata: _Metadata
    package: _Rows = ()
    firmware: _Rows = ()
    connectx: _Rows = ()
    software: _Rows = ()


def parse(lines: Iterable[str]) -> Releases:
    """Read the releases fact. Raises ValueError where a row makes no sense; a bad recipe spoils itself alone.

    Its rows are `left FILE WHY`, `recipes BASE64` (a compressed tar archive of the files) and
    `dpkg WANT STATUS NAME VERSION`.
    """
    left: dict[str, str] = {}
    files: list[archive.Member] = []
    rows: list[Package] = []
    for line in lines:
        word, _, rest = line.strip().partition(" ")
        if word == "left":
            name, _, why = rest.partition(" ")
            left[name if name == "-" else _FILE.held(name)] = plain(why)[:_WHY]
        elif word == "recipes":
            files.extend(archive.files(_unpacked(base64.b64decode(rest, validate=True))))
        elif word == "dpkg":
            want, status, name, version, *_ = [*rest.split(" "), "", "", "", ""]
            rows.append(Package(grammar.PACKAGE.held(name), want, status, version))
    recipes = _recipes(files, left)
    installed = {row.name: _version(row.version) for row in reversed(rows) if row.installed}
    removed = {row.name for row in rows if row.status == "config-files"} - {*installed}
    return Releases(recipes, left, installed, tuple(sorted(removed)))


def _unpacked(data: bytes) -> bytes:
    """What gzip compressed, up to the size that the program lets pass. Raises ValueError for any other."""
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        found = unpack.decompress(data, _MOST_BYTES)
    except zlib.error as error:
        raise ValueError(f"the recipes cannot be unpacked ({error})") from None
    if not unpack.eof:
        raise ValueError(f"the recipes are cut short, or have more than {_MOST_BYTES} bytes")
    return found


def _recipes(files: Sequence[archive.Member], left: dict[str, str]) -> tuple[Recipe, ...]:
    """The recipes of those files, the oldest first; `left` gets the others with the reason."""
    if len(files) > MOST_RECIPES:
        raise ValueError(f"{len(files)} recipes are more than the {MOST_RECIPES} expected")
    found: dict[str, Recipe] = {}
    for file in files:
        name = _FILE.held(file.path)
        try:
            recipe = _recipe(file.content)
            if release_upgrade.is_meant(recipe.dgx_release):
                raise ValueError(f"{recipe.shown} is a release upgrade; {update_facts.to_come().shown}")
            if recipe.name in found:
                raise ValueError("another file is the recipe of the same release")
        except ValueError as error:  # of Unicode, JSON and base64, too
            left[name] = plain(str(error))[:_WHY]
            continue
        found[recipe.name] = recipe
    real = [each for each in found.values() if _BETA not in each.name.lower()]
    return tuple(sorted(real, key=lambda each: (each.date, _numbers(each.name), each.name)))


@lru_cache(maxsize=2 * MOST_RECIPES)  # those of all Sparks of a fleet are the same
def _recipe(content: bytes) -> Recipe:
    """One recipe. Raises ValueError where it is none."""
    whole = document.read(_Document, content)
    packages = _versions(whole.package, grammar.PACKAGE, grammar.VERSION)
    software = {row.name: row.version for row in whole.software}
    if not packages:
        raise ValueError("it names no package")
    return Recipe(
        _NAME.held(whole.metadata.name),
        short(" ".join(plain(whole.metadata.external_name or "").split()))[:_TITLE],
        date.fromisoformat(whole.metadata.releaseDate[:10]).isoformat(),
        grammar.KERNEL.held(software.get("kernel", "")),
        _driver(grammar.DRIVER.held(software.get("driver", "")), packages),
        packages,
        _versions(whole.firmware, _PART, _NUMBER),
        next(iter(_versions(whole.connectx, _PART, _NUMBER).values()), ""),
    )


def _versions(rows: Iterable[_Row], name: Grammar, version: Grammar) -> dict[str, str]:
    """Version by name of a list in a recipe."""
    return {name.held(row.name): version.held(row.version) for row in rows}


def _driver(told: str, packages: Mapping[str, str]) -> str:
    """The newer of what a recipe tells and what its packages install: in one of them (May 2026) they differ."""
    of_packages = [
        upstream
        for name, version in packages.items()
        if _DRIVER_NAME.fullmatch(name) and grammar.DRIVER.fits(upstream := debian_version.upstream(version))
    ]
    return max([told, *of_packages], key=_numbers)


def _version(text: str) -> str:
    if len(text) > _LONGEST:
        raise ValueError(f"{short(text)!r} is no version of a Debian package")
    return grammar.VERSION.held(text)


# --- judging


def find(text: str, releases: Releases, branch: int | None = None) -> Recipe:
    """The release that is meant by what a user typed, in capitals or not.

    text: `latest`, the name of a recipe (OTA2607), its title (July 2026), or a number of /etc/dgx-release (7.5.0):
    where several recipes have that one, the newest of them. branch: of the driver that is held; the latest release
    has none of a later branch. Raises Refusal for any other text, and for a release with a later driver.
    """
    wanted = " ".join(text.split()).casefold()
    if release_upgrade.is_meant(wanted):
        raise release_upgrade.refusal(f"{short(text)!r} is a release upgrade", "the same with --to latest")
    later = None
    for recipe in reversed(releases.recipes):
        if wanted in (LATEST, recipe.name.casefold(), recipe.title.casefold(), recipe.dgx_release) and wanted:
            if not recipe.later_than(branch):
                return recipe
            later = later or recipe
    if later:
        raise undeclared(later, releases, branch)
    brings = on_host(install_past_the_hold(CHECKER), ", which brings NVIDIA's newest recipes")
    if not releases.recipes:
        raise Refusal(f"this Spark knows of no release of DGX OS: {FOLDER} has no recipe", brings)
    known = ", ".join(recipe.shown for recipe in reversed(releases.recipes))
    raise Refusal(f"this Spark knows of no release {short(text)!r} of DGX OS, but of {known}", brings)


def undeclared(recipe: Recipe, releases: Releases, branch: int | None) -> Refusal:
    """That a release has another branch of the driver than the declared one."""
    fits = next((each for each in reversed(releases.recipes) if not each.later_than(branch)), None)
    other = f"--to {fits.name}" if fits and fits != recipe else "--only firmware"
    return Refusal(
        f"{recipe.shown} has driver {recipe.driver}, and driver_branch declares {branch}",
        f"driver_branch = {recipe.branch} in the inventory, then the same, one Spark after the other; or {other}",
    )


def kept(packages: driver.Packages, releases: Releases, declared: int) -> int:
    """The branch that a Spark is held on: its own where a release has it, for an update alone moves a driver."""
    now = driver.branch(packages)
    if now and any(recipe.branch == now for recipe in releases.recipes):
        return max(BRANCH, now)
    return max(BRANCH, min(now or declared, declared))


def unpublished(releases: Releases, branch: int) -> Refusal | None:
    """Why a declared branch is none that a Spark can be held on: no release that it knows of has it."""
    if branch == BRANCH or any(recipe.branch == branch for recipe in releases.recipes):
        return None
    return Refusal(
        f"driver_branch declares {branch}, and no recipe of NVIDIA's on this Spark has a driver {branch}",
        on_host(install_past_the_hold(CHECKER), f", which brings the newest ones; else driver_branch = {BRANCH}"),
    )


def behind(installed: Installed, recipe: Recipe, releases: Releases) -> Behind:
    """What of a release a Spark does not have, by the rules at the head of this file.

    releases: all that the Spark knows of, which tell a package that is new from one that was removed.
    """
    found = _outdated(installed, recipe)
    names = [each.name for each in releases.recipes]
    before = releases.recipes[: names.index(recipe.name) if recipe.name in names else len(names)]
    absent = {name: v for name, v in _own(recipe).items() if name not in installed.packages}
    known = {name for each in before if not _outdated(installed, each).outdated for name in each.packages}
    gone = {name for name in absent if name in known or name in installed.removed or not before}
    return Behind(
        recipe.name,
        found.kernel,
        found.driver,
        found.older,
        {name: version for name, version in sorted(absent.items()) if name not in gone},
        tuple(sorted(gone)),
    )


def _outdated(installed: Installed, recipe: Recipe) -> Behind:
    """What is there, and older."""
    older = {
        name: Step(installed.packages[name], wants)
        for name, wants in sorted(_own(recipe).items())
        if name in installed.packages and debian_version.older(installed.packages[name], wants)
    }
    return Behind(
        recipe.name,
        _step(installed.kernel, recipe.kernel),
        _step(installed.driver, recipe.driver),
        older,
    )


def _own(recipe: Recipe) -> dict[str, str]:
    """The packages that are judged one by one: all but those of the driver, which have its version."""
    return {
        name: version
        for name, version in recipe.packages.items()
        if debian_version.upstream(version) != recipe.driver
    }


def _step(has: str, wants: str) -> Step | None:
    return Step(has, wants) if _numbers(has) < _numbers(wants) else None


def _numbers(text: str) -> tuple[int, ...]:
    """The numbers that a version begins with: (6, 17, 0, 1022) of 6.17.0-1022-nvidia, (2, 1) of OTA2.1."""
    found = _LEADING.match(text.removeprefix("OTA"))
    return tuple(map(int, re.split("[.-]", found[0]))) if found else ()


def standing(installed: Installed, releases: Releases) -> Standing:
    """The newest release that a Spark has, and the newer ones that it knows of, the oldest of them first."""
    for at in reversed(range(len(releases.recipes))):
        recipe = releases.recipes[at]
        if behind(installed, recipe, releases).nothing:
            return Standing(recipe, releases.recipes[at + 1 :])
    return Standing(None, releases.recipes)
