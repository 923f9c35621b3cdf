"""The stand-in packages: NVIDIA's names, versions and dependencies around harmless files.

What a guest leaves the factory with is what the owner of a real Spark recorded: `factory.csv` is a part of the
package list of "sparky" [@spark-fleet-updates], and a test holds it against the whole (tests/fixtures/sparks).
Beside it stand the next 580 and the releases that an ordinary `apt-get dist-upgrade` would take (590, which drops
the branch number from its package names, and kernel 7.0), as they do in the real DGX OS repository.

What comes next are two more states of the repository, and two that go wrong (`offers`). Their names and versions
are those of Sparks in September 2026 (tests/fixtures/updates/seen-7.6.0.csv) [@kindling-spark-os, @spark-ds41f].
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab.guest.build import kernels

UBUNTU = "0ubuntu0.24.04.1"
NEXT_580, NEXT = "580.178.04", "590.48.01"
NEXT_KERNEL = "7.0.0-1019"
TOOLS_AHEAD = "610.57.04-1ubuntu1"  # what two other recorded Sparks have [@spark-fleet-updates]
TOOLKIT = "1.19.0-1"
POSTINST = "DEBIAN/postinst"
RELEASE, RELEASE_META = "7.6.0", "26.09.2"
LATER_KERNEL, LATER_KERNEL_THAT_DIES = "6.17.0-1032.32", "6.17.0-1031.31"
CHECKER = "1.0.18-1"  # made up, as the recipe of 7.6.0 is, which is not public


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
    """One .deb: `files` maps its paths to their content, `programs` its executables to a file of programs/.

    DEBIAN/postinst is such a program, too. kernel: the release of the kernel that the programs are for.
    """

    name: str
    version: str
    depends: str = ""
    conflicts: str = ""
    files: dict[str, str | bytes] = field(default_factory=dict)
    programs: dict[str, str] = field(default_factory=dict)
    kernel: str = ""

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
    parts = [*driver_580(FACTORY), *recorded_kernels(recorded())]
    parts.append(checker(recorded()["nvidia-spark-ota-check"], running_kernel))
    made = {package.name: package for package in parts}
    rest = [Package(name, version) for name, version in recorded().items() if name not in made]
    return [*made.values(), *rest, modules("580-open", FACTORY, running_kernel)]


def upgrades() -> list[Package]:
    """What the DGX OS repository offers beyond the factory state: a driver ahead of its modules, and 590."""
    return [
        *driver_580(NEXT_580),
        *transition_to_590(),
        *unversioned(NEXT),
        *driver_590(),
        *kernel(NEXT_KERNEL),
        modules("open", NEXT, f"{NEXT_KERNEL}-nvidia"),
        *ahead(),
    ]


def ahead() -> list[Package]:
    """The tools that NVIDIA versions on their own."""
    return [Package(name, TOOLS_AHEAD) for name in ("libxnvctrl0", "nvidia-modprobe", "nvidia-settings")]


def offers(own: str, second: str) -> dict[str, list[Package]]:
    """What the states of the repository after the factory's add to it, by their names.

    own, second: the releases of the guest's kernel and of the one that comes with state 2.

    - 1: the next 580, with nvidia.ko for the guest's own kernel, and DGX OS 7.6.0
    - 2: the second kernel besides, with its nvidia.ko
    - torn: that kernel before its nvidia.ko is there
    - dead: that kernel, which panics before it has a root file system

    Driver 590 is there in all of them, without a kernel of its own, which would be newer than the second kernel.
    """
    release = [
        *driver_580(NEXT_580),
        modules("580-open", NEXT_580, own, build=2),
        *dgx_os(own),
        *(package for package in transition_to_590() if package.name != MODULES_META),
        *unversioned(NEXT),
        *driver_590(),
        *ahead(),
    ]
    bare = later_metas(second, LATER_KERNEL)
    ko = modules("580-open", NEXT_580, second, build=2)
    return {
        "1": release,
        "2": [*release, *bare, ko, modules_meta(second, LATER_KERNEL)],
        "torn": [*release, *bare],
        "dead": [
            *release,
            *later_metas(second, LATER_KERNEL_THAT_DIES),
            deadly(modules("580-open", NEXT_580, second)),
            modules_meta(second, LATER_KERNEL_THAT_DIES),
        ],
    }


def dgx_os(own: str) -> list[Package]:
    """NVIDIA's own packages of DGX OS 7.6.0, as far as they were seen, and the recipe of this release."""
    kho = "nvidia-spark-grub-kho"
    add = 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX kho=off"\n'
    return [
        Package("dgx-release", RELEASE, programs={POSTINST: "dgx-release.postinst"}),
        Package("dgx-spark-ota-update-meta", RELEASE_META, depends=f"dgx-release (>= {RELEASE}), {kho}"),
        Package(kho, "1.0-1", files={f"etc/default/grub.d/{kho}.cfg": add}, programs={POSTINST: "grub.postinst"}),
        checker(CHECKER, own),
    ]


# The firmware that NVIDIA's own Spark has with OTA2607 [@spark-fleet-updates]: (name, version, GUID).
FIRMWARE = (
    ("SOCFW", "2.155.11", "b488217b-3895-4fc0-b1bf-ab7005a2d45a"),
    ("EC", "3.5.8", "3d13c989-e6a8-4ead-95ee-921f09868f65"),
    ("USBPD", "0.5.22", "dd1a238a-5f8e-46bd-9401-a88da99c5a96"),
)


@dataclass(frozen=True)
class Release:
    """One of NVIDIA's releases as a guest knows it; with it come DGX OS, its meta package and the checker."""

    name: str
    title: str
    day: str
    driver: str
    dgx_release: str
    meta: str
    checker: str


# Of the recorded one this is a part; the other one is made up after its form.
RELEASES = (
    Release("OTA2607", "July 2026", "2026-07-15", "580.159.03", "7.5.0", "26.04.1", "1.0.16-1"),
    Release("OTA2609", "September 2026", "2026-09-16", NEXT_580, RELEASE, RELEASE_META, CHECKER),
)


def checker(version: str, kernel: str) -> Package:
    """The package that brings the recipes of the releases up to its own; kernel: the guest's own."""
    until = [each.checker for each in RELEASES].index(version) + 1
    folder = "opt/nvidia/spark-ota-check/metadata"
    files: dict[str, str | bytes] = {
        f"{folder}/spark-ota-{each.name.removeprefix('OTA')}.json": json.dumps(recipe(each, kernel), indent=2)
        for each in RELEASES[:until]
    }
    return Package("nvidia-spark-ota-check", version, files=files)


def recipe(release: Release, kernel: str) -> dict[str, object]:
    """NVIDIA's description of a release, in the form of the recorded ones (tests/fixtures/updates).

    The kernel is the guest's own: it counts as 6.12, and with one of NVIDIA's no guest would ever have a release.
    """
    driven = ("nvidia-driver-580-open", "nvidia-kernel-common-580", "nvidia-utils-580")
    packages = {
        "dgx-release": release.dgx_release,
        "dgx-spark-ota-update-meta": release.meta,
        "nvidia-spark-ota-check": release.checker,
        **dict.fromkeys(driven, f"{release.driver}-{UBUNTU}"),
    }
    return {
        "metadata": {
            "name": release.name,
            "external_name": release.title,
            "description": "A stand-in for the virtual pair.",
            "priority": "important",
            "releaseNotesUrl": "https://docs.nvidia.com/dgx/dgx-spark/release-notes.html",
            "releaseDate": f"{release.day}T00:00:00.000Z",
            "required_match": [],
        },
        "package": listed(packages),
        "firmware": [{"name": part, "version": version, "guid": guid} for part, version, guid in FIRMWARE],
        "connectx": listed({"CX7": "28.45.4028"}),
        "software": listed({"kernel": kernel, "driver": release.driver}),
    }


def listed(versions: dict[str, str]) -> list[dict[str, str]]:
    """As a recipe has them."""
    return [{"name": name, "version": version} for name, version in versions.items()]


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


def later_metas(release: str, version: str) -> list[Package]:
    """What brings the second kernel, and not its nvidia.ko."""
    return [*metas(release, version), Package("linux-tools-nvidia-hwe-24.04", version)]


def modules_meta(release: str, kernel: str) -> Package:
    """What brings the nvidia.ko of the second kernel."""
    return Package(MODULES_META, f"{kernel}+1", depends=f"linux-modules-nvidia-580-open-{release}")


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


def modules(branch: str, driver: str, release: str, version: str = "", build: int = 1) -> Package:
    """The prebuilt modules of one driver for exactly one kernel release; their version is the kernel's own.

    A kernel that a guest can boot has modules that fit one driver alone, so that both move together, or neither
    does: Ubuntu's accept one version, too [@kindling-spark-os]. Those of the recorded kernels, which no guest can
    boot, bind nothing. build: how often they were built for this kernel.
    """
    name = f"linux-modules-nvidia-{branch}-{release}"
    common = "nvidia-kernel-common" + "-580" * branch.startswith("580")
    full = version or f"{release.removesuffix('-nvidia')}+{build}"
    bound = f"{common} (>= {driver}), {common} (<= {driver}-1)"
    return Package(
        name,
        full,
        depends="" if version or release.endswith("-nvidia") else bound,
        files={f"lib/modules/{release}/kernel/nvidia-{branch}/nvidia.ko": kernels.nvidia_ko(driver, release)},
        programs={POSTINST: "modules.postinst", "DEBIAN/postrm": "modules.postrm"},
        kernel=release,
    )


def deadly(package: Package) -> Package:
    """The same, with a part of the initrd in which that kernel panics, before any disk is mounted."""
    part = "usr/share/initramfs-tools/scripts/init-top/lab-panic"
    return replace(package, programs=package.programs | {POSTINST: "deadly.postinst", part: "deadly.initrd"})
