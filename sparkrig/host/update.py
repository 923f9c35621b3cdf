"""What an update would do to driver and kernel of one Spark, what stands in its way, and what leads back.

The parts move together or not at all: each package of prebuilt modules fits one release of the kernel and one
version of the driver, so a Spark whose driver moves may lose the nvidia.ko of the kernel that it runs. Recorded on
Sparks [@spark-fleet-updates].
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sparkrig.cure import on_host, quoted
from sparkrig.host import driver, grub
from sparkrig.host.driver import NextBoot, Package, Packages
from sparkrig.host.releases import Recipe
from sparkrig.host.repositories import Repositories
from sparkrig.host.upgrade import Move, Upgrade
from sparkrig.refusal import Refusal
from sparkrig.text import listed
from sparkrig.value import Value

_NAMED = 5  # packages that a sentence names


@dataclass(frozen=True)
class Plan(Value):
    """What apt would do to the packages of one Spark.

    driver: its versions as NVIDIA counts; kernel: the release that boots next; boot: the one after the update,
    with its modules; upgraded, new, removed, kept: names of packages; lost: parts of driver and kernel that would
    change and whose version of now cannot be had again, as NAME=VERSION; bare: the kernels of now that would have
    no nvidia.ko of the driver; bytes: to download.
    """

    driver: Move
    kernel: Move
    boot: NextBoot
    upgraded: tuple[str, ...]
    new: tuple[str, ...]
    removed: tuple[str, ...]
    kept: tuple[str, ...]
    lost: tuple[str, ...]
    bare: tuple[str, ...]
    bytes: int

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.upgraded or self.new or self.removed)

    @property
    def reboots(self) -> bool:
        """Whether the Spark has to boot for it: driver and kernel are in memory until then."""
        return self.driver.moves or self.kernel.moves


def plan(packages: Packages, known: Repositories, upgrade: Upgrade, branch: int) -> Plan:
    """What a forecast comes to. Raises Refusal where it must not be carried out."""
    if upgrade.trouble:
        raise Refusal(f"apt cannot plan the upgrade ({upgrade.trouble})", _untangle(packages, known, branch))
    then = after(packages, known, upgrade)
    found = Plan(
        driver=Move(_newest(packages), _newest(then)),
        kernel=Move(driver.next_boot(packages).kernel, driver.next_boot(then).kernel),
        boot=driver.next_boot(then, branch),
        upgraded=tuple(sorted(name for name, move in upgrade.installs.items() if move.before)),
        new=tuple(sorted(name for name, move in upgrade.installs.items() if not move.before)),
        removed=tuple(sorted(upgrade.removes)),
        kept=tuple(sorted(upgrade.kept)),
        lost=tuple(_lost(packages, known, upgrade, branch)),
        bare=tuple(_bare(packages, then, upgrade)),
        bytes=upgrade.bytes,
    )
    _judge(found, then, branch)
    return found


def waits(packages: Packages, kernel: str) -> str:
    """Why a Spark has to boot for what is installed already, in words; empty where it has not.

    kernel: the one that runs. The module in memory stays until then, and a driver beside it answers nothing.
    """
    found = []
    installed, boots = _newest(packages), driver.next_boot(packages).kernel
    if packages.module and installed and packages.module != installed:
        found.append(f"nvidia.ko {packages.module} is loaded, and driver {installed} is installed")
    if boots and boots != kernel:
        found.append(f"kernel {kernel} runs, and {boots} boots next")
    return "; ".join(found)


def after(packages: Packages, known: Repositories, upgrade: Upgrade) -> Packages:
    """The packages of driver and kernel as a forecast leaves them, and what boots then.

    GRUB's menu is then another one; of an owner's pin in it is kept that the kernel which boots next stays.
    """
    gone = {*upgrade.removes, *upgrade.installs}
    rows = [row for row in packages.rows if row.name not in gone]
    rows += [
        Package(name, "install", "installed", move.after)
        for name, move in upgrade.installs.items()
        if driver.concerns(name)
    ]
    then = replace(packages, rows=tuple(rows))
    return replace(then, grub=_menu(packages, known, then))


def _menu(packages: Packages, known: Repositories, then: Packages) -> grub.Boot | None:
    """What GRUB's menu boots after an update, which makes it anew; None where there is none.

    The menu has what is in /boot: a package of a kernel may be there without one.
    """
    before, later = {*driver.kernels(packages)}, {*driver.kernels(then)}
    listed = {kernel.release for kernel in known.kernels} or before
    newest = max(listed, key=driver.newer, default="")
    if packages.grub is None or packages.grub.kernel != newest:
        return packages.grub  # without a menu, or pinned
    return grub.Boot(max((listed - (before - later)) | (later - before), key=driver.newer, default=""))


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


def _newest(packages: Packages) -> str:
    """The driver's version, of several the newest; empty without a driver."""
    return next(reversed(driver.versions(packages)), "")


def _bare(packages: Packages, then: Packages, upgrade: Upgrade) -> Iterator[str]:
    """The installed kernels whose prebuilt nvidia.ko goes, or stays behind a driver that moves."""
    moves = _newest(packages) != _newest(then)
    for kernel in driver.kernels(packages):
        before, after = driver.modules_of(packages, kernel), driver.modules_of(then, kernel)
        if before and not (after and (not moves or {*after} & {*upgrade.installs})):
            yield kernel


def _judge(found: Plan, then: Packages, branch: int) -> None:
    """Raise Refusal where the Spark would come up without its GPU, or with another branch of the driver."""
    if later := driver.later_installed(then):
        raise Refusal(
            f"the upgrade would bring a driver later than {branch} ({_some(later)})",
            on_host("apt-cache policy nvidia-driver-open", "; a deploy pins later branches away"),
        )
    if found.driver.before and not found.driver.after:
        raise Refusal(
            f"the upgrade would remove driver {found.driver.before} ({_some(found.removed)})",
            on_host("sudo apt-get -s dist-upgrade"),
        )
    if found.reboots and found.boot.torn:
        kept = f"; apt keeps back {_some(found.kept)}" if found.kept else ""
        raise Refusal(
            f"the upgrade would bring kernel {found.boot.kernel} without an nvidia.ko of driver {branch}{kept}",
            on_host(f"apt-cache policy {driver.modules_package(found.boot.kernel, branch)}").then(
                ": the package comes later than its kernel, so try again in a day"
            ),
        )


def _lost(packages: Packages, known: Repositories, upgrade: Upgrade, branch: int) -> Iterator[str]:
    """What could not be installed again as it is now, sorted."""
    ours = {*driver.hold_set(packages, branch)}
    changed = {*upgrade.removes, *(name for name, move in upgrade.installs.items() if move.before)}
    for row in sorted(packages.installed, key=lambda row: row.name):
        if row.name in ours & changed and not known.has(row.name, row.version):
            yield f"{row.name}={row.version}"


def _untangle(packages: Packages, known: Repositories, branch: int) -> str:
    """What to try where apt finds no way: holds that are not ours are the usual reason."""
    others = sorted({*known.held} - {*driver.hold_set(packages, branch)})
    if others:
        return on_host(f"sudo apt-mark unhold {quoted(*others)}", ", which no deploy holds; then again")
    return on_host("sudo apt-get -s dist-upgrade")


def _some(names: Iterable[str]) -> str:
    """The first of many names, and how many more."""
    all_of_them = [*names]
    first, rest = all_of_them[:_NAMED], len(all_of_them) - _NAMED
    return f"{', '.join(first)} and {rest} more" if rest > 0 else listed(first)
