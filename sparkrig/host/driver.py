"""Which packages keep a Spark on its driver branch, and the proof that they do: hold *and* pin, then simulate.

Source: package lists of three Sparks in daily use [@spark-fleet-updates] (driver 580 beside nvidia-modprobe and
nvidia-settings 610).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from sparkrig.cure import on_host, quoted
from sparkrig.host import grub
from sparkrig.host.apt import install_past_the_hold, past_the_hold
from sparkrig.host.branches import (
    FIRST_UNNUMBERED,
    PART_NAME,
    UNNUMBERED_MODULES,
    is_later,
    later,
    of,
    own,
)
from sparkrig.parsing import grammar
from sparkrig.value import Value

# What apt simulated at the last deploy, with all that it depends on. It is no part of what is declared, so that no
# journal has it; a look takes it for apt's answer as long as nothing of that has changed.
SIMULATION = "/var/lib/sparkrig/apt-simulation"

# What has the branch in its name, and helpers that have not. A kernel that moves ahead of its prebuilt,
# signed nvidia.ko leaves a Spark without GPU, so every installed kernel package stays too.
_BRANCH_NAME = r"(?:lib|xserver-xorg-video-)?nvidia-(?:.+-)?{branch}(?:-.+)?|cuda-drivers-{branch}"
_TOOLS = r"nvidia-(?:modprobe|persistenced|settings)"  # which NVIDIA versions on their own
_HELPER = re.compile(rf"{_TOOLS}|cuda-drivers")
_KERNEL = re.compile(
    r"linux-(?:image|headers|modules|objects|signatures|nvidia|generic)(?:-.+)?|linux-tools-(?!common).+"
)
_DRIVER_NAME = re.compile(r"(?:lib|xserver-xorg-video-)?nvidia(?:-.+)?|cuda-drivers(?:-.+)?")

# The few of them that show which driver this is: the rest may be left from another one.
_CARRIER = re.compile(
    r"(?:nvidia-(?:driver|headless|headless-no-dkms|dkms|kernel-common|open)|libnvidia-compute)"
    r"(?:-[0-9]+)?(?:-server)?(?:-open)?"
)
# linux-modules-nvidia-fs is GPUDirect Storage, and has no driver in it.
_MODULES = re.compile(rf"linux-(?:modules|objects|signatures)-nvidia-[0-9]{{3}}-.+|{UNNUMBERED_MODULES}")
# What GRUB can boot, and the signed nvidia.ko of one kernel release; a name without a release is a meta package.
_IMAGE = re.compile(r"linux-image-(?:unsigned-)?(?P<kernel>[0-9]+[.][0-9].*?)(?<!-dbg)(?<!-dbgsym)")
_PREBUILT = re.compile(
    r"linux-modules-nvidia-(?:(?P<branch>[0-9]{3})-)?(?:server-)?open-(?P<kernel>[0-9]+[.][0-9].*)"
)
_DKMS = re.compile(r"nvidia-dkms(?:-.+)?")
_TOOL = re.compile(rf"{_TOOLS}|nvidia-xconfig|libxnvctrl0")


@dataclass(frozen=True)
class Package:
    """One row of dpkg: what is wanted of a package (`install`, `hold`, ...), its state and version."""

    name: str
    want: str
    status: str
    version: str

    @property
    def installed(self) -> bool:
        return self.status not in ("", "not-installed", "config-files")  # unpacked or half-configured counts

    @property
    def held(self) -> bool:
        return self.want == "hold"


@dataclass(frozen=True)
class Packages(Value):
    """The packages of driver and kernel, and what a `dist-upgrade` would do now.

    upgrade: package -> `install VERSION` or `remove`, from apt's own simulation; None where apt could not
    simulate, with its reason in `trouble`. module: the version of the nvidia.ko that is loaded, else "".
    grub: what GRUB boots next, None where there is no menu of it, as in a list of packages. kept: whether the
    simulation is the one that a deploy left at SIMULATION, because nothing has changed that it depends on.
    """

    rows: tuple[Package, ...]
    upgrade: dict[str, str] | None
    trouble: str = ""
    module: str = ""
    grub: grub.Boot | None = None
    kept: bool = False

    @cached_property
    def installed(self) -> list[Package]:
        return [row for row in self.rows if row.installed]

    def version(self, name: str) -> str | None:
        return next((row.version for row in self.installed if row.name == name), None)


def parse(lines: Iterable[str]) -> Packages:
    """Read the driver fact. Raises ValueError where a row makes no sense.

    Its rows are `dpkg WANT STATUS NAME VERSION`, `module VERSION`, `simulated RC`, those of apt's simulation that
    begin with `Inst`, `Remv` or `E:`, `kept`, and GRUB's menu.
    """
    lines = list(lines)
    rows: list[Package] = []
    upgrade: dict[str, str] = {}
    simulated: str | None = None
    trouble: list[str] = []
    module = ""
    for line in lines:
        word, _, rest = line.strip().partition(" ")
        if word == "dpkg":
            rows.append(_package(rest))
        elif word == "Inst":
            upgrade[grammar.PACKAGE.held(_bare(rest))] = f"install {_candidate(rest)}"
        elif word == "Remv":
            upgrade[grammar.PACKAGE.held(_bare(rest))] = "remove"
        elif word == "module":
            module = rest
        elif word == "simulated":
            simulated = rest
        elif word == "E:":
            trouble.append(rest)
    if simulated is None:
        raise ValueError("apt's simulation of a dist-upgrade left no result")
    ok = simulated == "0"
    reason = "" if ok else " ".join(trouble) or f"exit {simulated}"
    return Packages(tuple(rows), upgrade if ok else None, reason, module, grub.read(lines), kept="kept" in lines)


@lru_cache(maxsize=4096)  # most hosts of a fleet have most packages in common
def _package(row: str) -> Package:
    want, status, name, version, *_ = [*row.split(" "), "", "", ""]
    package = Package(grammar.PACKAGE.held(name), want, status, version)
    if package.installed:  # another one has none, or one that is of no use
        grammar.VERSION.held(version)
    return package


def _bare(rest: str) -> str:
    return rest.split(" ", 1)[0].split(":", 1)[0]


def _candidate(rest: str) -> str:
    found = re.search(r"\(([^ )]+)", rest)
    return grammar.VERSION.held(found.group(1)) if found else "?"


def belongs(package: Package, branch: int) -> bool:
    """Whether a package is part of what must stay together on that driver branch."""
    return _belongs(package.name, package.version, branch)


@lru_cache(maxsize=4096)
def _belongs(name: str, version: str, branch: int) -> bool:
    if _HELPER.fullmatch(name) or _KERNEL.fullmatch(name):
        return True
    if re.fullmatch(_BRANCH_NAME.format(branch=branch), name):
        return True
    of_branch = re.match(rf"(?:[0-9]+:)?{branch}[.]", version)
    return bool(of_branch and _DRIVER_NAME.fullmatch(name))


def concerns(name: str) -> bool:
    """Whether a package is of driver or kernel by its name, as the look at a host takes them."""
    return name.startswith(("linux-", "cuda-drivers")) or "nvidia" in name


def modules_of(packages: Packages, kernel: str) -> list[str]:
    """The installed packages with a prebuilt nvidia.ko for that release of the kernel, of any branch."""
    return [each[0] for each in _prebuilt(packages) if _fits(each, kernel, None)]


def hold_set(packages: Packages, branch: int) -> list[str]:
    """The installed part of the branch's set, sorted; apt does not know the rest, and must not be asked."""
    return sorted({row.name for row in packages.installed if belongs(row, branch)})


def unheld(packages: Packages, branch: int) -> list[str]:
    """The packages of the set that are installed and not on hold."""
    held = {row.name for row in packages.rows if row.held}
    return [name for name in hold_set(packages, branch) if name not in held]


def of_driver(name: str) -> bool:
    """Whether a package is a part of a driver by its name, of any branch; no tool is, and no kernel."""
    return bool(PART_NAME.fullmatch(name) or _MODULES.fullmatch(name))


def is_library(name: str) -> bool:
    """Whether a package is a part of a driver, and no module of the kernel."""
    return PART_NAME.fullmatch(name) is not None


def carries(name: str) -> bool:
    """Whether a package alone shows which driver is installed: the driver, its compute library, its modules."""
    return bool(_CARRIER.fullmatch(name) or _MODULES.fullmatch(name))


def later_installed(packages: Packages, branch: int) -> list[str]:
    """The parts of a later driver, as `name version`; none where nothing that carries a driver is one.

    Tools, firmware and libraries alone are no driver: they stay behind when one goes, and come ahead of the next.
    """
    return sorted(f"{row.name} {row.version}" for row in later_rows(packages, branch))


def later_rows(packages: Packages, branch: int) -> list[Package]:
    """The same, as dpkg has them."""
    rows = [row for row in packages.installed if is_later(row.name, row.version, branch)]
    return rows if any(carries(row.name) for row in rows) else []


def tools_ahead(packages: Packages, branch: int) -> list[str]:
    """The tools later than a branch, as `name version`: usual beside it, and no sign of another driver."""
    return sorted(
        f"{row.name} {row.version}"
        for row in packages.installed
        if _TOOL.fullmatch(row.name) and later(branch).fits(row.version)
    )


def branch_version(packages: Packages, branch: int) -> str | None:
    """The version of the package that a branch's driver is installed by, as dpkg has it; None where it is not."""
    if found := packages.version(f"nvidia-driver-{branch}-open") or packages.version(f"nvidia-driver-{branch}"):
        return found
    unnumbered = map(packages.version, ("nvidia-driver-open", "nvidia-open") * (branch >= FIRST_UNNUMBERED))
    return next((each for each in unnumbered if each and own(branch).fits(each)), None)


def versions(packages: Packages) -> list[str]:
    """The driver's version as NVIDIA counts (580.173.02); several where its packages differ, oldest first.

    The modules have their kernel's version, so a list of modules alone has none.
    """
    rows = [row for row in packages.installed if _CARRIER.fullmatch(row.name)]
    found = {told[1] for row in rows if (told := re.match(r"(?:[0-9]+:)?([0-9]{3}[.][0-9.]*[0-9])", row.version))}
    return sorted(found, key=newer)


def version(packages: Packages) -> str:
    """The driver's version as NVIDIA counts, of several the newest; empty without a driver."""
    return next(reversed(versions(packages)), "")


def branch(packages: Packages) -> int | None:
    """The branch of the installed driver by what carries it: its version, else the names of its modules."""
    if found := versions(packages):
        return of(found[-1])
    return max((int(each["branch"]) for each in _prebuilt(packages) if each["branch"]), default=None)


def _prebuilt(packages: Packages) -> list[re.Match[str]]:
    """The installed packages of prebuilt modules, sorted by name: of which kernel, and of which branch."""
    found = map(_PREBUILT.fullmatch, sorted(row.name for row in packages.installed))
    return [each for each in found if each]


def newer(release: str) -> list[tuple[int, int, str]]:
    """The key that sorts releases and versions as `sort -V` does: numbers as numbers, the newest last."""
    return [
        (1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.findall(r"\d+|[a-z]+", release, re.I)
    ]


def module_metas(packages: Packages) -> list[str]:
    """The installed packages that bring the modules of each newest kernel."""
    names = [row.name for row in packages.installed if _MODULES.fullmatch(row.name)]
    return [name for name in names if not _PREBUILT.fullmatch(name)]


def kernels(packages: Packages) -> list[str]:
    """The releases of the installed kernels, as `uname -r` prints them, in the order of GRUB's templates."""
    return sorted({kernel_of(row.name) for row in packages.installed} - {""}, key=newer)


def kernel_of(name: str) -> str:
    """The release of the kernel that a package is the image of; empty for any other package."""
    found = _IMAGE.fullmatch(name)
    return found["kernel"] if found else ""


def boots_next(releases: Iterable[str], menu: grub.Boot | None) -> str:
    """The release that boots next: by GRUB's menu, which knows an owner's pin; the newest where there is no menu.

    Empty where the menu does not decide it, and where there is no kernel at all.
    """
    if menu is not None:
        return menu.kernel
    return max(releases, key=newer, default="")


@dataclass(frozen=True)
class NextBoot:
    """The kernel that boots next, and where its nvidia.ko comes from by the installed packages.

    kernel: its release, empty where GRUB's menu leaves it open or no package of it is installed; modules: the
    package that has a fitting nvidia.ko, else empty; dkms: the package that builds one on the Spark for each
    kernel, else empty; others: the packages of prebuilt modules that do not fit, for another kernel or branch.
    """

    kernel: str
    modules: str = ""
    dkms: str = ""
    others: tuple[str, ...] = ()

    @property
    def torn(self) -> bool:
        """Whether the packages have no nvidia.ko for it, so that the Spark would come up without its GPU."""
        return bool(self.kernel) and not self.modules and not self.dkms


def next_boot(packages: Packages, branch: int | None = None) -> NextBoot:
    """What boots next, as `boots_next` has it; a module fits one kernel release and one branch.

    branch: that of the driver; None takes modules of any. What is built by DKMS may have failed to build.
    """
    installed = kernels(packages)
    release = boots_next(installed, packages.grub)
    kernel = release if release in installed else ""  # of one that was built here, no package shows the modules
    prebuilt = [(each[0], _fits(each, kernel, branch)) for each in _prebuilt(packages)]
    return NextBoot(
        kernel,
        next((name for name, fits in prebuilt if fits), ""),
        min((row.name for row in packages.installed if _DKMS.fullmatch(row.name)), default=""),
        tuple(name for name, fits in prebuilt if not fits),
    )


def _fits(modules: re.Match[str], kernel: str, branch: int | None) -> bool:
    if modules["kernel"] != kernel:
        return False
    if branch is None:
        return True
    return int(modules["branch"]) == branch if modules["branch"] else branch >= FIRST_UNNUMBERED


def modules_package(kernel: str, branch: int) -> str:
    """The name of the package with the nvidia.ko of that branch for a release of the kernel."""
    return f"linux-modules-nvidia-{f'{branch}-' if branch < FIRST_UNNUMBERED else ''}open-{kernel}"


def modules_cure(kernel: str, branch: int) -> str:
    """The commands that give a kernel its nvidia.ko: what is held is released, and held again afterwards.

    The modules need other parts of the driver in their own version, so that a hold on those stands in the way.
    """
    return on_host(install_past_the_hold(modules_package(kernel, branch)))


def is_part(package: Package, branch: int) -> bool:
    """Whether a package, installed or not, is of driver or kernel, of a branch or a later one; no tool is."""
    if is_later(package.name, package.version, branch):
        return True
    return belongs(package, branch) and not _HELPER.fullmatch(package.name)


def later_driver(packages: Packages, branch: int) -> list[str]:
    """What of a later driver is on this Spark: its installed parts, else the module that is still loaded."""
    if found := later_installed(packages, branch):
        return found
    return [f"nvidia.ko {packages.module}"] if later(branch).fits(packages.module) else []


def way_back(packages: Packages, branch: int) -> str:
    """How to get the branch back: a package that only a later driver has goes, any other changes its version."""
    rows = sorted(later_rows(packages, branch), key=lambda row: row.name)
    if not rows:
        return on_host("sudo reboot")  # the packages are of the branch; only the module in memory is not
    words = [f"{row.name}{'-' if is_later(row.name, '', branch) else f'=VERSION-OF-{branch}'}" for row in rows]
    install = f"sudo apt-get install --allow-downgrades nvidia-driver-{branch:d}-open {quoted(*words)}"
    return on_host(past_the_hold(install), "; and reboot")
