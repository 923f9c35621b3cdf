"""Names of machines and users."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from sparkrig.redaction import servers
from sparkrig.redaction.book import HOME_DOMAINS, LONGEST, SYSTEM_USERS, Book
from sparkrig.redaction.rows import patterns
from sparkrig.redaction.sheet import MARK, Sheet
from sparkrig.redaction.words import alone

# --- machines and users

_AT = re.compile(rf"(?<![\w.+-])([A-Za-z_][\w.+-]{{0,100}}|{MARK})(?:@|%40)([A-Za-z0-9][\w.-]{{0,253}}|{MARK})")
_UNIT = re.compile(
    r"(?:.*\.(?:service|socket|timer|slice|target|mount|device|scope|path|swap)|tty\w*|sha(?:256|512)|\d[\d.]*"
    r"|if\d+|(?:en|wl|ww|ib)[pPsox][a-zA-Z]*+\d[\w.]*+|(?:eth|bond|docker|br|team)\d[\w.]*|roce[pP]\w+|mlx5_\w+)\.?"
)
_HOME = re.compile(r"/(?:home|Users|media)/([^/\s:;,\"'\\)\]}>]+)")
_HOMES = patterns("names", "homes")
# The makers' forms, as in sparkrig.onboarding.candidates: their last digits are those of a MAC or a serial number
_FACTORY = re.compile(
    r"(?i)(?<![a-z0-9])(?:spark|gx10|gb10|promax-?gb10|thinkstation-?pgx|pgx|zgx(?:-nano)?|gn100|edgexpert"
    r"|(?:aitop-?)?atom)(?:-(?:\n[ \t]*)?|_|\\+x2d|%2d)[0-9a-f]{4,12}(?![^\W_])"
)
_SEPARATOR = re.compile(r"(?i)-\s+|_|(?<!\\)\\+x2d|%2d")
_TAILNET = re.compile(r"(?i)(?<![a-z0-9.-])(?:[a-z0-9-]{1,63}\.){1,9}ts\.net")
_LOCAL = re.compile(
    r"(?i)(?<![\w./-])(?!rc\b|settings\b)([a-z0-9][a-z0-9-]*)"
    rf"(?=\.(?:{'|'.join(map(re.escape, HOME_DOMAINS))})\b(?![./\w]))"
)
_HOST_LABELS = patterns("names", "host labels")
_USER_LABELS = patterns("names", "user labels")
_PERSON = patterns("names", "person")
_INSTANCE = re.compile(r"(?<![\w.@-])([A-Za-z][\w.-]*)@([^\s@\"',;)]+?)(?=\.(?:service|socket|timer|path)\b)")
# units whose instance is a device, a number or a module
_OF_DEVICES = re.compile(
    r"(?:systemd|user|getty|serial|autovt|console|container|modprobe|lvm2?|netplan|wpa|dhc|if|nvidia|sparkrig|docker"
    r"|dbus|apport|cups|plymouth|drkonqi|blk|dm|mdadm|mdmonitor|e2scrub|snap|polkit|ssh|iscsi|nvmf|zfs|mlnx|openib|rdma"
    r"|udisks|fwupd|bolt|ibacm|srp|grub|capsule|avahi|cloud|pulse|pipewire)\w*\b"
)


def _is_login(found: re.Match[str], text: str) -> bool:
    """Whether `this@that` is a user at a machine, and no unit, image, or netdev on top of another."""
    line = text[max(0, found.start() - 40) : found.start()].rpartition("\n")[2]
    return not _UNIT.fullmatch(found[2]) and not re.fullmatch(r"\s*\d+: ", line)


def learn(book: Book, text: str) -> None:
    """Note each name in a form that is sure."""
    for found in _AT.finditer(text):
        host = found[2].rstrip(".-")
        if "." not in host and not book.is_ordinary(host) and _is_login(found, text):
            book.add_machine(host)
    for found in _HOME.finditer(text):
        if len(found[1]) <= LONGEST and not book.is_ordinary(found[1]) and found[1] not in SYSTEM_USERS:
            book.users.setdefault(found[1])
    book.forget()


def machines(book: Book, sheet: Sheet) -> None:
    def name(text: str) -> str | None:
        return servers.named(book, text)

    def domain(written: str) -> str:
        return f"domain-{book.number('machine', written.lower(), 'domain')}.example"

    def at(found: re.Match[str]) -> str | None:
        return name(found[2]) if _is_login(found, found.string) else None

    sheet.sub(_TAILNET, lambda found: name(found[0]))
    sheet.sub(_FACTORY, lambda found: name(_SEPARATOR.sub("-", found[0])))
    known = book.words("machine", (each for each in book.names if not book.is_ordinary(each)))
    sheet.known(known, lambda written: name(book.meant("machine", written)))
    sheet.put_at(_torn(book, sheet.text), lambda written: f"{name(_BREAK.sub('', written))}\n")
    servers.hosts(book, sheet)
    domains = (each.strip(".").lower() for each in (*book.known.domains, *book.domains))
    sheet.known(book.words("domain", (each for each in domains if "." in each), lambda each: (each,)), domain)
    servers.domains(book, sheet)
    sheet.sub(_AT, at, 2)
    sheet.sub(_LOCAL, lambda found: name(found[1]), 1)
    for pattern in _HOST_LABELS:
        sheet.sub(pattern, lambda found: name(found[1]), 1)
    for each in book.names:
        if book.is_ordinary(each):
            label = r"""["'](?:name|host|hostname|peer|node|machine)["'][ \t]*:[ \t]*["']"""
            spelt = re.compile(rf"(?i){label}(?:@[a-z]+/)?({re.escape(each)})(?=[\"'])")
            sheet.sub(spelt, lambda found: name(found[1]), 1)


_BREAK = re.compile(r"[\s\\]")
_COLUMNS = 60  # fewer than a terminal's are no reason to break a line


_TORN = re.compile(r"\\?\n[ \t]{0,40}")


def _torn(book: Book, text: str) -> Iterator[tuple[int, int]]:
    """Where a name was broken at the end of a line: behind a hyphen, or at a terminal's last column."""
    breaks = [each.span() for each in _TORN.finditer(text)]
    known = book.words("torn", (name for name in book.names if len(name) > 5), lambda each: (each,))
    behind, lengths = [0], [0]  # places in the text without breaks, and how much of breaks is before each
    for start, end in breaks:
        behind.append(start - lengths[-1])
        lengths.append(lengths[-1] + end - start)

    def fits(_: str, start: int, end: int) -> bool:
        first, last = places(start, end)
        head, broken, _ = text[first:last].partition("\n")
        column = first - (text.rfind("\n", max(0, first - _COLUMNS), first) + 1) + len(head)
        return bool(broken) and alone(text, first, last) and (head[-1] in "-.\\" or column >= _COLUMNS)

    def places(start: int, end: int) -> tuple[int, int]:
        before = lengths[bisect_right(behind, start) - 1]
        return start + before, end + lengths[bisect_left(behind, end) - 1]

    return (places(*span) for span in known.spans(_TORN.sub("", text), fits))


def users(book: Book, sheet: Sheet) -> None:
    def name(text: str) -> str | None:
        if (
            not text
            or text in SYSTEM_USERS
            or re.search(MARK, text)
            or text.isdigit()
            or text.startswith("systemd")
        ):
            return None
        return f"user-{book.number('user', text.lower())}"

    def at(found: re.Match[str]) -> str | None:
        return name(found[1]) if _is_login(found, found.string) else None

    def person(found: re.Match[str]) -> str | None:
        return None if re.search(MARK, found[1]) else f"user-{book.number('user', found[1].lower())}"

    def instance(found: re.Match[str]) -> str | None:
        given = found[2].lower()
        kept = _OF_DEVICES.match(found[1]) or _UNIT.fullmatch(found[2]) or book.is_ordinary(given)
        return None if kept else name(found[2])

    for pattern in (_HOME, *_HOMES):
        sheet.sub(pattern, lambda found: name(found[1]), 1)
    for pattern in _PERSON:
        sheet.sub(pattern, person, 1)
    sheet.sub(_INSTANCE, instance, 2)
    sheet.sub(_AT, at, 1)
    for pattern in _USER_LABELS:
        sheet.sub(pattern, lambda found: name(found[1]), 1)
    sheet.known(book.words("user", (user for user in book.users if not book.is_ordinary(user))), name)
    for short in book.users:  # two letters that are no word stand for themselves in a path
        if len(short) < 3 and short.lower() not in book.ordinary:
            sheet.sub(
                re.compile(rf"(?<=[/:])({re.escape(short)})(?=/|\s|$)", re.M), lambda found: name(found[1]), 1
            )
