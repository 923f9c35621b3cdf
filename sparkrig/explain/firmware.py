"""fwupdmgr and dmidecode: the firmware of a Spark, what is offered, and what board it is.

The serial numbers of dmidecode are dropped before anything is read. Sources: fwupd (src/fu-util-common.c,
libfwupd/fwupd-device.c), dmidecode (dmidecode.c); sparkrig/update/firmware.py for the parts of a Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sparkrig.cure import as_root
from sparkrig.explain.explanation import Around, Explained, Piece
from sparkrig.host import firmware_table
from sparkrig.text import plain
from sparkrig.verdict import Finding, Verdict

_TREE = re.compile(r"[ \t│├└─╙╟║|`*_-]*(?P<rest>\S[^\n]*)$")  # with a forum's marks of emphasis
_PAIR = re.compile(r"(?P<key>[A-Z][A-Za-z ]{2,28}):[ \t]+(?P<value>\S[^\n]*)$")
_HEX = re.compile(r"0x[0-9a-f]{8}")
_OFFER, _HAVE = "New version", "Current version"
_UPDATE = as_root("fwupdmgr update").then(", on mains power, and reboot")
# its list of forbidden signatures has a boot file of the ESP's [@fwupd-5121]
_BOOT_FILES = as_root("apt-get install --only-upgrade shim-signed grub-efi-arm64-signed").then(
    ", reboot, and update again"
)
_FAILED = re.compile(
    r"^[ \t]*(?:failed to (?:write|install|update)[\w -]{0,20}: *)?"
    r"(?P<why>(?<=: )\S[^\n]{0,400}|(?:[Ff]ailed to|[Cc]annot|Could not|Blocked|Insufficient)\b[^\n]{3,400})",
    re.M,
)
_ID = re.compile(r"\b(?=[A-Z0-9]*\d)[A-Z0-9]{9,40}\b|\b[0-9a-f]{40}\b")  # a serial number that no label tells
_PENDING = Verdict("unknown", "firmware-pending", "the next reboot writes it", "reboot, on mains power")


@dataclass
class _Device:
    """A device of fwupd's tree, and the fields that it prints of it."""

    name: str
    fields: dict[str, str] = field(default_factory=dict)


def fwupdmgr(piece: Piece, _: Around) -> Explained:
    if failed := _FAILED.search(piece.text):
        why = _ID.sub("(not shown)", plain(failed["why"].strip())[:200])
        cure = _BOOT_FILES if "Blocked executable" in why else _UPDATE
        wrong = Verdict("fault", "firmware-failed", f"fwupd could not update it: {why}", cure)
        return Explained(piece.tool, "an update that failed", (Finding("the firmware", wrong),))
    trees = [*_devices(piece.lines)]
    devices = [device for device in trees if {_HAVE, _OFFER, "Update State"} & {*device.fields}]
    if not devices and "Successfully installed firmware" in piece.text:
        done = Verdict("healthy", evidence="fwupd installed it, and asks for no reboot")
        installed = _PENDING if "reboot" in piece.text else done
        return Explained(piece.tool, "firmware that was installed", (Finding("the firmware", installed),))
    quiet = re.search(
        r"No (?:updates available|updatable devices|upgrades for)|latest available firmware", piece.text
    )
    if not devices and (trees or not quiet):
        raise ValueError("fwupdmgr names no device with a version that can be read: LC_ALL=C gives it in English")
    verdicts = [Finding(device.name, judged) for device in devices if (judged := _judged(device))]
    well = Verdict("healthy", evidence="no update is offered or has failed")
    have = [f"{device.name} {device.fields[_HAVE]}" for device in devices if _HAVE in device.fields]
    return Explained(
        piece.tool, ", ".join(have) or "no device", tuple(verdicts or [Finding("the firmware", well)])
    )


def _devices(lines: Iterable[str]) -> Iterator[_Device]:
    """Each device with its fields; a release below it that has a version is an offer to it."""
    device: _Device | None = None
    for line in lines:
        row = _TREE.match(line)
        if row is None:
            continue
        rest = row["rest"].strip()
        if pair := _PAIR.match(rest):
            if device is not None:
                device.fields.setdefault(pair["key"], plain(pair["value"]).rstrip("*_")[:80])
        elif rest.endswith(":") and re.search(r"[├└╙─]", line) and not _release(device, rest):
            if device is not None:
                yield device
            device = _Device(plain(rest[:-1])[:60])
    if device is not None:
        yield device


def _release(device: _Device | None, title: str) -> bool:
    """Whether a title below a device is that of a release for it, which has its name or says update."""
    same = device is not None and _HAVE in device.fields and device.name.split(" ")[0] in title
    return same or bool(re.search(r"\b(?:Update|Firmware for)\b", title))


def _judged(device: _Device) -> Verdict | None:
    """What fwupd's word on one device means; None where nothing is to be done."""
    state = device.fields.get("Update State", "").casefold()
    have, offered = device.fields.get(_HAVE, ""), device.fields.get(_OFFER, "")
    if state.startswith("failed"):
        error = _ID.sub("(not shown)", device.fields.get("Update Error", "fwupd does not tell why"))
        return Verdict("fault", "firmware-failed", f"the last update failed: {error}", _UPDATE)
    if "reboot" in state or state.startswith("pending"):
        return _PENDING
    if not offered or not have or state.startswith("success"):
        return None
    lowest = device.fields.get("Minimum Version", "")
    if all(map(_HEX.fullmatch, (have, lowest))) and int(have, 16) < int(lowest, 16):
        why = f"{offered} is offered, but {have} is below the lowest version that there is, so fwupd misreads it"
        return Verdict("healthy", evidence=f"{why}: dmidecode -t 45 tells what is on")
    return Verdict("unknown", "firmware-offered", f"{offered} is offered, {have} is on", _UPDATE)


# --- dmidecode

_PART = re.compile(r"[ \t]*Firmware Component Name:[ \t]*(?P<name>[^\n]{1,40})$")
_VERSION = re.compile(r"[ \t]*Firmware Version:[ \t]*(?P<version>[^\n]{1,60})$")
# the first fields of both, in dmidecode's order
_BIOS = re.compile(r"BIOS Information\n[ \t]*Vendor:[^\n]{0,60}\n[ \t]*Version:[ \t]*(?P<version>\S[^\n]{0,60})")
_SYSTEM = re.compile(
    r"System Information\n[ \t]*Manufacturer: *(?P<maker>[^\n]{0,60})\n[ \t]*Product Name: *(?P<name>[^\n]{0,60})"
)


def dmidecode(piece: Piece, _: Around) -> Explained:
    table = firmware_table.parse(_parts(piece.lines))
    system, bios = _SYSTEM.search(piece.text), _BIOS.search(piece.text)
    if not (system or bios or table.versions):
        raise ValueError("dmidecode tells of no board and no firmware; run it with sudo")
    read = [
        f"{plain(system['maker']).strip()} {plain(system['name']).strip()}" if system else "",
        f"BIOS {plain(bios['version']).strip()}" if bios else "",
        *(f"{part} {version}" for part, version in table.versions.items()),
    ]
    findings = [Finding("the firmware", firmware_table.verdict(table))] if table.versions else []
    return Explained(piece.tool, ", ".join(filter(None, read)) or "no system", tuple(findings))


def _parts(lines: Iterable[str]) -> Iterator[str]:
    """The board's table of firmware, in the rows of the firmware fact."""
    for line in lines:
        if part := _PART.match(line):
            yield f"part {part['name'].strip()}"
        elif version := _VERSION.match(line):
            yield f"version {version['version'].strip()}"
