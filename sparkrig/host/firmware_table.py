"""What a Spark's board tells of its firmware by its own table (SMBIOS type 45), and what is open in that firmware.

The numbers are NVIDIA's. Another maker has its own for the UEFI (ASUS_UEFI_0105), and nothing is concluded of one.
Recordings of three Sparks [@spark-fleet-updates].
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sparkrig.cure import verb
from sparkrig.host import update_facts
from sparkrig.host.update_facts import Floor
from sparkrig.text import listed, plain, some
from sparkrig.value import Value
from sparkrig.verdict import Verdict

_SHOWN = 40  # characters of a number of the maker's own
_NAMED = 1  # vulnerabilities that a sentence names
_PARTS = {"FLASH": "SoC", "EC Firmware": "EC", "PD Firmware": "USB-PD", "UEFI": "UEFI"}
_ON_BOARD = re.compile(r"(?:[A-Za-z]{1,8}:)*([0-9]{1,5}(?:\.[0-9]{1,5}){2})")  # SBP:R:2.155.11
_PD = re.compile(r"PD[0-9] FW1: ([0-9]{1,5})\.([0-9]{1,5})\b.*")  # PD0 FW1: 5.22, FW2: 4.10
_TRIPLET = re.compile(
    r"([0-9]{1,5}\.[0-9]{1,5}\.[0-9]{1,5})(?: \([A-Za-z0-9_]{1,40}\))?"
)  # of ethtool, with the PSID


@dataclass(frozen=True)
class Table(Value):
    """The firmware that is on a board.

    versions: by part (SoC, EC, USB-PD, UEFI), of two controllers the lower one; own: those that are a number of
    the maker's own; connectx: of all functions of the ConnectX, the lowest first.
    """

    versions: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    connectx: tuple[str, ...] = ()


def parse(lines: Iterable[str]) -> Table:
    """Read the rows `part NAME`, `version TEXT` and `connectx VERSION`, and no others."""
    part = ""
    versions, own, connectx = dict[str, str](), dict[str, str](), set[str]()
    for line in lines:
        word, _, rest = line.strip().partition(" ")
        if word == "part":
            part = _PARTS.get(rest, "")
        elif word == "version" and part:
            version = _version(part, rest)
            if not version:
                own[part] = plain(rest)[:_SHOWN]
            elif part not in versions or less(version, versions[part]):
                versions[part] = version
        elif word == "connectx" and (version := triplet(rest.strip())):
            connectx.add(version)
    return Table(versions, own, tuple(sorted(connectx, key=all_numbers)))


def _version(part: str, text: str) -> str:
    if part == "USB-PD":
        return f"0.{int(found[1])}.{int(found[2])}" if (found := _PD.fullmatch(text)) else ""
    return found[1] if (found := _ON_BOARD.fullmatch(text)) else ""


def triplet(text: str) -> str:
    """A version in NVIDIA's numbers, without what ethtool has behind it; empty for any other text."""
    return found[1] if (found := _TRIPLET.fullmatch(text)) else ""


def less(one: str, other: str) -> bool:
    """Whether a version is older than another one."""
    return all_numbers(one) < all_numbers(other)


def all_numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version."""
    return tuple(map(int, re.findall("[0-9]{1,9}", version)))


def open_in(table: Table) -> list[tuple[Floor, str]]:
    """The floors that a board is below, each with the version that is on."""
    on = {**table.versions, **({"ConnectX": table.connectx[0]} if table.connectx else {})}
    return [(floor, on[floor.part]) for floor in update_facts.floors() if _below(on.get(floor.part, ""), floor)]


def _below(version: str, floor: Floor) -> bool:
    """Whether it closes nothing of that: neither of the main line's version nor of its own line's."""
    main, *lines = floor.fixed
    line = [fixed for fixed in lines if all_numbers(fixed)[:2] == all_numbers(version)[:2]]
    return bool(version) and all(less(version, fixed) for fixed in (main, *line))


def worded(floor: Floor, on: str) -> str:
    """What is open, in words that a person can look up."""
    closes = f"{floor.fixed[0]} closes it" if floor.release else f"no release has {floor.fixed[0]}"
    return (
        f"{floor.part} {on} leaves {some(floor.cves, _NAMED)} open to {floor.needs} "
        f"(NVIDIA's bulletin {floor.bulletin}, {floor.day}); {closes}"
    )


def notes(table: Table) -> list[str]:
    """What is open without a release that closes it, and what nothing can be concluded of."""
    floors = {floor.part for floor in update_facts.floors()}
    own = [
        f"{part} {version} is a number of its maker's own, so it is not known what is open in it"
        for part, version in table.own.items()
        if part in floors
    ]
    return [*(worded(*gap) for gap in open_in(table) if not gap[0].release), *own]


def verdict(table: Table) -> Verdict:
    """Whether a release closes what is open in the firmware of a board."""
    gaps = [worded(*gap) for gap in open_in(table) if gap[0].release]
    if gaps:
        cure = verb("update", "--check", "--only", "firmware")
        return Verdict("degraded", "firmware-open", "; ".join(gaps), cure)
    if not (table.versions or table.connectx):
        return Verdict("healthy")
    parts = [f"{part} {version}" for part, version in table.versions.items()]
    parts += [f"ConnectX {version}" for version in table.connectx[:1]]
    return Verdict("healthy", evidence="; ".join([f"the board has {listed(parts)}", *notes(table)]))
