"""The limits of an update by a release of DGX OS, and why it would not reach that release."""

from __future__ import annotations

import re

from sparkrig.host import driver
from sparkrig.host.driver import Packages
from sparkrig.host.releases import Recipe
from sparkrig.host.repositories import Repositories
from sparkrig.host.update import Plan
from sparkrig.text import listed


def limits(packages: Packages, known: Repositories, recipe: Recipe, branch: int) -> str:
    """apt preferences that keep driver and kernel at a release of DGX OS: what is newer is pinned away.

    Ubuntu's repositories run ahead of NVIDIA's releases, and one such step left Sparks without their GPU
    [@spark-fleet-updates].
    """
    stanzas = [
        f"Package: {name}\nPin: version {version}\nPin-Priority: -1\n"
        for name in driver.hold_set(packages, branch)
        for version in known.versions.get(name, ())
        if _beyond(name, version, recipe)
    ]
    return "\n".join(stanzas)


_KERNEL_VERSION = re.compile(r"[0-9]+(?:[.][0-9]+){1,2}-[0-9]+")


def _beyond(name: str, version: str, recipe: Recipe) -> bool:
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
