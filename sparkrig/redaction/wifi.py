"""Names of Wi-Fi networks, of VPNs, and of what is paired by Bluetooth.

A network whose profile was deleted is named in journals alone, by NetworkManager, wpa_supplicant and iwd.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sparkrig.redaction.book import LONGEST, Book
from sparkrig.redaction.sheet import (
    EMPTY,
    MARK,
    QUOTED,
    START,
    Sheet,
    plainly,
    spellings,
    unquoted,
)

_ID = rf"(?:[0-9a-fA-F-]{{36}}|{MARK})"
_LABELS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"""(?i)(?<![a-z])e?ssid(?:-hex)?\]?["']?[ \t]*[:=][ \t]*({QUOTED}|[^"'\s,;][^,\n"']*)""",
        rf"(?i)(?<![a-z])ssid[ \t]+({QUOTED})",
        rf"(?i)'ssid' value ({QUOTED})",
        rf"(?i){START}ssid[ \t]+(\S[^\n]*)",
        r"(?i)ssid - hexdump[^\n:]{0,40}:\s*([^\n]+)",
        rf"(?i)access[ -]points?\s*+:?\s*+({QUOTED})",
        r"(?i)access-points:[ \t]*\n[ \t]+([^\s\"'][^:\n]*):",
        rf"(?i)access-points\"?:\s*\{{\s*({QUOTED})",
        rf"\((?:wl|wifi|p2p)[\w-]*\)[^\n]{{0,160}}?(?:connection|profile|network) ({QUOTED})",
        rf"(?i)\b(?:wi-?fi|wireless) network ({QUOTED})",
        rf"\bset ({QUOTED}) \((?:wl|wifi|p2p)",
        rf"\brequest for ({QUOTED})/802-11",
        rf"netplan-(?:NM-{_ID}|wl\w{{1,20}})-([^\n/]{{1,200}}?)\.nmconnection",
        r"(?m)\bwl\w+: connected to (\S[^\n]*)$",
        rf"{START}(\S[^\n]{{0,100}}?)[ \t]{{2,80}}{_ID}[ \t]+(?:wifi|802-11-wireless|vpn|wireguard|bluetooth)\b",
        rf"{START}(?:wl|p2p-dev-)\S+[ \t]+(?:wifi|wifi-p2p)[ \t]+connect\w+(?: \([^)\n]*\))?[ \t]+"
        rf"(?!--)(\S(?:[^\n]*\S)?)[ \t]*(?m:$)",
        r"GENERAL\.TYPE:[ \t]+wifi\n(?:[^\n]+\n){0,20}?[ \t]*GENERAL\.CONNECTION:[ \t]+(?!--)(\S[^\n]*)",
        r"/iwd/(?:\d+/){0,3}([0-9a-f]{2,64})_(?:psk|open|8021x)",
        rf"\bDevice (?:(?:[0-9A-F]{{2}}:){{5}}[0-9A-F]{{2}}|{MARK}) (?!\()(\S[^\n]*)",
        r"\binput: (\S[^\n]{0,100}?) as /devices/[^\n]{0,300}(?:uhid|bluetooth)",
    )
)
# A connection of any kind: in journals nothing beside its name shows whether it is a Wi-Fi.
_CONNECTIONS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:starting|auto-activating|for) connection ({QUOTED})",
        rf"\bop=\"connection-[^\n]{{0,300}}? name=({QUOTED})",
        rf"\[0x[0-9a-f]+,{_ID},({QUOTED})",
        r"system-connections/([^\n\"/]{1,200}?)\.nmconnection",
    )
)
_WIRED = (
    re.compile(rf"\((?!wl|wifi|p2p)[\w.-]+\): Activation: starting connection ({QUOTED})"),
    re.compile(
        rf"(?m)^(\S[^\n]{{0,100}}?)[ \t]{{2,80}}{_ID}[ \t]+"
        r"(?!wifi|802-11-wireless|vpn|wireguard|bluetooth)[a-z][\w-]*"
    ),
)
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
