"""The processor of the guests: that of this machine, or a Spark's own by SPARKRIG_LAB_ARCH=arm64, emulated."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from lab.errors import LabError


@dataclass(frozen=True)
class Architecture:
    """What differs between the guests of two architectures.

    name: dpkg's; qemu: the program that runs a guest; cpu: the emulated one; machine: qemu's board; packages:
    kernel and boot loader of a guest; tools: what this machine needs besides, with the apt package of each;
    firmware: the file of a UEFI, empty where qemu has a BIOS of its own and the boot loader lies on the disk.
    """

    name: str
    qemu: str
    cpu: str
    machine: tuple[str, ...]
    packages: tuple[str, ...]
    tools: Mapping[str, str] = field(default_factory=dict)
    firmware: str = ""


AMD64 = Architecture(
    name="amd64",
    qemu="qemu-system-x86_64",
    cpu="max",
    machine=("-machine", "pc"),
    packages=("linux-image-amd64", "grub-pc-bin"),
    tools={"qemu-system-x86_64": "qemu-system-x86"},
)
ARM64 = Architecture(
    name="arm64",
    qemu="qemu-system-aarch64",
    cpu="max,pauth-impdef=on",  # the true pointer authentication is slow to emulate
    machine=("-machine", "virt,gic-version=3"),
    packages=("linux-image-arm64", "grub-efi-arm64-bin"),
    # the second runs what the packages of a guest run as they are installed
    tools={"qemu-system-aarch64": "qemu-system-arm", "qemu-aarch64-static": "qemu-user-static"},
    firmware="/usr/share/qemu-efi-aarch64/QEMU_EFI.fd",  # of qemu-efi-aarch64, which qemu-system-arm recommends
)


def guests() -> Architecture:
    """That of the guests. Raises LabError for one that the lab has not."""
    known = {each.name: each for each in (AMD64, ARM64)}
    name = os.environ.get("SPARKRIG_LAB_ARCH") or AMD64.name
    if name not in known:
        raise LabError(
            f"SPARKRIG_LAB_ARCH is {name}", expected=" or ".join(known), attempt="unset SPARKRIG_LAB_ARCH"
        )
    return known[name]
