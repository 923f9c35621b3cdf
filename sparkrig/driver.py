"""Which packages keep a Spark on its driver branch, and the proof that they do.

Sources: spark-domain.md section 3; NVIDIA's driver guide (from 590 on the branch number leaves the
package names, so that a hold by name alone does not keep 590 out: hold *and* pin, then simulate).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sparkrig.files import File
from sparkrig.refusal import Refusal
from sparkrig.value import Value

PIN_PATH = "/etc/apt/preferences.d/00-sparkrig-nvidia.pref"
BLACKLIST_PATH = "/etc/apt/apt.conf.d/52sparkrig-nvidia"

# What carries the branch in its name, and helpers that do not (nvidia-modprobe slips through NVIDIA's own
# pin file). A kernel that moves ahead of its prebuilt, signed nvidia.ko leaves a Spark without GPU, so
# every installed kernel package stays too.
_BRANCH_NAME = r"(?:lib|xserver-xorg-video-)?nvidia-(?:.+-)?{branch}(?:-.+)?|cuda-drivers-{branch}"
_HELPER = re.compile(r"nvidia-(?:modprobe|persistenced|settings)|cuda-drivers")
_KERNEL = re.compile(
    r"linux-(?:image|headers|modules|objects|signatures|nvidia|generic)(?:-.+)?|linux-tools-(?!common).+"
)
# What a later branch looks like: by name (any version), or by version (any driver package).
_LATER = r"(?:59[0-9]|[6-9][0-9][0-9])"
_LATER_NAME = re.compile(
    rf"(?:lib|linux-[a-z]+-|xserver-xorg-video-)?nvidia-(?:.+-)?{_LATER}(?:-.+)?|cuda-drivers-{_LATER}"
)
_LATER_VERSION = re.compile(rf"(?:[0-9]+:)?{_LATER}[.]")
_DRIVER_NAME = re.compile(r"(?:lib|xserver-xorg-video-)?nvidia(?:-.+)?|cuda-drivers(?:-.+)?")


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
    simulate, with its reason in `trouble`.
    """

    rows: tuple[Package, ...]
    upgrade: dict[str, str] | None
    trouble: str = ""

    def version(self, name: str) -> str | None:
        return next((row.version for row in self.rows if row.name == name and row.installed), None)


def parse(lines: Iterable[str]) -> Packages:
    """Read the driver fact: `dpkg WANT STATUS NAME VERSION`, `simulated RC`, apt's `Inst`, `Remv`, `E:` rows."""
    rows: list[Package] = []
    upgrade: dict[str, str] = {}
    simulated: str | None = None
    trouble: list[str] = []
    for line in lines:
        word, _, rest = line.strip().partition(" ")
        if word == "dpkg":
            want, status, name, version, *_ = [*rest.split(" "), "", "", ""]
            rows.append(Package(name, want, status, version))
        elif word == "Inst":
            upgrade[_bare(rest)] = f"install {_candidate(rest)}"
        elif word == "Remv":
            upgrade[_bare(rest)] = "remove"
        elif word == "simulated":
            simulated = rest
        elif word == "E:":
            trouble.append(rest)
    if simulated is None:
        raise ValueError("apt's simulation of a dist-upgrade left no result")
    ok = simulated == "0"
    return Packages(tuple(rows), upgrade if ok else None, "" if ok else " ".join(trouble) or f"exit {simulated}")


def _bare(rest: str) -> str:
    return rest.split(" ", 1)[0].split(":", 1)[0]


def _candidate(rest: str) -> str:
    found = re.search(r"\(([^ )]+)", rest)
    return found.group(1) if found else "?"


def belongs(package: Package, branch: int) -> bool:
    """Whether a package is part of what must stay together on that driver branch."""
    if _HELPER.fullmatch(package.name) or _KERNEL.fullmatch(package.name):
        return True
    if re.fullmatch(_BRANCH_NAME.format(branch=branch), package.name):
        return True
    of_branch = re.match(rf"(?:[0-9]+:)?{branch}[.]", package.version)
    return bool(of_branch and _DRIVER_NAME.fullmatch(package.name))


def hold_set(packages: Packages, branch: int) -> list[str]:
    """The installed part of the branch's set, sorted; apt does not know the rest, and must not be asked."""
    return sorted({row.name for row in packages.rows if row.installed and belongs(row, branch)})


def unheld(packages: Packages, branch: int) -> list[str]:
    """What of the set is installed and not on hold."""
    held = {row.name for row in packages.rows if row.held}
    return [name for name in hold_set(packages, branch) if name not in held]


def is_later(name: str, version: str) -> bool:
    """Whether a driver package belongs to 590 or later, by its name or by its version."""
    if _LATER_NAME.fullmatch(name):
        return True
    return bool(_DRIVER_NAME.fullmatch(name) and _LATER_VERSION.match(version))


def later_installed(packages: Packages) -> list[str]:
    """Driver packages of 590 or later that are installed already, as `name version`."""
    return sorted(
        f"{row.name} {row.version}" for row in packages.rows if row.installed and is_later(row.name, row.version)
    )


def touched(packages: Packages, branch: int) -> list[str]:
    """What a dist-upgrade would do to driver or kernel now, as `name: install VERSION`; empty when proven safe."""
    kept = set(hold_set(packages, branch))
    return sorted(
        f"{name}: {action}"
        for name, action in (packages.upgrade or {}).items()
        if name in kept or _concerns(Package(name, "", "", action.removeprefix("install ")), branch)
    )


def _concerns(package: Package, branch: int) -> bool:
    """Whether a package is of driver or kernel, of that branch or a later one; it need not be installed yet."""
    return belongs(package, branch) or is_later(package.name, package.version)


def pin_file() -> File:
    """The apt preferences that keep 590 and later away, explicit installs by name included."""
    return File(
        PIN_PATH,
        "# Written by sparkrig: NVIDIA driver 590 and later stay away from this Spark.\n"
        "# A hold by name is not enough: from 590 on the branch number leaves the package names.\n"
        "Package: /^(lib|xserver-xorg-video-)?nvidia(-|$)/ /^cuda-drivers/\n"
        "Pin: version /^([0-9]+:)?(59[0-9]|[6-9][0-9][0-9])[.]/\n"
        "Pin-Priority: -1\n"
        "\n"
        "Package: /^(lib|xserver-xorg-video-|linux-[a-z]+-)?nvidia-(.+-)?(59[0-9]|[6-9][0-9][0-9])(-.+)?$/ "
        "/^cuda-drivers-(59[0-9]|[6-9][0-9][0-9])$/\n"
        "Pin: version *\n"
        "Pin-Priority: -1\n",
    )


def blacklist_file() -> File:
    """The unattended-upgrades blacklist; its entries are Python regular expressions, anchored at the start."""
    return File(
        BLACKLIST_PATH,
        "// Written by sparkrig: unattended-upgrades leaves driver and kernel alone.\n"
        "Unattended-Upgrade::Package-Blacklist {\n"
        '    "(lib|xserver-xorg-video-)?nvidia(?!-(container|cuda|mlnx|spark))(-|$)";\n'
        '    "cuda-drivers";\n'
        '    "linux-(image|headers|modules|objects|signatures|nvidia|generic|tools)";\n'
        "};\n",
    )


def way_back(later: Iterable[str], branch: int) -> str:
    """How to get the branch instead of what is there: a name of its own goes, another changes its version."""
    names = [row.split(" ")[0] for row in later]
    words = [f"{name}-" if _LATER_NAME.fullmatch(name) else f"{name}=VERSION-OF-{branch}" for name in names]
    packages = " ".join([f"nvidia-driver-{branch}-open", *words])
    return f"sudo apt-get install --allow-downgrades {packages}, and reboot"


def judge(packages: Packages, branch: int) -> None:
    """Raise Refusal where holding would freeze a wrong state."""
    later = later_installed(packages)
    if later:
        raise Refusal(
            f"a driver later than {branch} is installed ({', '.join(later)})",
            way_back(later, branch),
        )


def judge_upgrade(packages: Packages, branch: int) -> None:
    """Raise Refusal unless apt's own simulation proves that a dist-upgrade leaves driver and kernel alone."""
    if packages.upgrade is None:
        raise Refusal(
            f"apt cannot simulate a dist-upgrade ({packages.trouble}), so the hold is not proven",
            "sudo apt-get update && sudo apt-get -s dist-upgrade",
        )
    moved = touched(packages, branch)
    if moved:
        raise Refusal(
            f"a dist-upgrade would still touch driver or kernel ({'; '.join(moved)})",
            "sudo apt-get -s dist-upgrade",
        )
