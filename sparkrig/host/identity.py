"""Is this host a DGX Spark, and which one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sparkrig.cure import LISTED
from sparkrig.parsing import grammar
from sparkrig.refusal import Refusal
from sparkrig.value import Value

GB10_PCI = "10de:2e12"
N1X_PCI = frozenset({"10de:2e03", "10de:2e06"})  # RTX Spark N1X: shares the family name, not the machine
# NVIDIA keeps these for the Spark's GPU, N1X among them, and gives no list of what each one is [@nv-kernels-444].
_FAMILY_PCI = re.compile("10de:2e[0-3][0-9a-f]")
GB10_NAME = "NVIDIA GB10"
BOOT_ID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # random(4), /proc/sys/kernel/random/boot_id

# DGX_PLATFORM or DMI text -> who built it. DMI strings come with stray spaces ("Dell  Inc.").
_VENDORS = (
    ("dell", "Dell Pro Max with GB10"),
    ("zgx nano", "HP ZGX Nano"),
    ("gx10", "ASUS Ascent GX10"),
    ("asus", "ASUS Ascent GX10"),
    ("lenovo", "Lenovo ThinkStation PGX"),
    ("30kl", "Lenovo ThinkStation PGX"),
    ("ms-c931", "MSI EdgeXpert"),
    ("msi", "MSI EdgeXpert"),
    ("gigabyte", "Gigabyte AI TOP ATOM"),
    ("veriton", "Acer Veriton GN100"),
    ("acer", "Acer Veriton GN100"),
    ("hp ", "HP ZGX Nano"),
)


@dataclass(frozen=True)
class Identity(Value):
    """What a host reports about itself.

    release: the keys of /etc/dgx-release without the serial number, the last of a repeated key;
    boot_id: the kernel's id of this boot, empty where it was not read;
    pci: NVIDIA display devices as vendor:device; gpu: names by nvidia-smi; memory_kib: MemTotal;
    machine_id: the SHA-256 of /etc/machine-id in hex, empty where it was not read.
    """

    hostname: str
    uid: int
    machine: str
    kernel: str
    boot_id: str
    memory_kib: int
    release: Mapping[str, str] = field(default_factory=dict)
    dmi: Mapping[str, str] = field(default_factory=dict)
    pci: tuple[str, ...] = ()
    gpu: tuple[str, ...] = ()
    machine_id: str = ""

    @property
    def vendor(self) -> str:
        """Who built this Spark, as a label; DMI and DGX_PLATFORM are no evidence of a Spark."""
        text = " ".join([self.release.get("DGX_PLATFORM", ""), *self.dmi.values()]).casefold() + " "
        if found := next((name for key, name in _VENDORS if key in text), None):
            return found
        if "nvidia" in text or (not self.dmi and is_spark(self)[0]):
            return "NVIDIA DGX Spark Founders Edition"
        return " ".join(" ".join(self.dmi.values()).split()) or "unknown maker"

    @property
    def dgx_os(self) -> str | None:
        """The release of DGX OS: the last over-the-air update, or else the factory build."""
        return self.release.get("DGX_OTA_VERSION") or self.release.get("DGX_SWBUILD_VERSION")


def parse(lines: Iterable[str]) -> Identity:
    """Read `key=value` lines of the identity fact. Raises ValueError where one is missing."""
    values: dict[str, str] = {}
    release: dict[str, str] = {}
    dmi: dict[str, str] = {}
    pci: list[str] = []
    gpu: list[str] = []
    for line in lines:
        key, _, value = line.partition("=")
        value = value.strip()
        if key.startswith("release "):
            _read_release(release, line.removeprefix("release "))
        elif key.startswith("dmi."):
            dmi[key.removeprefix("dmi.")] = value
        elif key == "pci":
            pci.append(value.lower().replace("0x", ""))
        elif key == "gpu" and value:
            gpu.append(value)
        else:
            values[key.strip()] = value
    try:
        return Identity(
            hostname=values["hostname"],
            uid=int(values["uid"]),
            machine=values["machine"],
            kernel=grammar.KERNEL.held(values["kernel"]),
            boot_id=values["boot_id"] if re.fullmatch(BOOT_ID, values["boot_id"]) else "",
            memory_kib=int(values["memory_kib"]),
            release=release,
            dmi=dmi,
            pci=tuple(pci),
            gpu=tuple(gpu),
            machine_id=values.get("machine_id", ""),
        )
    except KeyError as missing:
        raise ValueError(f"the identity of the host lacks {missing}") from None


def _read_release(release: dict[str, str], line: str) -> None:
    """One shell-style assignment; HP's file has no quotes, and a repeated key counts last."""
    key, separator, value = line.strip().partition("=")
    key = key.removeprefix("export ").strip()
    if not separator or key.startswith("#") or "SERIAL" in key:
        return
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    release[key] = value


def is_spark(identity: Identity) -> tuple[bool, str]:
    """Whether this is a DGX Spark, and the evidence in words.

    A known GPU decides. /etc/dgx-release decides where no GPU is seen (a driver that does not load), or where the
    PCI id alone does not separate the GPU from another of its family.
    """
    if N1X_PCI.intersection(identity.pci):
        return False, "its GPU is an N1X, not a GB10"
    if GB10_PCI in identity.pci:
        return True, f"PCI device {GB10_PCI}"
    if GB10_NAME in identity.gpu:
        return True, f"nvidia-smi names {GB10_NAME}"
    family = [id for id in identity.pci if _FAMILY_PCI.fullmatch(id)]
    if identity.gpu or (identity.pci and not family):
        return False, f"its GPU is {', '.join(identity.gpu or identity.pci)}, not a GB10"
    named = identity.release.get("DGX_NAME", "") + " " + identity.release.get("DGX_PRETTY_NAME", "")
    if "spark" in named.casefold():
        return True, f"/etc/dgx-release names {identity.release.get('DGX_NAME')}"
    seen = f"its GPU is {', '.join(family)}, of GB10's family, with" if family else "it has no GB10 GPU and"
    return False, f"{seen} no /etc/dgx-release of a DGX Spark"


def must_be_root(identity: Identity) -> None:
    """Raise Refusal where commands do not run as root."""
    if identity.uid:
        raise Refusal(f"commands run as uid {identity.uid}, root is expected", to_root())


def to_root() -> str:
    """What makes commands run as root."""
    if LISTED[0]:
        return "set _sudo = True in the inventory's group_data, or log in as root"
    return "the same at a terminal, which asks for sudo's password once"


def judge(identity: Identity, *, allow_non_spark: bool) -> None:
    """Raise Refusal for a host that must not be provisioned: no root, or no Spark."""
    must_be_root(identity)
    spark, evidence = is_spark(identity)
    if not spark and not allow_non_spark:
        raise Refusal(
            f"this host is no DGX Spark: {evidence}",
            "check the address, or say so in the inventory with allow_non_spark=True",
        )
