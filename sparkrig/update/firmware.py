"""The firmware of a Spark: what is on the board, what fwupd offers, and how both stand to a release of DGX OS.

The board's own table (SMBIOS type 45, by dmidecode) is what counts: fwupd may be wrong. On a Spark of NVIDIA's own
the USB-PD reads 0x00000001 there, below its own lowest version, and 0x00000516 is offered at every look, while the
board has 5.22, which is the same [@spark-fleet-updates]. fwupd is the means to change it, and knows how the last
attempt ended, by the kernel's ESRT (fu_uefi_capsule_device_set_status).

Two of a Spark's three devices have one name in fwupd (UEFI Device Firmware), so they are told apart by GUID.
NVIDIA and ASUS have GUIDs and numbers of their own; those of other makers are not known, and never guessed.

The TPM is not judged: NVIDIA's checker looks for it in that table, and on an ASUS finds none, so that by the
checker such a Spark never has a release. Nor are the recipes' `EC Unfused`, another name of the EC with the same
versions.

Sources: recordings of three Sparks [@spark-fleet-updates]; fwupd 2.0.20 (src/fu-util.c, libfwupd/fwupd-device.c,
FwupdUpdateState of libfwupd/fwupd-enums.h, plugins/uefi-capsule/fu-uefi-capsule-device.c) [@fwupd-2-0-20].
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from sparkrig.host import firmware_table
from sparkrig.host.firmware_table import Table, triplet
from sparkrig.host.releases import Recipe
from sparkrig.parsing import document
from sparkrig.parsing.grammar import Grammar
from sparkrig.text import plain
from sparkrig.value import Value

Which = Literal["SoC", "EC", "USB-PD", "ConnectX"]
WHICH: Final[tuple[Which, ...]] = get_args(Which)

# as-released: what the release has; newer: more than that; offered: fwupd offers more; already-on: what fwupd
# offers is on; waits: the release has more, and its maker offers nothing; pending: a reboot applies it; failed: at
# the last attempt; unknown: not read, or not told apart
State = Literal["as-released", "newer", "offered", "already-on", "waits", "pending", "failed", "unknown"]

Maker = Literal["NVIDIA", "ASUS", ""]

_RECIPE_NAME: Final[Mapping[Which, str]] = {"SoC": "SOCFW", "EC": "EC", "USB-PD": "USBPD"}
_GUIDS: Final[Mapping[str, tuple[Which, Maker]]] = {
    "b488217b-3895-4fc0-b1bf-ab7005a2d45a": ("SoC", "NVIDIA"),
    "3d13c989-e6a8-4ead-95ee-921f09868f65": ("EC", "NVIDIA"),
    "dd1a238a-5f8e-46bd-9401-a88da99c5a96": ("USB-PD", "NVIDIA"),
    "f1392323-3920-4598-a932-ef06360cf403": ("SoC", "ASUS"),
    "c3cccaf0-9a3e-4ee2-992e-9f0cf9b55fa0": ("EC", "ASUS"),
    "fe75bb1c-5ccc-4936-b603-cc7cf945dc30": ("USB-PD", "ASUS"),
    # of PCI\VEN_15B3&DEV_1021&COMPONENT_fw, on any board
    "04089056-a45b-544f-98d9-1085877daba5": ("ConnectX", ""),
}
# ASUS counts in numbers of its own. Each of these was recorded beside what the board has of it.
_OF_ASUS: Final[Mapping[tuple[Which, int], str]] = {
    ("SoC", 0x03000006): "2.148.24",
    ("SoC", 0x03000007): "2.152.15",
    ("EC", 0x02000005): "2.78.24",
    ("EC", 0x02000006): "3.3.2",
}
_HEX = re.compile(r"0x[0-9a-f]{8}")
_ID = Grammar("id of a device of fwupd", r"|[0-9a-f]{40}")
_SHOWN = Grammar("version of firmware", r"|[A-Za-z0-9][A-Za-z0-9._+-]{0,39}")

_MOST_DEVICES = 200
_MOST_RELEASES = 200  # of a device; ten are on LVFS for the SoC of NVIDIA's own Spark
_WHY = 200  # characters of a reason
_MOST_WORDS = 100  # GUIDs of a device, flags of a release

# FwupdUpdateState by its number; "needs-reboot" among a device's flags is its kind, and no state
_UPDATE: Final = ("", "pending", "", "failed", "pending", "failed")


def _of_state(number: Any) -> str:
    if type(number) is not int:
        raise ValueError("the state of an update is no number")
    return _UPDATE[number] if 0 <= number < len(_UPDATE) else ""


_Text = Annotated[str, AfterValidator(lambda text: plain(text)[:_WHY])]
_Version = Annotated[str, AfterValidator(_SHOWN.held)]
_Id = Annotated[str, AfterValidator(_ID.held)]
_State = Annotated[str, BeforeValidator(_of_state)]
_Words = Annotated[tuple[str, ...], Field(max_length=_MOST_WORDS)]


@dataclass(frozen=True)
class Offer(Value):
    """A release that fwupd lists for a device: its version as fwupd writes it, and fwupd's flags of it."""

    version: Annotated[_Version, Field(validation_alias="Version")] = ""
    flags: Annotated[_Words, Field(validation_alias="Flags")] = ()

    def leads(self, way: Literal["up", "down"]) -> bool:
        """Whether fwupd would take it, and it leads that way."""
        return f"is-{way}grade" in self.flags and not any(flag.startswith("blocked-") for flag in self.flags)


@dataclass(frozen=True)
class Device(Value):
    """A device of fwupd, by fwupd's names for what is read of it.

    id: for fwupd's commands; version, lowest: as fwupd writes them, empty where it does not; update: `pending` or
    `failed`, else empty; error: what fwupd says of a failure.
    """

    guids: Annotated[_Words, Field(validation_alias="Guid")] = ()
    id: Annotated[_Id, Field(validation_alias="DeviceId")] = ""
    version: Annotated[_Version, Field(validation_alias="Version")] = ""
    lowest: Annotated[_Version, Field(validation_alias="VersionLowest")] = ""
    update: Annotated[_State, Field(validation_alias="UpdateState")] = ""
    error: Annotated[_Text, Field(validation_alias="UpdateError")] = ""
    offers: Annotated[tuple[Offer, ...], Field(validation_alias="Releases", max_length=_MOST_RELEASES)] = ()

    @property
    def maker(self) -> Maker:
        """Whose GUID it has."""
        return next((_GUIDS[guid.lower()][1] for guid in self.guids if guid.lower() in _GUIDS), "")


@dataclass(frozen=True)
class _Row:
    """What is read of any device, known or not."""

    Guid: _Words = ()
    Plugin: Any = ""


@dataclass(frozen=True)
class _List:
    Devices: Annotated[tuple[Any, ...], Field(max_length=_MOST_DEVICES)] = ()


@dataclass(frozen=True)
class Board(Value):
    """What was read of a Spark's firmware.

    table: what the board itself tells; devices: fwupd's; others: how many devices fwupd has for capsules whose
    GUID is not known; listed: whether its list of devices was read; untold: why a source (`dmidecode`, `fwupd`)
    was not read.
    """

    table: Table = field(default_factory=Table)
    devices: Mapping[Which, Device] = field(default_factory=dict)
    others: int = 0
    listed: bool = False
    untold: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Part(Value):
    """One part of a Spark with firmware, and how it stands to a release.

    state: as of State; board: what is on it, in NVIDIA's numbers, else as fwupd writes it, empty where nobody
    told; wanted (`release` in a document): what the release has, empty where it names none; offered: what fwupd
    offers, in NVIDIA's numbers where they can be told, else as it writes it; older: the newest older release that
    fwupd lists, in the same way: it could go back to that one; why: in words, where it failed, waits or is not
    known.
    """

    which: Annotated[Which, Field(serialization_alias="part")]
    state: State
    board: str = ""
    wanted: Annotated[str, Field(serialization_alias="release")] = ""
    fwupd: Annotated[str, Field(exclude=True)] = ""  # what fwupd takes it for
    offered: str = ""
    older: str = ""
    device: Annotated[str, Field(exclude=True)] = ""  # fwupd's id of it, for its commands
    why: str = ""

    @property
    def falls_short(self) -> bool:
        """Whether what is offered is less than the release has, so that it waits for its maker afterwards."""
        return self._is_offered and _less(self.offered, self.wanted)

    @property
    def goes_beyond(self) -> bool:
        """Whether what is offered is more than the release has: fwupd takes the newest."""
        return self._is_offered and _told(self.wanted) and _less(self.wanted, self.offered)

    @property
    def _is_offered(self) -> bool:
        return self.state == "offered" and _told(self.offered)

    @property
    def due(self) -> bool:
        """Whether something is to be written, once more after a failure, or is written and waits for a reboot."""
        return self.state in ("offered", "pending") or (self.state == "failed" and bool(self.offered))


def parse(lines: Iterable[str]) -> Board:
    """Read the firmware fact. A list of fwupd's that makes no sense is untold.

    Its rows are those of the board's table (sparkrig.host.firmware_table), `fwupd BASE64` (its JSON), and `untold
    SOURCE WHY`.
    """
    rows = [*lines]
    untold: dict[str, str] = {}
    devices: dict[Which, Device] = {}
    others, listed = 0, False
    for line in rows:
        word, _, rest = line.strip().partition(" ")
        if word == "untold":
            source, _, why = rest.partition(" ")
            untold[source] = plain(why)[:_WHY]
        elif word == "fwupd":
            try:
                devices, others = _devices(rest)
                listed = True
            except ValueError as error:
                untold["fwupd"] = f"its list of devices cannot be understood ({plain(str(error))[:_WHY]})"
    table = firmware_table.parse(rows)
    if not table.connectx and "ConnectX" in devices and _told(devices["ConnectX"].version):
        table = replace(table, connectx=(devices["ConnectX"].version,))
    return Board(table, devices, others, listed, untold)


def _devices(encoded: str) -> tuple[dict[Which, Device], int]:
    """fwupd's devices that are known, and how many there are besides for capsules. Raises ValueError alone."""
    devices: dict[Which, Device] = {}
    others = 0
    for given in document.read(_List, base64.b64decode(encoded, validate=True)).Devices:
        row = document.held(_Row, given)
        which = next((_GUIDS[guid.lower()][0] for guid in row.Guid if guid.lower() in _GUIDS), None)
        if which:
            devices.setdefault(which, document.held(Device, given))
        elif row.Plugin == "uefi_capsule":
            others += 1
    return devices, others


def judge(board: Board, recipe: Recipe | None, vendor: str, *, limited: bool = False) -> tuple[Part, ...]:
    """How each part of a Spark's firmware stands to a release.

    recipe: of the release; None where none is known, so that only what fwupd offers is told. vendor: who built the
    Spark, as `Identity.vendor` has it of its DMI; limited: whether a part that has what the release has is to
    stay, whatever fwupd offers.
    """
    return tuple(_judged(board, which, _wanted(which, recipe), vendor, limited) for which in WHICH)


def staged(board: Board) -> list[Which]:
    """The parts whose firmware the next reboot writes, whoever handed it over."""
    return [which for which in WHICH if (device := board.devices.get(which)) and device.update == "pending"]


def _wanted(which: Which, recipe: Recipe | None) -> str:
    if recipe is None:
        return ""
    return recipe.connectx if which == "ConnectX" else recipe.firmware.get(_RECIPE_NAME[which], "")


def _judged(board: Board, which: Which, wanted: str, vendor: str, limited: bool) -> Part:
    """The first that applies of what a part can be at; what is on the board goes before what fwupd makes of it."""
    device = board.devices.get(which, Device())
    on, unread = _on(board, which)
    up, down = _best(device, "up"), _best(device, "down")
    offered = _number(which, device, up)
    state, why = _state(board, which, wanted, on, offered, vendor, limited)
    return Part(
        which,
        state,
        on,
        wanted,
        device.version,
        offered,
        _number(which, device, down),
        device.id,
        why or (unread if state == "unknown" else ""),
    )


def _state(
    board: Board, which: Which, wanted: str, on: str, offered: str, vendor: str, limited: bool
) -> tuple[State, str]:
    """What a part is at, and why in words where that needs some."""
    device = board.devices.get(which)
    if device and device.update == "pending":
        return "pending", ""
    has = _told(on)
    met = has and _told(offered) and not _less(on, offered)
    if has and wanted and not _less(on, wanted) and (met or not offered or limited):
        return ("already-on" if met else "newer" if _less(wanted, on) else "as-released"), ""
    if (failure := _failure(device)) and not met:
        return "failed", failure
    if offered and not met:
        return "offered", ""
    if not has:
        return "unknown", f"{on} is a number of its maker's own" if on else ""
    if not wanted:
        return ("already-on", "") if met else ("unknown", "no release is known that names a version of it")
    if device is None:
        return "unknown", _no_device(board, which, vendor)
    return "waits", f"{on} is on, the release has {wanted}, and {_maker(vendor, which)} offers none that is newer"


def _on(board: Board, which: Which) -> tuple[str, str]:
    """What is on, in NVIDIA's numbers if they can be told, and why it is not known where it is not."""
    if which == "ConnectX":
        on = next(iter(board.table.connectx), "")
        return on, "" if on else "no ConnectX is seen: without a cable it may be off"
    if told := board.table.versions.get(which):
        return told, ""
    device = board.devices.get(which)
    if device and (number := _number(which, device, device.version)) and _plausible(device.version, device.lowest):
        return number, ""
    why = board.untold.get("dmidecode")
    return "", f"dmidecode: {why}" if why else "the board's own table does not have it"


def _plausible(version: str, lowest: str) -> bool:
    """Whether a version can be that of a device: none is below the lowest that the device takes."""
    return not (_HEX.fullmatch(version) and _HEX.fullmatch(lowest) and int(version, 16) < int(lowest, 16))


def _best(device: Device, way: Literal["up", "down"]) -> str:
    """The newest release in that direction, as fwupd writes it; one below the device's lowest is none."""
    offered = (offer.version for offer in device.offers if offer.leads(way))
    return max((each for each in offered if _plausible(each, device.lowest)), key=_numbers, default="")


def _number(which: Which, device: Device, version: str) -> str:
    """A version of fwupd's in NVIDIA's numbers where they can be told, else as it is."""
    if not _HEX.fullmatch(version):
        return version
    raw = int(version, 16)
    if device.maker == "NVIDIA" or (device.maker == "ASUS" and which == "USB-PD"):
        return f"{raw >> 24}.{raw >> 8 & 0xFFFF}.{raw & 0xFF}"
    return _OF_ASUS.get((which, raw), version) if device.maker == "ASUS" else version


def _failure(device: Device | None) -> str:
    """Why the last attempt failed, in words; empty where it did not."""
    if device is None or device.update != "failed":
        return ""
    return f"the last attempt failed ({device.error})" if device.error else "the last attempt failed"


def _no_device(board: Board, which: Which, vendor: str) -> str:
    """Why it is not known whether something newer is offered."""
    if not board.listed:
        return f"fwupd: {board.untold.get('fwupd', 'its list of devices was not read')}"
    if which != "ConnectX" and board.others:
        return f"which of fwupd's devices it is on a Spark of {_maker(vendor, which)} is not known"
    return "fwupd has no device of it"


def _maker(vendor: str, which: Which) -> str:
    """Who brings the firmware; the ConnectX's comes from NVIDIA on every Spark."""
    first = "NVIDIA" if which == "ConnectX" else vendor.partition(" ")[0]
    return "its maker" if first in ("", "unknown") else plain(first)


def _told(version: str) -> bool:
    """Whether a version is in NVIDIA's numbers, and not in those of another maker."""
    return bool(triplet(version))


def _less(one: str, other: str) -> bool:
    return _numbers(one) < _numbers(other)


def _numbers(version: str) -> tuple[int, ...]:
    if _HEX.fullmatch(version):
        return (int(version, 16),)
    return firmware_table.all_numbers(version)
