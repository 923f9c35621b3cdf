"""Names of Wi-Fi networks, machines and users."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from sparkrig.redaction.book import HOME_DOMAINS, NO_MACHINES, SYSTEM_USERS, Book
from sparkrig.redaction.sheet import EMPTY, LEFT, MARK, RIGHT, Sheet, spellings, unquoted

# --- Wi-Fi names

_SSID_LABELS = tuple(
    re.compile(pattern)
    for pattern in (
        r"""(?i)(?<![a-z])ssid(?:-hex)?\]?["']?[ \t]*[:=][ \t]*("[^"\n]+"|'[^'\n]+'|[^"'\s,;][^,\n"']*)""",
        r"""(?i)(?<![a-z])ssid[ \t]+("[^"\n]+"|'[^'\n]+')""",
        r"""(?i)access[ -]points?\s*:?\s*("[^"\n]+"|'[^'\n]+')""",
        r"""(?i)access-points:[ \t]*\n[ \t]+([^\s"'][^:\n]*):""",
        r"""\((?:wl|wifi)\w*\)[^\n]*?(?:connection|profile|network) ("[^"\n]+"|'[^'\n]+')""",
        rf"netplan-NM-(?:[0-9a-f-]{{36}}|{MARK})-([^\n/]+?)\.nmconnection",
    )
)


def ssids(book: Book, sheet: Sheet) -> None:
    def named(value: str) -> str:
        return f"ssid-{book.number('ssid', value)}"

    def labelled(found: re.Match[str]) -> str | None:
        opened, value, closed = unquoted(found[1])
        filler = EMPTY.fullmatch(value) or re.search(MARK, value)
        return None if filler else f"{opened}{named(value)}{closed}"

    forms = {form.lower(): name for name in book.ssids for form in _byte_forms(name)}
    if forms:
        either = "|".join(re.escape(each) for each in sorted(forms, key=len, reverse=True))
        sheet.sub(re.compile(f"{LEFT}(?:{either}){RIGHT}", re.I), lambda found: named(forms[found[0].lower()]))
    if known := book.words("ssid", [each for each in book.ssids if not book.is_ordinary(each)]):
        spelt = {form.lower(): name for name in book.ssids for form in spellings(name)}
        sheet.sub(known, lambda found: named(spelt[found[0].lower()]))
    for pattern in _SSID_LABELS:
        sheet.sub(pattern, labelled, 1)
    for name in filter(book.is_ordinary, book.ssids):  # where a profile has it for its name
        profile = rf"""(?m)(?:^id=|/|connection ['"])({re.escape(name)})(?=['"]|\.nmconnection|$)"""
        sheet.sub(re.compile(profile), labelled, 1)


def _byte_forms(name: str) -> Iterable[str]:
    """A name as keyfile(5) writes its bytes, and in hex."""
    raw = name.encode()
    yield ";".join(map(str, raw)) + ";"
    if len(raw) > 3:
        yield raw.hex()


# --- machines and users

_AT = re.compile(rf"(?<![\w.+-])([A-Za-z_][\w.+-]{{0,100}}|{MARK})@([A-Za-z0-9][\w.-]{{0,253}}|{MARK})")
_UNIT = re.compile(
    r"(?:.*\.(?:service|socket|timer|slice|target|mount|device|scope|path|swap)|tty\w*|sha(?:256|512)|\d[\d.]*"
    r"|if\d+|(?:en|wl|ww|ib)[pPsox][0-9a-zA-Z]*\d[\w.]*|(?:eth|bond|docker|br|team)\d[\w.]*|roce[pP]\w+|mlx5_\w+)\.?"
)
_HOME = re.compile(r"/(?:home|Users|media)/([^/\s:;,\"'\\)\]}>]+)")
# The makers' forms, as in sparkrig.onboarding.candidates
_FACTORY = re.compile(
    r"(?i)(?<![a-z0-9])(?:spark|gx10|promax-?gb10|thinkstationpgx|pgx|zgx(?:-nano)?|gn100|edgexpert|atom)"
    r"-[0-9a-f]{4,6}(?![^\W_])"
)
_TAILNET = re.compile(r"(?i)(?<![a-z0-9.-])(?:[a-z0-9-]{1,63}\.){1,9}ts\.net")
_LOCAL = re.compile(
    r"(?i)(?<![\w./-])(?!rc\b|settings\b)([a-z0-9][a-z0-9-]*)"
    rf"(?=\.(?:{'|'.join(map(re.escape, HOME_DOMAINS))})\b(?![./\w]))"
)
_HOST_LABELS = (
    re.compile(r"""(?i)(?:static |pretty |transient )?host-?_?name["']?[ \t]*[:=][ \t]*["']?([\w.-]+)"""),
    re.compile(r"(?m)^name ([\w.-]+)$"),
    re.compile(r"(?m)^(?:\w{3} [ \d]\d [\d:]{8}|\d{4}-\d\d-\d\dT[\d:.+-]+Z?) ([\w.-]+) [\w./()-]+(?:\[\d+\])?: "),
)
_USER_LABELS = (
    re.compile(r"(?:\bSUDO_USER|\bUSER|\bLOGNAME|\bUSERNAME|\busername|\bruser)=[\"']?([\w.-]+)"),
    re.compile(r"(?<![\w.-])([\w.-]+)\(uid=\d+\)"),
    re.compile(r"\bfor (?:invalid user )?([\w.-]+) from "),
    re.compile(r"(?i)(?:\buser|--user)(?:name)?=[\"']?([\w.-]+)"),
    re.compile(r"\bsudo(?:\[\d+\])?: +([\w.-]+) : "),
    re.compile(r"(?m)^(?:user|private \d+) ([\w.-]+)$"),
    re.compile(r"(?im)(?:^[ \t]*user|\blocaluser)[ \t]+([\w.-]+)[ \t]*$"),
)


def _is_login(found: re.Match[str], text: str) -> bool:
    """Whether `this@that` is a user at a machine, and no unit, image, or netdev on top of another."""
    start = text.rfind("\n", 0, found.start()) + 1
    return not _UNIT.fullmatch(found[2]) and not re.fullmatch(r"\s*\d+: ", text[start : found.start()])


def learn(book: Book, text: str) -> None:
    """Note each name in a form that is sure."""
    for found in _AT.finditer(text):
        host = found[2].rstrip(".-")
        if "." not in host and not book.is_ordinary(host) and _is_login(found, text):
            book.add_machine(host)
    for found in _HOME.finditer(text):
        if not book.is_ordinary(found[1]) and found[1] not in SYSTEM_USERS:
            book.users.setdefault(found[1])
    spelt = {form for name in book.ssids for form in spellings(name)}
    names = [unquoted(found[1])[1] for pattern in _SSID_LABELS for found in pattern.finditer(text)]
    book.ssids.update(dict.fromkeys(each for each in names if each not in spelt and not EMPTY.fullmatch(each)))
    book.forget("user", "ssid")


def machines(book: Book, sheet: Sheet) -> None:
    def name(text: str) -> str | None:
        bare = text.lower().rstrip(".-")
        if not bare or bare in NO_MACHINES or re.match(MARK, bare) or bare.replace(".", "").isdigit():
            return None
        alias = book.alias(bare)
        book.number("machine", alias)
        return alias + text[len(bare) :]

    def domain(found: re.Match[str]) -> str:
        return f"domain-{book.number('machine', found[0].lower(), 'domain')}.example"

    def at(found: re.Match[str]) -> str | None:
        return name(found[2]) if _is_login(found, found.string) else None

    sheet.sub(_TAILNET, lambda found: name(found[0]))
    sheet.sub(_FACTORY, lambda found: name(found[0]))
    if known := book.words("machine", [each for each in book.names if not book.is_ordinary(each)]):
        sheet.sub(known, lambda found: name(_plainly(found[0], book.names)))
    domains = {each.strip(".").lower() for each in book.known.domains}
    if domains := {each for each in domains if "." in each}:
        either = "|".join(re.escape(each) for each in sorted(domains, key=len, reverse=True))
        sheet.sub(re.compile(f"{LEFT}(?:{either}){RIGHT}", re.I), domain)
    sheet.sub(_AT, at, 2)
    sheet.sub(_LOCAL, lambda found: name(found[1]), 1)
    for pattern in _HOST_LABELS:
        sheet.sub(pattern, lambda found: name(found[1]), 1)
    for each in book.names:
        if book.is_ordinary(each):
            label = r"""["'](?:name|host|hostname|peer|node|machine)["'][ \t]*:[ \t]*["']"""
            spelt = re.compile(rf"(?i){label}(?:@[a-z]+/)?({re.escape(each)})(?=[\"'])")
            sheet.sub(spelt, lambda found: name(found[1]), 1)


def _plainly(written: str, names: Mapping[str, None]) -> str:
    """The name that is meant by another spelling of it."""
    if written.lower() in names:
        return written.lower()
    return next(each for each in names if written.lower() in {form.lower() for form in spellings(each)})


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

    sheet.sub(_HOME, lambda found: name(found[1]), 1)
    sheet.sub(_AT, at, 1)
    for pattern in _USER_LABELS:
        sheet.sub(pattern, lambda found: name(found[1]), 1)
    if known := book.words("user", [each for each in book.users if not book.is_ordinary(each)]):
        sheet.sub(known, lambda found: name(found[0]))
    for short in book.users:  # two letters that are no word stand for themselves in a path
        if len(short) < 3 and short.lower() not in book.ordinary:
            sheet.sub(
                re.compile(rf"(?<=[/:])({re.escape(short)})(?=/|\s|$)", re.M), lambda found: name(found[1]), 1
            )
