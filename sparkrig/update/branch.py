"""From one branch of the driver to another, where a release of DGX OS has another one: what apt is asked for.

An upgrade never goes down, and where a package is renamed (from 590 on without a number) nothing may lead from the
old name to the new one. So each part that would stay behind is named to apt, with its version or as one that goes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from sparkrig.cure import on_host
from sparkrig.host import branches, driver, releases
from sparkrig.host.driver import Packages
from sparkrig.host.releases import Recipe, Releases
from sparkrig.parsing import debian_version
from sparkrig.refusal import Refusal
from sparkrig.update.repositories import Repositories

# what brings the driver, and the modules of each newest kernel
_BRINGS = re.compile(r"nvidia-driver(-[0-9]{3})?(-open)?|linux-modules-nvidia-([0-9]{3}-)?open-[a-z].*")


@dataclass(frozen=True)
class Way:
    """The branch of a Spark's driver now, and after an update."""

    now: int
    then: int

    @property
    def moves(self) -> bool:
        return self.now != self.then


def way(packages: Packages, known: Releases, goal: Recipe | None, *, moves: bool, declared: int) -> Way:
    """Which way a driver goes.

    goal: the release to reach, None for what apt offers; moves: whether the driver may; declared: the setting.
    """
    now = releases.kept(packages, known, declared)
    if goal is None or not moves:
        return Way(now, now)
    return Way(max(branches.BRANCH, driver.branch(packages) or goal.branch), goal.branch)


def judge(goal: Recipe, packages: Packages, known: Releases, parts: Collection[str], declared: int) -> None:
    """Raise Refusal where a release would move the driver to another branch, and may not."""
    now = driver.branch(packages) or goal.branch
    if goal.branch == now or "driver" not in parts:
        return
    if goal.branch != declared:
        raise releases.undeclared(goal, known, declared)
    if "os" not in parts:
        what = f"{goal.shown} moves the driver from branch {now} to {goal.branch}, with its other packages"
        raise Refusal(what, "the same without --only driver, or with --only os besides")


def words(packages: Packages, known: Repositories, goal: Recipe | None, of: Way) -> tuple[str, ...]:
    """What apt is asked for besides an upgrade, as NAME=VERSION, NAME or `NAME-` for one that goes.

    Raises Refusal where the branch cannot be had.
    """
    if goal is None or not of.moves:
        return ()
    return tuple(dict.fromkeys([*_brought(packages, known, goal, of), *_turned(packages, known, of)]))


def _brought(packages: Packages, known: Repositories, goal: Recipe, of: Way) -> Iterator[str]:
    """What the release has of the driver under names that are not installed, and the module of the next boot."""
    own = branches.own(of.then)
    names = [name for name, version in goal.packages.items() if _BRINGS.fullmatch(name) and own.has(name, version)]
    drivers = [name for name in names if name.startswith("nvidia-driver")]
    if not any(own.fits(each) for name in drivers for each in known.versions.get(name, ())):
        raise Refusal(
            f"{goal.shown} has driver {goal.driver}, and no repository of this Spark has branch {of.then}",
            on_host("sudo apt-get update", "; NVIDIA's own sources come with the package nvidia-spark-repo"),
        )
    for name in names:
        if packages.version(name) is None and name in known.versions:
            version = goal.packages[name]
            yield f"{name}={version}" if known.has(name, version) else name
    module = driver.modules_package(driver.next_boot(packages).kernel, of.then)
    if packages.version(module) is None and module in known.versions:
        yield module


def _turned(packages: Packages, known: Repositories, of: Way) -> Iterator[str]:
    """What is installed and later than the branch: its version of that branch; none goes, as do later names."""
    for row in driver.later_rows(packages, of.then):
        fits = [
            version
            for version in known.versions.get(row.name, ())
            if not branches.is_later(row.name, version, of.then)
        ]
        yield f"{row.name}={max(fits, key=driver.newer)}" if fits else f"{row.name}-"
    if of.then < of.now:
        for name in driver.module_metas(packages):
            has = packages.version(name) or ""
            if before := [each for each in known.versions.get(name, ()) if debian_version.older(each, has)]:
                yield f"{name}={max(before, key=driver.newer)}"
