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
from sparkrig.host import driver
from sparkrig.host.apt import reinstall_past_the_hold
from sparkrig.host.driver import NextBoot, Package, Packages
from sparkrig.host.grub import Boot
from sparkrig.host.releases import Recipe
from sparkrig.host.repositories import Repositories
from sparkrig.host.upgrade import Move, Upgrade
from sparkrig.parsing import debian_version
from sparkrig.refusal import Refusal
from sparkrig.text import listed
from sparkrig.value import Value

_NAMED = 5  # packages that a sentence names
_KERNEL_SET = re.compile(r"linux-(?:image|modules)-")
_BOOTED = re.compile(
    r"linux-(?:image-[0-9]|modules-|firmware$)|nvidia-firmware-|grub|shim"
)  # what a boot alone reads


@dataclass(frozen=True)
class Plan(Value):
    """What apt would do to the packages of one Spark.

    driver: its versions as NVIDIA counts; kernel: the release that boots next; boot: the one after the update,
    with its modules; upgraded, new, removed, kept: names of packages; lost: parts of driver and kernel that would
    change and whose version of now cannot be had again, as NAME=VERSION; bare: the kernels of now that would have
    no nvidia.ko of the driver; bytes: to download; unknown: why it is not known what boots after the update.
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
    unknown: str = ""

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.upgraded or self.new or self.removed)

    @property
    def reboots(self) -> bool:
        """Whether the Spark has to boot for it: what the kernel, its modules and the firmware are is read then."""
        return self.driver.moves or self.kernel.moves or any(map(_BOOTED.match, (*self.upgraded, *self.new)))

    @property
    def moves(self) -> bool:
        """Whether driver or kernel change, so that the Spark may come up without its GPU, or not at all."""
        return self.driver.moves or self.kernel.moves or any(map(_KERNEL_SET.match, (*self.changed, *self.new)))

    @property
    def changed(self) -> tuple[str, ...]:
        return (*self.upgraded, *self.removed)


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
        unknown=then.grub.why if then.grub and not then.grub.kernel else "",
    )
    _judge(found, then, known, branch)
    return found


def waits(packages: Packages, kernel: str, reboot: Iterable[str] = ()) -> str:
    """Why a Spark has to boot for what is installed already, in words; empty where it has not.

    kernel: the one that runs; reboot: packages that wait for one, by /run/reboot-required.pkgs. The module in
    memory stays until then, and a driver beside it answers nothing.
    """
    found = []
    installed, boots = _newest(packages), driver.next_boot(packages).kernel
    if packages.module and installed and packages.module != installed:
        found.append(f"nvidia.ko {packages.module} is loaded, and driver {installed} is installed")
    if boots and boots != kernel:
        found.append(f"kernel {kernel} runs, and {boots} boots next")
    if not found and (names := [*dict.fromkeys(reboot)]):
        found.append(f"{_some(names)} {'waits' if len(names) == 1 else 'wait'} for it")
    return "; ".join(found)


def after(packages: Packages, known: Repositories, upgrade: Upgrade) -> Packages:
    """The packages of driver and kernel as a forecast leaves them, and what GRUB boots then."""
    gone = {*upgrade.removes, *upgrade.installs}
    rows = [row for row in packages.rows if row.name not in gone]
    rows += [
        Package(name, "install", "installed", move.after)
        for name, move in upgrade.installs.items()
        if driver.concerns(name)
    ]
    return replace(packages, rows=tuple(rows), grub=_menu(packages, known, upgrade))


def _menu(packages: Packages, known: Repositories, upgrade: Upgrade) -> Boot:
    """What GRUB boots next, once its menu has the kernels of after.

    A kernel counts if it is in /boot, or comes; a package may be there without its file. The first entry is then
    the newest kernel, a title or an id stays what it is, and a number may be any.
    """
    there = {each.release for each in known.kernels} or {*driver.kernels(packages)}
    come = {each for name, move in upgrade.installs.items() if not move.before and (each := driver.image_of(name))}
    go = {each for name in upgrade.removes if (each := driver.image_of(name))}
    menu, newest = packages.grub, max((there | come) - go, key=driver.newer, default="")
    if menu is None or (menu.way == "first" and menu.kernel == max(there, key=driver.newer, default="")):
        return Boot(newest)
    if menu.kernel in go:
        return Boot("", f"GRUB's default is {menu.kernel}, which the update removes", menu.way)
    if menu.kernel and menu.way != "named" and (come or go):
        return Boot("", "GRUB's default names no kernel, and its menu changes", menu.way)
    return menu


def limits(packages: Packages, known: Repositories, recipe: Recipe, branch: int) -> str:
    """apt preferences that keep driver and kernel at a release of DGX OS: what is newer is pinned away.

    Ubuntu's repositories run ahead of NVIDIA's releases, and one such step left Sparks without their GPU
    [@spark-fleet-updates]. What is installed stays, also where it is ahead. One kernel has several builds of its
    modules, each for one version of the driver: those for another one than the release's are pinned away, too.
    """
    away = [
        (name, version)
        for name in driver.hold_set(packages, branch)
        for version in known.versions.get(name, ())
        if _ahead(packages, name, version) and _beyond(name, version, recipe)
    ]
    goes_to = max(
        recipe.packages.get(f"nvidia-driver-{branch}-open", recipe.driver),
        *driver.versions(packages),
        key=debian_version.key,
    )
    builds = [(each.name, each.version) for each in known.builds if not each.fits(goes_to)]
    metas = [name for name in known.versions if driver.modules_meta(name)]
    away += [
        (name, version)
        for name, version in [*builds, *((meta, version) for meta in metas for _, version in builds)]
        if _ahead(packages, name, version) and (name, version) not in away
    ]
    return "\n".join(
        f"Package: {name}\nPin: version {version}\nPin-Priority: -1\n" for name, version in dict.fromkeys(away)
    )


def _ahead(packages: Packages, name: str, version: str) -> bool:
    """Whether a version is newer than what is installed of a package; of one that is not, each is."""
    installed = packages.version(name)
    return installed is None or debian_version.older(installed, version)


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


def _judge(found: Plan, then: Packages, known: Repositories, branch: int) -> None:
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
    if found.unknown and found.moves:
        raise Refusal(
            f"which kernel boots after the upgrade is not known ({found.unknown})",
            on_host("grep -n GRUB_DEFAULT /etc/default/grub /etc/default/grub.d/*.cfg"),
        )
    _module(found, known, branch)
    _files(found, known)


def _module(found: Plan, known: Repositories, branch: int) -> None:
    """Raise Refusal where the kernel that boots has no nvidia.ko, or one of another driver."""
    if not found.driver.after:
        return
    kernel = found.boot.kernel
    kept = f"; apt keeps back {_some(found.kept)}" if found.kept else ""
    package = driver.modules_package(kernel, branch)
    later = "" if package in known.versions else ": the package comes later than its kernel, so try again in a day"
    cure = on_host(f"apt-cache policy {quoted(package)}").then(later)
    if found.boot.torn:
        brings = "the upgrade would bring" if found.kernel.moves else "the next boot has"
        raise Refusal(f"{brings} kernel {kernel} without an nvidia.ko of driver {branch}{kept}", cure)
    if kernel in found.bare and not found.boot.dkms:
        raise Refusal(
            f"driver {found.driver.before} would move to {found.driver.after}, and kernel {kernel}, which boots "
            f"next, would keep the nvidia.ko of {found.driver.before}{kept}",
            cure,
        )


def _files(found: Plan, known: Repositories) -> None:
    """Raise Refusal where what boots next is in its packages, and not on the disk."""
    there = next((each for each in known.kernels if each.release == found.boot.kernel), None)
    if there is None or found.kernel.moves:
        return
    kernel = there.release
    if not there.initrd:
        raise Refusal(
            f"kernel {kernel} boots next and has no initrd",
            on_host(f"sudo update-initramfs -c -k {quoted(kernel)}"),
        )
    if found.driver.after and found.boot.modules and not there.module and found.boot.modules not in found.upgraded:
        raise Refusal(
            f"{found.boot.modules} is installed, and its nvidia.ko is not on the disk",
            on_host(reinstall_past_the_hold(found.boot.modules)),
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
    if not known.fetched:
        return on_host("sudo apt-get update")
    others = sorted({*known.held} - {*driver.hold_set(packages, branch)})
    if others:
        return on_host(f"sudo apt-mark unhold {quoted(*others)}", ", which no deploy holds; then again")
    return on_host("sudo apt-get -s dist-upgrade")


def _some(names: Iterable[str]) -> str:
    """The first of many names, and how many more."""
    all_of_them = [*names]
    first, rest = all_of_them[:_NAMED], len(all_of_them) - _NAMED
    return f"{', '.join(first)} and {rest} more" if rest > 0 else listed(first)
