"""What an update would do to driver and kernel of one Spark, and what leads back.

The parts move together or not at all: each package of prebuilt modules fits one release of the kernel and one
version of the driver, so a Spark whose driver moves may lose the nvidia.ko of the kernel that it runs. Recorded on
Sparks [@spark-fleet-updates]. What must not be carried out is judged in sparkrig.update.update_judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from sparkrig.host import driver, grub
from sparkrig.host.driver import NextBoot, Package, Packages
from sparkrig.host.upgrade import Move, Upgrade
from sparkrig.text import listed
from sparkrig.update import update_judge
from sparkrig.update.branch import Way
from sparkrig.update.repositories import Repositories
from sparkrig.value import Value

# What is used from the next boot on, besides driver and kernel: firmware that the kernel loads, and GRUB with its
# settings (nvidia-spark-grub-kho, nv-grubserial, nv-no-grubmenu)
_BOOTED = re.compile(r"linux-firmware(?:-.+)?|shim(?:-.+)?|(?:.+-)?grub.*")
_IN_KERNEL = re.compile(r"linux-(?:image|modules|objects|signatures)-.+")


@dataclass(frozen=True)
class Plan(Value):
    """What apt would do to the packages of one Spark.

    driver: its versions as NVIDIA counts; kernel: the release that boots next; boot: the one after the update,
    with its modules; upgraded, new, removed, kept: names of packages; lost: parts of driver and kernel that would
    change and whose version of now cannot be had again, as NAME=VERSION; bare: the kernels of now that would have
    no nvidia.ko of the driver; bytes: to download. unknown: why the kernel after the update is not known, else
    empty; amiss: what the kernel that boots after it would be without, in words, else empty; core: the parts of
    driver and kernel that would change; late: what is used from the next boot on alone, of all that would change;
    later: the parts of a later driver that would be there; missed: what would be removed and missed, each with
    what it is; unbuilt: what DKMS would lack to build its modules for the kernel that comes.
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
    amiss: str = ""
    core: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    missed: Mapping[str, str] = field(default_factory=dict)
    unbuilt: Literal["", "headers", "key"] = ""

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.upgraded or self.new or self.removed)

    @property
    def reboots(self) -> bool:
        """Whether the Spark has to boot for it: driver and kernel are in memory until then."""
        return self.driver.moves or self.kernel.moves or bool(self.late)


def draft(packages: Packages, known: Repositories, upgrade: Upgrade, way: Way) -> Plan:
    """What a forecast comes to, to be judged yet. Raises Refusal where apt finds no way."""
    if upgrade.trouble:
        raise update_judge.no_way(upgrade.trouble, known, driver.hold_set(packages, way.now))
    core = tuple(sorted(_core(packages, upgrade, way)))
    then = after(packages, known, upgrade, moves=bool(core))
    driven = Move(driver.version(packages), driver.version(then))
    next_boot = then.grub or grub.Boot("")
    boot = driver.next_boot(then, way.then)
    bare = tuple(_bare(packages, then, upgrade))
    changed = {*upgrade.installs, *upgrade.removes}
    return Plan(
        driver=driven,
        kernel=Move(boots(packages, known).kernel, next_boot.kernel),
        boot=boot,
        upgraded=tuple(sorted(name for name, move in upgrade.installs.items() if move.before)),
        new=tuple(sorted(name for name, move in upgrade.installs.items() if not move.before)),
        removed=tuple(sorted(upgrade.removes)),
        kept=tuple(sorted(upgrade.kept)),
        lost=tuple(_lost(packages, known, upgrade, way.now)),
        bare=bare,
        bytes=upgrade.bytes,
        unknown="" if next_boot.kernel else next_boot.why or "no kernel is installed",
        amiss=(_amiss(boot, known, {*upgrade.installs}, way.then) or _behind(boot, bare, driven))
        if driven.after
        else "",
        core=core,
        late=tuple(sorted(name for name in changed if _BOOTED.fullmatch(name) or _IN_KERNEL.fullmatch(name))),
        later=tuple(driver.later_installed(then, way.then)),
        missed={
            name: why
            for name, why in update_judge.missed(upgrade).items()
            if not (way.moves and driver.of_driver(name))  # the earlier branch's, in whose place the other comes
        },
        unbuilt=_unbuilt(next_boot.kernel, known, upgrade),
    )


def boots(packages: Packages, known: Repositories) -> grub.Boot:
    """What boots next as a Spark is now; its kernel is empty where that is not known."""
    return packages.grub or grub.Boot(max(bootable(packages, known), key=driver.newer, default=""))


def bootable(packages: Packages, known: Repositories) -> set[str]:
    """The releases of the kernels that could boot: those in /boot, for a package alone boots nothing."""
    return {kernel.release for kernel in known.kernels} or {*driver.kernels(packages)}


def waits(packages: Packages, known: Repositories, kernel: str) -> str:
    """Why a Spark has to boot for what is installed already, in words; empty where it has not.

    kernel: the one that runs. The module in memory stays until then, and a driver beside it answers nothing.
    """
    found = []
    installed, next_kernel = driver.version(packages), boots(packages, known).kernel
    if packages.module and installed and packages.module != installed:
        found.append(f"nvidia.ko {packages.module} is loaded, and driver {installed} is installed")
    if next_kernel and next_kernel != kernel:
        found.append(f"kernel {kernel} runs, and {next_kernel} boots next")
    if known.reboot is not None:
        names = sorted({*known.reboot})
        found.append(f"{update_judge.some(names) or 'the system'} {'wait' if len(names) > 1 else 'waits'} for it")
    return "; ".join(found)


def after(packages: Packages, known: Repositories, upgrade: Upgrade, *, moves: bool) -> Packages:
    """The packages of driver and kernel as a forecast leaves them, and what GRUB boots then.

    moves: whether a part of driver or kernel changes.
    """
    gone = {*upgrade.removes, *upgrade.installs}
    rows = [row for row in packages.rows if row.name not in gone]
    rows += [
        Package(name, "install", "installed", move.after)
        for name, move in upgrade.installs.items()
        if driver.concerns(name)
    ]
    return replace(packages, rows=tuple(rows), grub=_boots_then(packages, known, upgrade, moves=moves))


def _boots_then(packages: Packages, known: Repositories, upgrade: Upgrade, *, moves: bool) -> grub.Boot:
    """What GRUB boots after an update, which writes its menu anew where a kernel comes or goes."""
    now = boots(packages, known)
    came = {driver.kernel_of(name) for name, move in upgrade.installs.items() if not move.before} - {""}
    went = {driver.kernel_of(name) for name in upgrade.removes} - {""}
    there = bootable(packages, known) - went | came
    if not now.kernel:
        return now
    if now.way == "other" and moves:
        return grub.Boot("", "GRUB's entry is chosen by a name without its kernel, or for one boot alone", now.way)
    if now.way == "named" and now.kernel in went:
        return grub.Boot("", f"GRUB's default is kernel {now.kernel}, which would go", now.way)
    if now.way == "first" and (came or went):
        return grub.Boot(max(there, key=driver.newer, default=""), "", now.way)
    return now


def _core(packages: Packages, upgrade: Upgrade, way: Way) -> Iterator[str]:
    """The parts of driver and kernel that would change; a tool is none."""
    for name, move in upgrade.installs.items():
        if driver.is_part(Package(name, "", "", move.after), way.then):
            yield name
    for name in upgrade.removes:
        if driver.is_part(Package(name, "", "", packages.version(name) or ""), way.now):
            yield name


def _bare(packages: Packages, then: Packages, upgrade: Upgrade) -> Iterator[str]:
    """The installed kernels whose prebuilt nvidia.ko goes, or stays behind a driver that moves."""
    moves = driver.version(packages) != driver.version(then)
    for kernel in driver.kernels(packages):
        before, after = driver.modules_of(packages, kernel), driver.modules_of(then, kernel)
        if before and not (after and (not moves or {*after} & {*upgrade.installs})):
            yield kernel


def _behind(boot: NextBoot, bare: tuple[str, ...], driven: Move) -> str:
    """Whether the kernel that boots next has the module of an earlier driver alone."""
    if boot.kernel in bare and not boot.dkms:
        return f"an nvidia.ko of driver {driven.after}: {boot.modules} stays behind, as it is built for another"
    return ""


def _amiss(boot: NextBoot, known: Repositories, brought: set[str], branch: int) -> str:
    """What the kernel that boots next would be without. brought: what would be installed, which makes its files.

    Of a kernel that no package has nothing is claimed: whoever built it has the module and the initrd elsewhere.
    """
    if boot.torn:
        return f"an nvidia.ko of driver {branch}"
    for kernel in known.kernels:
        if kernel.release == boot.kernel:
            parts = {f"linux-{part}-{boot.kernel}" for part in ("image", "modules", "headers")}
            absent = [
                *(["its initrd"] if not kernel.initrd and not parts & brought else []),
                *(
                    ["the file of its nvidia.ko"]
                    if not kernel.module and not brought & _makers(boot, parts)
                    else []
                ),
            ]
            return listed(absent)
    return ""


def _unbuilt(release: str, known: Repositories, upgrade: Upgrade) -> Literal["", "headers", "key"]:
    """What a kernel that comes lacks of what DKMS builds (the driver of the RJ45): its headers, or a key."""
    if not known.dkms or f"linux-image-{release}" not in upgrade.installs:
        return ""
    if f"linux-headers-{release}" not in upgrade.installs:
        return "headers"
    return "key" if known.key_absent else ""


def _makers(boot: NextBoot, parts: set[str]) -> set[str]:
    """The packages that bring a kernel its nvidia.ko, or build it."""
    return {boot.modules} if boot.modules else {boot.dkms, *parts}


def _lost(packages: Packages, known: Repositories, upgrade: Upgrade, branch: int) -> Iterator[str]:
    """What could not be installed again as it is now, sorted."""
    ours = {*driver.hold_set(packages, branch)}
    changed = {*upgrade.removes, *(name for name, move in upgrade.installs.items() if move.before)}
    for row in sorted(packages.installed, key=lambda row: row.name):
        if row.name in ours & changed and not known.has(row.name, row.version):
            yield f"{row.name}={row.version}"
