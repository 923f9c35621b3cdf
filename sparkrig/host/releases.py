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

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from sparkrig.cure import on_host
from sparkrig.host import branches, driver, release_upgrade
from sparkrig.host.apt import install_past_the_hold
from sparkrig.host.branches import BRANCH
from sparkrig.parsing import debian_version
from sparkrig.parsing.expected import short
from sparkrig.refusal import Refusal
from sparkrig.value import Value

FOLDER: Final = "/opt/nvidia/spark-ota-check/metadata"
CHECKER: Final = "nvidia-spark-ota-check"
LATEST: Final = "latest"
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

    def up_to(self, branch: int | None) -> Releases:
        """The same without the releases whose driver is of a later branch."""
        return replace(self, recipes=tuple(each for each in self.recipes if not each.later_than(branch)))


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
class VersionGap(Value):
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
    kernel: VersionGap | None = None
    driver: VersionGap | None = None
    older: Mapping[str, VersionGap] = field(default_factory=dict)
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
class ReleaseStanding(Value):
    """Where a Spark stands. has: the newest release that it has, None where it has none; ahead: the newer ones."""

    has: Recipe | None
    ahead: tuple[Recipe, ...] = ()


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
    fits = releases.up_to(branch).newest
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
        name: VersionGap(installed.packages[name], wants)
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


def _step(has: str, wants: str) -> VersionGap | None:
    return VersionGap(has, wants) if leading_numbers(has) < leading_numbers(wants) else None


def leading_numbers(text: str) -> tuple[int, ...]:
    """The numbers that a version begins with: (6, 17, 0, 1022) of 6.17.0-1022-nvidia, (2, 1) of OTA2.1."""
    found = _LEADING.match(text.removeprefix("OTA"))
    return tuple(map(int, re.split("[.-]", found[0]))) if found else ()


def standing(installed: Installed, releases: Releases) -> ReleaseStanding:
    """The newest release that a Spark has, and the newer ones that it knows of, the oldest of them first."""
    for at in reversed(range(len(releases.recipes))):
        recipe = releases.recipes[at]
        if behind(installed, recipe, releases).nothing:
            return ReleaseStanding(recipe, releases.recipes[at + 1 :])
    return ReleaseStanding(None, releases.recipes)
