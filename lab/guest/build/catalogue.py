"""The stand-in packages: NVIDIA's names, versions and dependencies around harmless files.

Three states of the DGX OS repository live side by side, as they do on the real one: what the factory
installed (580), the next 580, and the releases that an ordinary `apt-get dist-upgrade` would take (590,
which drops the branch number from its package names, and kernel 7.0).
"""

from __future__ import annotations

from dataclasses import dataclass, field

UBUNTU = "0ubuntu0.24.04.1"
FACTORY, NEXT_580, NEXT = "580.159.03", "580.178.04", "590.48.01"
FACTORY_KERNEL, NEXT_KERNEL = "6.17.0-1021", "7.0.0-1019"
MODPROBE_AHEAD = "610.57.04"
TOOLKIT = "1.19.0-1"

# The user-space halves of a driver, each `NAME-BRANCH` up to 580 and plain `NAME` from 590 on.
LIBRARIES = ("libnvidia-compute", "libnvidia-gl", "nvidia-kernel-common")


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
    """What a Spark leaves the factory with; `running_kernel` is the guest's own `uname -r`."""
    return [
        *driver_580(FACTORY),
        *kernel(FACTORY_KERNEL),
        *modules_580(FACTORY, FACTORY_KERNEL),
        modules("580-open", FACTORY, running_kernel),
    ]


def upgrades() -> list[Package]:
    """What the DGX OS repository offers beyond the factory state."""
    return [
        *driver_580(NEXT_580),
        *transition_to_590(),
        *unversioned(NEXT),
        *driver_590(),
        *kernel(NEXT_KERNEL),
        modules("open", NEXT, f"{NEXT_KERNEL}-nvidia"),
        Package("nvidia-modprobe", MODPROBE_AHEAD),
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
    needs = ", ".join(f"{name} (= {full})" for name in [*libraries, "nvidia-utils-580", firmware])
    return [
        Package("nvidia-driver-580-open", full, depends=f"{needs}, nvidia-modprobe"),
        *(Package(name, full) for name in libraries),
        Package(firmware, full),
        Package("nvidia-modprobe", version),
        utilities("nvidia-utils-580", version),
    ]


def transition_to_590() -> list[Package]:
    """The old names at 590: empty packages that pull in the new ones, the route a plain upgrade takes."""
    full = f"{NEXT}-{UBUNTU}"
    renamed = {"nvidia-driver-580-open": "nvidia-driver-open", "nvidia-utils-580": "nvidia-utils"}
    renamed |= {f"{name}-580": name for name in LIBRARIES}
    return [
        *(Package(old, full, depends=f"{new} (= {full})") for old, new in renamed.items()),
        Package(
            "linux-modules-nvidia-580-open-nvidia-hwe-24.04",
            f"{NEXT_KERNEL}.19",
            depends=f"linux-modules-nvidia-open-{NEXT_KERNEL}-nvidia",
        ),
    ]


def unversioned(version: str) -> list[Package]:
    """The driver under the names without a branch number, NVIDIA's default from 590 on."""
    full = f"{version}-{UBUNTU}"
    needs = ", ".join(f"{name} (= {full})" for name in [*LIBRARIES, "nvidia-utils", "nvidia-firmware"])
    return [
        Package("nvidia-driver-open", full, depends=f"{needs}, nvidia-modprobe"),
        *(Package(name, full) for name in [*LIBRARIES, "nvidia-firmware"]),
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


def kernel(release: str) -> list[Package]:
    """Meta packages and the image of one NVIDIA kernel (no kernel inside)."""
    full = f"{release}.{release.rpartition('-')[2][-2:]}"
    image, headers = (f"linux-{part}-nvidia-hwe-24.04" for part in ("image", "headers"))
    exact = f"linux-image-{release}-nvidia"
    order = {f"lib/modules/{release}-nvidia/modules.order": ""}
    return [
        Package("linux-nvidia-hwe-24.04", full, depends=f"{image} (= {full}), {headers} (= {full})"),
        Package(image, full, depends=exact),
        Package(headers, full),
        Package(exact, full, files=order),
    ]


def modules_580(version: str, release: str) -> list[Package]:
    """The prebuilt 580 modules of one kernel, by their meta and their exact name."""
    exact = modules("580-open", version, f"{release}-nvidia")
    meta = "linux-modules-nvidia-580-open-nvidia-hwe-24.04"
    return [exact, Package(meta, f"{release}.21", depends=exact.name)]


def modules(branch: str, version: str, release: str) -> Package:
    """The prebuilt modules for exactly one kernel release."""
    path = f"lib/modules/{release}/kernel/nvidia-{branch}/nvidia.ko"
    text = f"stand-in of nvidia.ko {version}\n"
    return Package(f"linux-modules-nvidia-{branch}-{release}", f"{version}-{UBUNTU}", files={path: text})
