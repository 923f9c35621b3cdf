"""A branch of NVIDIA's driver: the names and versions of its packages, what is later, and the pin against that.

Sources: package lists of three Sparks in daily use [@spark-fleet-updates]; NVIDIA's driver guide
[@nvidia-driver-guide]: from 590 on the branch number leaves the package names, so that a hold by name alone does
not keep 590 out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from sparkrig.files import File

BRANCH: Final = 580  # what a deploy keeps a Spark on, where its settings name no other
PIN_PATH = "/etc/apt/preferences.d/00-sparkrig-nvidia.pref"
BLACKLIST_PATH = "/etc/apt/apt.conf.d/52sparkrig-nvidia"

# The packages that make up a driver, with or without the branch in their names. Tools that NVIDIA versions on
# their own (nvidia-modprobe, nvidia-settings, libxnvctrl0, nvidia-persistenced, nvidia-xconfig) are not among
# them: a Spark with driver 580 has them at 610. apt reads these expressions too, so they are POSIX ones.
_PARTS = (
    "(lib|xserver-xorg-video-)?nvidia-(driver|open|headless|dkms|kernel|firmware|compute|utils|fabricmanager"
    "|nscq|nvsdm|imex|gpucomp|cfg1|common|decode|encode|extra|fbc1|gl)"
)
_WHOLE = "(xserver-xorg-video-nvidia|cuda-drivers)"
_NUMBERED = "((lib|xserver-xorg-video-)?nvidia-(.+-)?|linux-[a-z]+-nvidia-|cuda-drivers-){branch}(-.+)?"
# The kernel's modules have the kernel's version, so only the name shows their branch; from 590 on it has none.
UNNUMBERED_MODULES = "linux-(modules|objects|signatures)-nvidia-(server-)?open-.+"
FIRST_UNNUMBERED = 590
PART_NAME = re.compile(rf"{_PARTS}(-.+)?|{_WHOLE}(-.+)?")


def of(version: str) -> int:
    """The branch of a driver by its version as NVIDIA counts; 0 where it has none."""
    found = re.match(r"[0-9]{3}(?=[.])", version)
    return int(found[0]) if found else 0


@dataclass(frozen=True)
class Branches:
    """Branches of the driver, as expressions that apt reads, too.

    version: how the versions of their packages begin; names: those that only their packages have.
    """

    version: str
    names: tuple[str, ...]

    def has(self, name: str, version: str) -> bool:
        """Whether a package is a part of such a driver, by its name or by its version."""
        part = PART_NAME.fullmatch(name) is not None and self.fits(version)
        return part or any(re.fullmatch(each, name) for each in self.names)

    def fits(self, version: str) -> bool:
        """Whether a version of a package is one of theirs."""
        return re.match(self.version, version) is not None

    def pin(self, priority: int) -> str:
        """apt preferences of all that is a part of them."""
        return (
            f"Package: /^{_PARTS}(-|$)/ /^{_WHOLE}(-|$)/\n"
            f"Pin: version /^{self.version}/\n"
            f"Pin-Priority: {priority}\n"
            "\n"
            f"Package: {' '.join(f'/^{each}$/' for each in self.names)}\n"
            "Pin: version *\n"
            f"Pin-Priority: {priority}\n"
        )


def _branches(numbers: str, *, unnumbered: bool) -> Branches:
    modules = (UNNUMBERED_MODULES,) if unnumbered else ()
    return Branches(f"([0-9]+:)?{numbers}[.]", (_NUMBERED.format(branch=numbers), *modules))


@cache
def own(branch: int) -> Branches:
    """One branch alone."""
    return _branches(str(branch), unnumbered=branch >= FIRST_UNNUMBERED)


@cache
def later(branch: int) -> Branches:
    """All that come after a branch; none lies between 580 and 590.

    Modules without a number are no later ones beside a branch that has none either: they need a driver that is.
    """
    hundreds, tens, ones = map(int, str(max(branch + 1, FIRST_UNNUMBERED)))
    numbers = [f"{hundreds}{tens}[{ones}-9]"]
    numbers += [f"{hundreds}[{tens + 1}-9][0-9]"] if tens < 9 else []
    numbers += [f"[{hundreds + 1}-9][0-9][0-9]"] if hundreds < 9 else []
    return _branches(f"({'|'.join(numbers)})", unnumbered=branch < FIRST_UNNUMBERED)


@lru_cache(maxsize=4096)
def is_later(name: str, version: str, branch: int) -> bool:
    """Whether a package is a part of a driver later than a branch, by its name or by its version."""
    return later(branch).has(name, version)


def pin_file(branch: int) -> File:
    """The apt preferences that keep what is later than a branch away, explicit installs by name included.

    Helpers stay as they are: 610 of nvidia-modprobe beside driver 580 is what NVIDIA's repositories install.
    """
    first = max(branch + 1, FIRST_UNNUMBERED)
    return File(
        PIN_PATH,
        f"# Written by sparkrig: NVIDIA driver {first} and later stay away from this Spark.\n"
        "# A hold by name is not enough: from 590 on the branch number leaves the package names.\n"
        f"{later(branch).pin(-1)}",
    )


def let_in(branch: int) -> str:
    """apt preferences that come before the pin of an earlier branch: this one may come, and none that is later."""
    return f"{own(branch).pin(500)}\n{later(branch).pin(-1)}"


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
