"""Names of Wi-Fi networks, of VPNs, and of what is paired by Bluetooth.

A network whose profile was deleted is named in journals alone, by NetworkManager, wpa_supplicant and iwd.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sparkrig.redaction.book import LONGEST, Book
from sparkrig.redaction.rows import patterns
from sparkrig.redaction.sheet import (
    EMPTY,
    MARK,
    Sheet,
    plainly,
    spellings,
    unquoted,
)

_ID = rf"(?:[0-9a-fA-F-]{{36}}|{MARK})"
_LABELS = patterns("wifi", "labels", ID=_ID)
_CONNECTIONS = patterns("wifi", "connections", ID=_ID)
_WIRED = patterns("wifi", "wired", ID=_ID)
_NO_WIFI = re.compile(
    rf"(?i)(?:lo|wired connection.*|(?:sparkrig|netplan)-(?!wl|NM).*|netplan-NM-{_ID}|ethernet.*|cloud-init.*"
    r"|(?:en|eth|ib|br|bond|docker|veth|virbr|vxlan|tun|tap|roce|mlx)[\w.-]*)"
)


def _is_filler(value: str) -> bool:
    return bool(EMPTY.fullmatch(value) or re.search(MARK, value))


def _is_wired(book: Book, value: str) -> bool:
    """Whether a connection is of a cable: its name stays, for it identifies the profiles of the fabric."""
    return value in book.wired or bool(_NO_WIFI.fullmatch(value))


def learn(book: Book, text: str) -> None:
    """Note each name that stands behind a label."""
    for pattern in _WIRED:
        book.wired.update(unquoted(found[1])[1] for found in pattern.finditer(text))
    spelt = {form for name in book.ssids for form in spellings(name)}
    names = [unquoted(found[1])[1] for pattern in _LABELS for found in pattern.finditer(text)]
    any_kind = [unquoted(found[1])[1] for pattern in _CONNECTIONS for found in pattern.finditer(text)]
    names += [each for each in any_kind if not _is_wired(book, each)]
    for each in names:
        if len(each) <= LONGEST and each not in spelt and not _is_filler(each):
            book.ssids.setdefault(each)
            book.ssids.setdefault(plainly(each))
    book.forget()


def ssids(book: Book, sheet: Sheet) -> None:
    def named(value: str) -> str:
        return f"ssid-{book.number('ssid', plainly(value))}"

    def labelled(found: re.Match[str]) -> str | None:
        opened, value, closed = unquoted(found[1])
        return None if _is_filler(value) else f"{opened}{named(value)}{closed}"

    def of_any_kind(found: re.Match[str]) -> str | None:
        return None if _is_wired(book, unquoted(found[1])[1]) else labelled(found)

    known = book.words("ssid bytes", book.ssids, _byte_forms)
    sheet.known(known, lambda written: named(book.meant("ssid bytes", written)))
    known = book.words("ssid", (ssid for ssid in book.ssids if not book.is_ordinary(ssid)))
    sheet.known(known, lambda written: named(book.meant("ssid", written)))
    for pattern in _LABELS:
        sheet.sub(pattern, labelled, 1)
    for pattern in _CONNECTIONS:
        sheet.sub(pattern, of_any_kind, 1)
    known = book.words("ssid ordinary", filter(book.is_ordinary, book.ssids), lambda name: (name,))
    sheet.known(known, named, lambda *place: _is_profile(*place) and not _is_filler(place[0][place[1] : place[2]]))


_NAMES_PROFILE = re.compile(r"(?m:^)id=|/|connection ['\"]")
_ENDS_PROFILE = re.compile(r"['\"]|\.nmconnection|(?m:$)")


def _is_profile(text: str, start: int, end: int) -> bool:
    """Whether a name stands where a profile has it for its name."""
    before = (_NAMES_PROFILE.fullmatch(text, start - size, start) for size in (1, 3, 12) if size <= start)
    return any(before) and _ENDS_PROFILE.match(text, end) is not None


def _byte_forms(name: str) -> Iterable[str]:
    """A name as keyfile(5) writes its bytes, and in hex."""
    raw = name.encode()
    yield ";".join(map(str, raw)) + ";"
    if len(raw) > 3:
        yield raw.hex()
        yield raw.hex(" ")
