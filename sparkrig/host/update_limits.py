"""The limits of an update by a release of DGX OS, and why it would not reach that release.

Ubuntu's repositories run ahead of NVIDIA's releases, and one such step left Sparks without their GPU
[@spark-fleet-updates]. They also keep several builds of the modules of one kernel, each for another driver.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sparkrig.host import driver
from sparkrig.host.driver import Packages
from sparkrig.host.releases import Recipe
from sparkrig.host.repositories import Repositories
from sparkrig.host.update import Plan
from sparkrig.parsing import debian_version
from sparkrig.text import listed

_KERNEL_VERSION = re.compile(r"[0-9]+(?:[.][0-9]+){1,2}-[0-9]+")


def limits(packages: Packages, known: Repositories, recipe: Recipe, branch: int) -> str:
    """apt preferences that keep driver and kernel at a release of DGX OS: what is newer is pinned away.

    What is installed never is: a Spark may be ahead of a release, and stays so.
    """
    pinned = dict.fromkeys([*_newer(packages, known, recipe, branch), *_unfit(packages, known, recipe)])
    return "\n".join(f"Package: {name}\nPin: version {version}\nPin-Priority: -1\n" for name, version in pinned)


def _newer(packages: Packages, known: Repositories, recipe: Recipe, branch: int) -> Iterator[tuple[str, str]]:
    """Versions that are newer than the release has them, and than they are."""
    for name in driver.hold_set(packages, branch):
        installed = packages.version(name) or ""
        for version in known.versions.get(name, ()):
            if beyond(name, version, recipe) and debian_version.older(installed, version):
                yield name, version


def _unfit(packages: Packages, known: Repositories, recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Builds of modules for another driver than the one that the Spark would have with the release.

    Without them apt would take the newest build of a kernel, and keep that kernel back, as its driver is limited.
    """
    goal = max([recipe.driver, *driver.versions(packages)], key=driver.newer)
    for name, builds in known.builds.items():
        for version, bounds in builds.items():
            fits = all(_within(goal, relation, debian_version.upstream(bound)) for relation, bound in bounds)
            if not fits and not beyond(name, version, recipe) and packages.version(name) != version:
                yield name, version


def _within(version: str, relation: str, bound: str) -> bool:
    """Whether a driver's version keeps a bound; its packages have a revision that is below each `-1`."""
    has, most = driver.newer(version), driver.newer(bound)
    return {"<<": has < most, "<=": has <= most, "=": has == most, ">=": has >= most, ">>": has > most}[relation]


def beyond(name: str, version: str, recipe: Recipe) -> bool:
    """Whether a version of driver or kernel is newer than a release has it; a tool has numbers of its own."""
    if name.startswith("linux-"):
        return _kernel(version) > _kernel(recipe.kernel)
    of_branch = version.partition(".")[0] == recipe.driver.partition(".")[0]
    return of_branch and driver.newer(version.partition("-")[0]) > driver.newer(recipe.driver)


def _kernel(version: str) -> list[tuple[int, int, str]]:
    """The key that sorts kernels by their release, and their packages by the release in their version."""
    found = _KERNEL_VERSION.match(version)
    return driver.newer(found[0]) if found else []


def short_of(found: Plan, recipe: Recipe) -> str:
    """What of a release's driver and kernel an update would not reach, in words; empty where it reaches both."""
    missing = []
    if driver.newer(found.driver.after) < driver.newer(recipe.driver):
        missing.append(f"driver {recipe.driver}")
    if _kernel(found.kernel.after) < _kernel(recipe.kernel):
        missing.append(f"kernel {recipe.kernel}")
    return listed(missing)
