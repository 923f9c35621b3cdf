"""The limits of an update by a release of DGX OS, and why it would not reach that release.

Ubuntu's repositories run ahead of NVIDIA's releases, and one such step left Sparks without their GPU
[@spark-fleet-updates]. They also keep several builds of the modules of one kernel, each for another driver.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sparkrig.cure import on_host, quoted
from sparkrig.host import branches, driver
from sparkrig.host.driver import Packages
from sparkrig.host.releases import Recipe
from sparkrig.parsing import debian_version
from sparkrig.refusal import Refusal
from sparkrig.text import listed
from sparkrig.update.branch import Way
from sparkrig.update.repositories import Repositories
from sparkrig.update.update import Plan, bootable
from sparkrig.update.update_judge import MENU, some

_KERNEL_VERSION = re.compile(r"[0-9]+(?:[.][0-9]+){1,2}(?:-[0-9]+)?")


def limits(packages: Packages, known: Repositories, recipe: Recipe, way: Way) -> str:
    """apt preferences that keep driver and kernel at a release of DGX OS: what is newer is pinned away.

    What is installed never is: a Spark may be ahead of a release, and stays so.
    """
    pinned = dict.fromkeys([*_newer(packages, known, recipe, way.now), *_unfit(packages, known, recipe, way)])
    rows = [f"Package: {name}\nPin: version {version}\nPin-Priority: -1\n" for name, version in pinned]
    return "\n".join([*rows, *([branches.let_in(way.then)] if way.moves else [])])


def _newer(packages: Packages, known: Repositories, recipe: Recipe, branch: int) -> Iterator[tuple[str, str]]:
    """Versions that are newer than the release has them, and than they are."""
    for name in driver.hold_set(packages, branch):
        installed = packages.version(name) or ""
        for version in known.versions.get(name, ()):
            if beyond(name, version, recipe) and debian_version.older(installed, version):
                yield name, version


def _unfit(packages: Packages, known: Repositories, recipe: Recipe, way: Way) -> Iterator[tuple[str, str]]:
    """Builds of modules for another driver than the one that the Spark would have with the release.

    Without them apt would take the newest build of a kernel, and keep that kernel back, as its driver is limited.
    """
    stays = [] if way.moves else driver.versions(packages)
    goal = max([recipe.driver, *stays], key=driver.newer)
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


def short_of(plan: Plan, recipe: Recipe) -> tuple[bool, bool]:
    """Whether an update would not reach a release's driver, and its kernel."""
    return (
        driver.newer(plan.driver.after) < driver.newer(recipe.driver),
        _kernel(plan.kernel.after) < _kernel(recipe.kernel),
    )


def out_of_reach(
    plan: Plan, packages: Packages, known: Repositories, recipe: Recipe, branch: int
) -> list[Refusal]:
    """Why an update would not reach the driver and kernel of a release; empty where it reaches both."""
    ours = driver.hold_set(packages, branch)
    no_driver, no_kernel = short_of(plan, recipe)
    reasons: dict[tuple[str, str], list[str]] = {}
    if no_driver:
        names = [name for name in ours if driver.carries(name) and not name.startswith("linux-")]
        reasons.setdefault(_why(plan, names, known, recipe, ours), []).append(f"driver {recipe.driver}")
    if no_kernel and not (plan.unknown and plan.core):  # which is a refusal of its own
        names = [name for name in ours if name.startswith("linux-image-") and not driver.kernel_of(name)]
        why = _why_in_menu(plan, packages, known, recipe) or _why(plan, names, known, recipe, ours)
        reasons.setdefault(why, []).append(f"kernel {recipe.kernel}")
    return [Refusal(f"{recipe.shown} has {listed(parts)}, {why}", cure) for (why, cure), parts in reasons.items()]


def _why_in_menu(found: Plan, packages: Packages, known: Repositories, recipe: Recipe) -> tuple[str, str] | None:
    """The reason and its cure where the kernel is there, or would be, and GRUB boots another one."""
    there = bootable(packages, known) | {driver.kernel_of(name) for name in found.new}
    if not any(_kernel(release) >= _kernel(recipe.kernel) for release in there):
        return None
    stays = f"unknown: {found.unknown}" if found.unknown else f"kernel {found.kernel.after}"
    return f"and what GRUB boots stays {stays}", on_host(*MENU)


def _why(found: Plan, names: list[str], known: Repositories, recipe: Recipe, ours: list[str]) -> tuple[str, str]:
    """The reason and its cure by what the repositories have of these packages, and what apt does with them."""
    there = [(name, version) for name in names for version in known.versions.get(name, ())]
    fits = [
        name for name, version in there if not beyond(name, version, recipe) and _reaches(name, version, recipe)
    ]
    others = sorted({*known.held} - {*ours})
    if not fits and any(beyond(name, version, recipe) for name, version in there):
        return (
            "which no repository of this Spark offers any more",
            "--to candidate, which takes what apt offers",
        )
    if not fits:
        return (
            "which no repository of this Spark offers",
            on_host("sudo apt-get update", "; NVIDIA's own sources come with the package nvidia-spark-repo"),
        )
    if kept := [name for name in found.kept if name in ours]:
        look = on_host(f"apt-cache policy {quoted(*kept)}")
        holds = on_host(f"sudo apt-mark unhold {quoted(*others)}", ", which no deploy holds; then again")
        return f"and apt keeps back {some(kept)}", holds if others else look
    return "and apt does not take it", on_host(
        f"apt-cache policy {quoted(*fits)}", ", for a pin of this Spark's own"
    )


def _reaches(name: str, version: str, recipe: Recipe) -> bool:
    if name.startswith("linux-"):
        return _kernel(version) >= _kernel(recipe.kernel)
    return driver.newer(debian_version.upstream(version)) >= driver.newer(recipe.driver)
