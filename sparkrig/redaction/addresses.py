"""Addresses of IPv4 and IPv6."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_network

from sparkrig.redaction.book import Book
from sparkrig.redaction.sheet import Sheet
from sparkrig.text import eight_groups

_GROUPS = r"(?:[0-9A-Fa-f]{0,4}\\?:){2,7}(?:(?:\d{1,3}\.){3}\d{1,3}|[0-9A-Fa-f]{1,4})?(?![0-9A-Za-z_])"
_IPV6 = (re.compile(rf"(?<![\w.]){_GROUPS}"), re.compile(rf"(?<=[^:][:=]){_GROUPS}"))
# fmt: off
_PRIVATE = tuple(map(IPv4Network, (
    "0.0.0.0/8", "10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "192.0.2.0/24",
    "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
)))
# fmt: on
_MEASURING = IPv4Network("198.18.0.0/15")
_DOTTED_QUAD = re.compile(r"\d(?<![0-9.vV].)\d{0,2}\.(?:\d{1,3}\.){2}\d{1,3}(?!\d|\.\d)")
_REVISION = re.compile(r"[-+~](?!(?:\d{1,3}\.){3}\d)\w")
_DASHED = re.compile(r"(?i)(?<![a-z0-9-])ip((?:-\d{1,3}){4})(?![\w-])")
_REVERSE = re.compile(r"(?i)(?<![0-9a-f.])(?:[0-9a-f]{1,3}\.){4,32}(?:in-addr|ip6)\.arpa")
_ULA, _UNIQUE = ip_network("fc00::/7"), "fd00:5afe:0"
_SHOWN = "2001:db8:5afe"  # of 2001:db8::/32, which is for documentation


def addresses(book: Book, sheet: Sheet) -> None:
    def four(found: re.Match[str]) -> str | None:
        parts = found[0].split(".")
        if any(int(part) > 255 or (len(part) > 1 and part[0] == "0") for part in parts):
            return None
        begins = found.start() == 0 or found.string[found.start() - 1] in " \t\n=(:"
        if begins and _REVISION.match(found.string, found.end()):  # 13.0.0.19-1 is the version of a package
            return None
        new = str(_four(book, IPv4Address(found[0])))
        return None if new == found[0] else new

    sheet.sub(_REVERSE, lambda found: f"{book.number('address', found[0])}.{found[0].split('.')[-2]}.arpa")
    sheet.sub(_DOTTED_QUAD, four)
    sheet.sub(_DASHED, lambda found: f"ip-{book.number('address', found[1])}")


def _four(book: Book, address: IPv4Address) -> IPv4Address:
    """The address itself where it is private, or one of 198.18.0.0/15, which is for measurements alone."""
    if any(address in network for network in _PRIVATE) and address not in _MEASURING:
        return address
    number = book.number("address", str(address))
    if number >= _MEASURING.num_addresses:
        raise ValueError("there are more addresses than can be told apart")
    return _MEASURING[number]


def sixes(book: Book, sheet: Sheet) -> None:
    """IPv6 addresses: their first half is of the network, their second half may be made from a MAC."""

    def six(found: re.Match[str]) -> str | None:
        written = found[0].replace("\\", "")
        trimmed = written if written.endswith("::") else written.rstrip(":")
        if "::" not in trimmed and trimmed.count(":") < 6:
            return None  # a time, as most are
        try:
            address = IPv6Address(trimmed)
        except ValueError:
            return None
        if re.fullmatch(r"(?:[0-9A-Fa-f]{2}:){7}[0-9A-Fa-f]{2}", trimmed):
            return None  # eight pairs are a GUID
        new = _six(book, address)
        if new == address:
            return found[0]  # read, and not to be read again from its middle
        text = eight_groups(new) if len(trimmed) == 39 else _compressed(new, dotted="." in trimmed)
        text = text.upper() if re.search("[A-F]", trimmed) and not re.search("[a-f]", trimmed) else text
        text += written[len(trimmed) :]
        return text.replace(":", "\\:") if "\\" in found[0] else text

    for pattern in _IPV6:
        sheet.sub(pattern, six)


def _compressed(address: IPv6Address, *, dotted: bool) -> str:
    four = address.ipv4_mapped
    if four is None:
        return str(address)
    return f"::ffff:{four}" if dotted else f"::ffff:{int(four) >> 16:x}:{int(four) & 0xFFFF:x}"


def _six(book: Book, address: IPv6Address) -> IPv6Address:
    if four := address.ipv4_mapped:
        active = "address" in book.active
        return IPv6Address((0xFFFF << 32) | int(_four(book, four))) if active else address
    whole = int(address)
    prefix, host = whole >> 64, whole & (1 << 64) - 1
    digits = f"{host:016x}"
    if address.is_multicast:
        if whole >> 24 == int(IPv6Address("ff02::1:ff00:0")) >> 24 and "mac" in book.active:
            return IPv6Address(whole & ~0xFFFFFF | int(book.low(digits[10:]), 16))
        return address
    of_mac = digits[6:10] == "fffe" or (host and book.mac_of(digits) in book.macs)
    if of_mac and "mac" in book.active:
        host = int(book.eui64(digits), 16)
    if address.is_link_local and "address" in book.active and not of_mac and host >> 16:
        host = 0x10000 + book.number(
            "address", digits, "host"
        )  # of RFC 7217: the same for as long as the network is
    if prefix == 0 or address.is_link_local or prefix >> 32 == 0x20010DB8 or "address" not in book.active:
        return IPv6Address(prefix << 64 | host)
    kept = _UNIQUE if address in _ULA else _SHOWN
    number = book.number("address", f"{prefix:x}", kept)
    if not of_mac and host >> 16:
        host = 0x10000 + book.number("address", digits, "host")
    return IPv6Address(int(IPv6Address(f"{kept}:{number:x}::")) | host)
