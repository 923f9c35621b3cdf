"""The stand-in packages: NVIDIA's names, versions and dependencies around harmless files.

What a guest leaves the factory with is what the owner of a real Spark recorded: `factory.csv` is a part of the
package list of "sparky" [@spark-fleet-updates], and a test holds it against the whole (tests/fixtures/sparks).
Beside it stand the next 580 and the releases that an ordinary `apt-get dist-upgrade` would take (590, which drops
the branch number from its package names, and kernel 7.0), as they do in the real DGX OS repository.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

UBUNTU = "0ubuntu0.24.04.1"
NEXT_580, NEXT = "580.178.04", "590.48.01"
NEXT_KERNEL = "7.0.0-1019"
TOOLS_AHEAD = "610.57.04-1ubuntu1"  # what two other recorded Sparks have [@spark-fleet-updates]
TOOLKIT = "1.19.0-1"


def recorded() -> dict[str, str]:
    """The recorded packages of the factory state: name -> version."""
    rows = (Path(__file__).parent / "factory.csv").read_text().splitlines()
    return {name: version for name, _, version in (row.partition(",") for row in rows)}


FACTORY = recorded()["nvidia-driver-580-open"].partition("-")[0]
_OF_DRIVER = [name for name, version in recorded().items() if version.startswith(f"{FACTORY}-")]
# The parts of a driver: each has 580 in its name up to 580, and plain names from 590 on.
_NAMED = [name for name in _OF_DRIVER if name.endswith("-580") and name != "nvidia-utils-580"]
LIBRARIES = [name.removesuffix("-580") for name in _NAMED]
SOURCE = "nvidia-kernel-source-580-open"
MODULES_META = "linux-modules-nvidia-580-open-nvidia-hwe-24.04"


@dataclass(frozen=True)
class Package:
    """One .deb: `files` maps its paths to their text, `programs` its executables to a file of programs/."""

    name: str
    version: str
    depends: str = ""
    conflicts: str = ""
    files: dict[str, str] = field(default_factory=dict)
    programs: dict[str, str] = field(default_factory=dict)

    @property
    def control(self) -> str:
        """The DEBIAN/control file."""
        relations = {"Depends": self.depends, "Conflicts": self.conflicts}
        fields = {
            "Package": self.name,
            "Version": self.version,
            "Architecture": "all",
            "Maintainer": "sparkrig lab <lab@localhost>",
            "Section": "restricted/misc",
            **{key: value for key, value in relations.items() if value},
            "Description": f"stand-in of {self.name} for the virtual pair",
        }
        return "".join(f"{key}: {value}\n" for key, value in fields.items())


def factory(running_kernel: str) -> list[Package]:
    """What a Spark leaves the factory with; `running_kernel` is the guest's own `uname -r`.

    The modules of the guest's own kernel are the one package that no recording has.
    """
    driver = driver_580(FACTORY)
    made = {package.name: package for package in [*driver, *recorded_kernels(recorded())]}
    rest = [Package(name, version) for name, version in recorded().items() if name not in made]
    return [*made.values(), *rest, modules("580-open", FACTORY, running_kernel)]


def upgrades() -> list[Package]:
    """What the DGX OS repository offers beyond the factory state."""
    return [
        *driver_580(NEXT_580),
        *transition_to_590(),
        *unversioned(NEXT),
        *driver_590(),
        *kernel(NEXT_KERNEL),
        modules("open", NEXT, f"{NEXT_KERNEL}-nvidia"),
        *(Package(name, TOOLS_AHEAD) for name in ("libxnvctrl0", "nvidia-modprobe", "nvidia-settings")),
    ]


def toolkit() -> list[Package]:
    """NVIDIA's container toolkit, from its own repository."""
    same = f"(= {TOOLKIT})"
    return [
        Package("libnvidia-container1", TOOLKIT),
        Package("libnvidia-container-tools", TOOLKIT, depends=f"libnvidia-container1 {same}"),
        Package(
            "nvidia-container-toolkit-base",
            TOOLKIT,
            programs={
                "usr/bin/nvidia-ctk": "nvidia-ctk",
                "usr/bin/nvidia-container-runtime": "nvidia-container-runtime",
            },
        ),
        Package(
            "nvidia-container-toolkit",
            TOOLKIT,
            depends=f"nvidia-container-toolkit-base {same}, libnvidia-container-tools {same}",
        ),
    ]


def driver_580(version: str) -> list[Package]:
    """The driver proper, under the names of the 580 branch."""
    full = f"{version}-{UBUNTU}"
    firmware = f"nvidia-firmware-580-{version}"
    libraries = [f"{name}-580" for name in LIBRARIES]
    needs = ", ".join(f"{name} (= {full})" for name in [*libraries, SOURCE, "nvidia-utils-580", firmware])
    return [
        Package("nvidia-driver-580-open", full, depends=f"{needs}, nvidia-modprobe"),
        *(Package(name, full) for name in [*libraries, SOURCE, firmware]),
        utilities("nvidia-utils-580", version),
    ]


def transition_to_590() -> list[Package]:
    """The old names at 590: empty packages that pull in the new ones, the route a plain upgrade takes."""
    full = f"{NEXT}-{UBUNTU}"
    renamed = {"nvidia-driver-580-open": "nvidia-driver-open", "nvidia-utils-580": "nvidia-utils"}
    renamed |= {SOURCE: "nvidia-kernel-source-open"} | {f"{name}-580": name for name in LIBRARIES}
    return [
        *(Package(old, full, depends=f"{new} (= {full})") for old, new in renamed.items()),
        Package(MODULES_META, f"{NEXT_KERNEL}.19", depends=f"linux-modules-nvidia-open-{NEXT_KERNEL}-nvidia"),
    ]


def unversioned(version: str) -> list[Package]:
    """The driver under the names without a branch number, NVIDIA's default from 590 on."""
    full = f"{version}-{UBUNTU}"
    parts = [*LIBRARIES, "nvidia-kernel-source-open", "nvidia-firmware"]
    needs = ", ".join(f"{name} (= {full})" for name in [*parts, "nvidia-utils"])
    return [
        Package("nvidia-driver-open", full, depends=f"{needs}, nvidia-modprobe"),
        *(Package(name, full) for name in parts),
        utilities("nvidia-utils", version, conflicts=f"nvidia-utils-580 (<< {version}), nvidia-utils-590"),
    ]


def driver_590() -> list[Package]:
    """590 under branch-numbered names: what `apt-get install nvidia-driver-590-open` asks for."""
    full = f"{NEXT}-{UBUNTU}"
    libraries = [f"{name}-590" for name in LIBRARIES]
    needs = ", ".join(f"{name} (= {full})" for name in [*libraries, "nvidia-utils-590"])
    return [
        Package("nvidia-driver-590-open", full, depends=needs, conflicts="nvidia-driver-580-open"),
        *(Package(name, full) for name in libraries),
        utilities("nvidia-utils-590", NEXT, conflicts="nvidia-utils-580"),
    ]


def utilities(name: str, version: str, conflicts: str = "") -> Package:
    """The package that ships nvidia-smi, which reports the version it came with."""
    programs = {"usr/bin/nvidia-smi": "nvidia-smi"}
    return Package(name, f"{version}-{UBUNTU}", conflicts=conflicts, programs=programs)


def recorded_kernels(versions: dict[str, str]) -> list[Package]:
    """The kernels of a recorded list with the prebuilt nvidia.ko of each, and what depends on the newest."""
    found = []
    for name, version in versions.items():
        if exact := re.fullmatch(r"linux-image-([0-9].*)", name):
            found.append(image(exact[1], version))
        elif exact := re.fullmatch(r"linux-modules-nvidia-580-open-([0-9].*)", name):
            found.append(modules("580-open", FACTORY, exact[1], version))
    newest = versions["linux-image-nvidia-hwe-24.04"]
    release = f"{newest.rpartition('.')[0]}-nvidia"
    needs = f"linux-modules-nvidia-580-open-{release}"
    return [*found, *metas(release, newest), Package(MODULES_META, versions[MODULES_META], depends=needs)]


def kernel(release: str) -> list[Package]:
    """Meta packages and the image of one NVIDIA kernel (no kernel inside)."""
    full = f"{release}.{release.rpartition('-')[2][-2:]}"
    return [*metas(f"{release}-nvidia", full), image(f"{release}-nvidia", full)]


def metas(release: str, version: str) -> list[Package]:
    """What a Spark upgrades its kernel by: packages that depend on the newest one."""
    newest, headers = (f"linux-{part}-nvidia-hwe-24.04" for part in ("image", "headers"))
    return [
        Package("linux-nvidia-hwe-24.04", version, depends=f"{newest} (= {version}), {headers} (= {version})"),
        Package(newest, version, depends=f"linux-image-{release}"),
        Package(headers, version),
    ]


def image(release: str, version: str) -> Package:
    """What GRUB could boot, as far as a guest sees it: the folder of its modules."""
    return Package(f"linux-image-{release}", version, files={f"lib/modules/{release}/modules.order": ""})


def modules(branch: str, driver: str, release: str, version: str = "") -> Package:
    """The prebuilt modules of one driver for exactly one kernel release; their version is the kernel's own."""
    path = f"lib/modules/{release}/kernel/nvidia-{branch}/nvidia.ko"
    text = f"stand-in of nvidia.ko {driver}\n"
    name = f"linux-modules-nvidia-{branch}-{release}"
    return Package(name, version or f"{release.removesuffix('-nvidia')}+1", files={path: text})
