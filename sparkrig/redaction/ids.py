"""Identifiers of a thing: UUIDs and machine-ids, serial numbers."""

from __future__ import annotations

import hashlib
import re

from sparkrig.redaction.book import LONGEST, Book, is_serial
from sparkrig.redaction.rows import patterns
from sparkrig.redaction.sheet import EMPTY, HEX, HEXADECIMAL, MARK, NO_HEX_RIGHT, QUOTE, Sheet, hex_digits
from sparkrig.redaction.words import anywhere

# --- identifiers of 128 bits

_UUID = re.compile(
    rf"{HEX}[0-9a-fA-F]{{7}}(-|_|\\x2d|\\\\x2d|%2D)(?:[0-9a-fA-F]{{4}}\1){{3}}[0-9a-fA-F]{{12}}{NO_HEX_RIGHT}"
)
_BARE_ID = re.compile(rf"{HEX}[0-9a-fA-F]{{31}}{NO_HEX_RIGHT}")
_ID_DIGEST = re.compile(r"(?m)^machine_id=([0-9a-f]{64})$")

_DOCKER = re.compile(r"[A-Z2-7](?<![A-Z0-9:].)[A-Z2-7]{3}:(?:[A-Z2-7]{4}:){10}[A-Z2-7]{4}(?![A-Z0-9:])")
_SHORT = patterns("ids", "short")


def uuids(book: Book, sheet: Sheet) -> None:
    def replace(found: re.Match[str]) -> str | None:
        digits = hex_digits(re.sub(r"(?i)(?<!\\)\\+x2d|%2d", "-", found[0]))
        if not int(digits, 16) or digits in book.shared:
            return None
        new = f"0000000000004000{0x8000000000000000 + book.number('uuid', digits):016x}"
        if found.re is _BARE_ID:
            return new
        return found[1].join([new[:8], new[8:12], new[12:16], new[16:20], new[20:]])

    def whole(part: Sheet) -> None:
        part.sub(_UUID, replace)
        part.sub(_BARE_ID, replace)

    sheet.in_lines(HEXADECIMAL, whole)
    sheet.sub(_DOCKER, lambda found: f"uuid-{book.number('uuid', found[0])}")
    for pattern in _SHORT:
        sheet.sub(pattern, lambda found: f"uuid-{book.number('uuid', found[1].lower())}", 1)
    # the SHA-256 of a machine-id, as our look prints it, and as it can be made of one that is known
    made = {_digest(form): hex_digits(each) for each in book.known.ids for form in (each, f"{each}\n")}
    sheet.sub(_ID_DIGEST, lambda found: f"{book.number('uuid', made.get(found[1], found[1])):064x}", 1)
    if made:
        either = re.compile("|".join(made))
        sheet.sub(either, lambda found: f"{book.number('uuid', made[found[0]]):064x}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# --- serial numbers

_SERIAL_LABEL = re.compile(
    r"(?i)(?:serial(?:[ _-]?(?:number|num|no|short))*|\bs/n|(?<![a-z])sn|\bpdi|(?:asset|servic"
    r"e)[ _-]tag|express service code"
    r"|\bww(?:id|n)|\bnguid|\bimei|\biccid)"
    rf"[\])]?{QUOTE}[ \t]*[:=][ \t]*{QUOTE}([^\s\"',;}}\])\\]+)"
)
_SERIAL_REST = re.compile(
    r"(?im)^[ \t|]{0,40}[\w ]{0,40}(?:serial number|vendor sn)[ \t]{0,80}:[ \t]{0,80}(\S[^\n|]{0,120})"
)
_SERIAL_BARE = re.compile(
    r"(?i)\b(?:serial(?: (?:number|no\.?))?#?|s/n|sn)[ \t]+((?=[A-Z0-9-]*\d)[A-Z0-9][A-Z0-9-]{6,30})(?![\w-])"
)
# the end of a disk's name in /dev/disk/by-id
_BY_ID = re.compile(
    r"\b(?:nvme|ata|usb|scsi|mmc|virtio)-[\w.+-]{0,120}?_((?=[A-Z0-9]*\d)[A-Z0-9]{8,40})(?=_\d+|-part\d|-\d+:\d|[^\w]|$)"
)
_WORLDWIDE = re.compile(r"(?i)(?:\bwwn-0x|\beui\.|\bnguid\.|\bnaa\.)([0-9a-f]{12,32})(?![0-9a-f])")
_CABLE = re.compile(r"(?m)^\S+ cable ([0-9a-f]{4})$")


def learn(book: Book, text: str) -> None:
    """Note each serial number that has a label."""
    for found in _SERIAL_LABEL.finditer(text):
        if len(found[1]) <= LONGEST and is_serial(found[1]):
            book.serials.setdefault(found[1])
    book.forget()


def serials(book: Book, sheet: Sheet) -> None:
    def replace(found: re.Match[str]) -> str | None:
        return numbered(found[found.re.groups])

    def numbered(written: str) -> str | None:
        value = written.strip("\"' \t")
        if EMPTY.fullmatch(value) or re.search(MARK, value):
            return None
        return f"serial-{book.number('serial', value.lower())}"

    sheet.known(book.words("serial", book.serials), numbered, anywhere)
    for pattern in (_WORLDWIDE, _BY_ID, _SERIAL_REST, _SERIAL_LABEL, _SERIAL_BARE):
        sheet.sub(pattern, replace, pattern.groups)
    # four digits of a cable's digest (facts/nic.py): 16 bits, and yet the same in every archive
    sheet.sub(_CABLE, lambda found: f"{book.number('serial', found[1], 'cable'):04x}", 1)
