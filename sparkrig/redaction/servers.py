"""Names of other machines that a machine uses: for file systems, images, proxies, time, domains.

A name under a public domain (nvidia.com, docker.io) identifies no owner and stays; every other one is
a machine of an owner. A name without a domain is found by what stands around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sparkrig.redaction.book import HOME_DOMAINS, NO_MACHINES, Book
from sparkrig.redaction.rows import patterns, words
from sparkrig.redaction.sheet import INNER, LABEL, MARK, NAME, Sheet

_EVERYONES = words("everyones")
_ENDS = words("ends") | {*HOME_DOMAINS}
_END = re.compile(rf"\.(?i:{'|'.join(sorted(_ENDS))})(?![\w-])")
_FULL = re.compile(
    rf"(?<![\w.$%-]){LABEL}(?:\.{LABEL}){{0,7}}\.(?i:{'|'.join(sorted(_ENDS))})(?=[.]?(?![\w-]|\.\w))"
)

_HOST = rf"(?:{NAME}|{MARK})"
_PEER = rf"(?:(?>{NAME})|{MARK}|\[[0-9a-fA-F:.{INNER}]{{1,60}}\])"
_PATH = rf"(?:/[^\s,;\"'()<>]{{0,300}}|{MARK})"
_NO_NAME = (
    r"(?!(?:not|is|has|on|at|error|reported|replied|while|requires|rejected|does|gave|sent|returned|refused|to|for"
    r"|and|in|with|by|the|a)\b)"
)
_NETWORK_FS = r"(?:nfs[34]?|fuse\.sshfs|sshfs|ceph|glusterfs|lustre|beegfs|cifs|smb3)"
_SIZE = r"[ \t]+[\d.,]+[KMGTPi]*[ \t]+[\d.,]+[KMGTPi]*[ \t]"

_SOURCES = patterns("servers", "sources", HOST=_HOST, NETWORK_FS=_NETWORK_FS, PATH=_PATH, PEER=_PEER, SIZE=_SIZE)
_WEB = re.compile(
    rf"\b(?:https?|git|ssh)://(?:[^\s/@]{{0,100}}@)?({NAME})(?::\d+)?/((?!(?:v\d|api|metrics|health)\b)[^\s\"'<>\\]{{1,300}})"
)
_IMAGE_PATH = re.compile(
    rf"(?<![\w./:@-])((?>{NAME})(?::\d{{2,5}})?)/([\w.-]+(?:/[\w.-]+){{0,5}})/[\w.-]+(?=[:@\s\"'])"
)
_TARGET = re.compile(
    rf"\b(?:iqn\.(\d{{4}})-\d\d\.|nqn\.(\d{{4}})[-.]\d\d\.(?!org\.nvmexpress\.discovery))[\w.:{INNER}-]+"
)
_DISK_LABEL = re.compile(r"""(?:\b(?:PART)?LABEL=["']?|/by-(?:part)?label/)([^\s"',;]+)""")
_MOUNT_POINT = re.compile(
    rf"(?<![\w.-])(?:/(?:mnt|net|nfs|Volumes)/|/media/(?:[\w.-]+|{MARK})/)([^/\s\"',:;()\]}}>]+)"
)
_MOUNT_UNIT = re.compile(r"(?<![\w/.-])(?:mnt|net|nfs|media|srv)-(\S{1,200}?)(?=\.(?:auto)?mount\b)")
_OWN_LABELS = patterns("servers", "own labels")
_LABEL_VALUE = re.compile(r"=([^\n\"',]+)")


def _end(name: str) -> str:
    return name.rpartition(".")[2]


def is_public(name: str) -> bool:
    """Whether a name is under a domain that is everyone's, or is one itself."""
    parts = name.lower().strip(".").split(".")
    return any(".".join(parts[start:]) in _EVERYONES for start in range(len(parts) - 1))


def _is_full(name: str) -> bool:
    """Whether a text is the full name of a machine of an owner."""
    low = name.lower()
    first, last = low.partition(".")[0], _end(low)
    return "." in low and last in _ENDS and first not in _ENDS | _NO_FIRST and not is_public(low)


_NO_FIRST = {"rc", "settings"}  # as in rc.local, which is a file


def _is_private(name: str) -> bool:
    return bool(re.search("[A-Za-z]", name)) and name.lower() not in NO_MACHINES and not is_public(name)


# --- shares


def shares(book: Book, sheet: Sheet) -> None:
    def share(value: str) -> str:
        return f"share-{book.number('share', value)}"

    def path(found: re.Match[str]) -> str | None:
        value = found["path"]
        if not value or re.fullmatch(rf"/?|{MARK}", value):
            return None
        return f"{'/' if value[0] == '/' else ''}{share(value.lstrip('/'))}"

    def web(found: re.Match[str]) -> str | None:
        return share(found[2]) if _is_private(found[1]) else None

    def image(found: re.Match[str]) -> str | None:
        registry, _, port = found[1].partition(":")
        named = bool(port) or ("." in registry and re.search("[A-Za-z]", _end(registry)))
        return share(found[2]) if named and _is_private(registry) else None

    def word(found: re.Match[str]) -> str | None:
        value = found[1]
        stays = re.search(MARK, value) or value.lower() in _COMMON_LABELS or book.is_ordinary(value)
        return None if stays else share(value)

    for pattern in _SOURCES:
        sheet.sub(pattern, path, "path")
    sheet.sub(_WEB, web, 2)
    sheet.sub(_IMAGE_PATH, image, 2)
    sheet.sub(_TARGET, lambda found: f"{found[0][:3]}.2000-01.example:{share(found[0])}")
    for pattern in (_DISK_LABEL, _MOUNT_POINT, _MOUNT_UNIT):
        sheet.sub(pattern, word, 1)
    for region in _OWN_LABELS:
        sheet.within(region, _LABEL_VALUE, word)


_COMMON_LABELS = words("common labels")

# --- names of machines

_ITEM = re.compile(rf"(?<![\w./:-])\.?({NAME})(?=\.?(?![\w-]))")
_LISTS = patterns("servers", "lists")
_OPTION = r"(?:host_name|domain_name|domain_search|fqdn\w*|nis_\w+|netbios_\w+|tftp_server_name|ntp_servers|wpad)"
_NAMED = rf"{_NO_NAME}{NAME}"
_PLACES = patterns("servers", "places", NAMED=_NAMED, OPTION=_OPTION)
_CERTIFICATE = re.compile(r"(?i)\b(?:subject|issuer)\b[ \t]*[=:][ \t]*([^\n]+)")
_CN = re.compile(r"(?:^|[ ,/])(?:CN|OU?|ST|L|emailAddress)[ \t]?=[ \t]?([^,/\n\"]+)")


def learn(book: Book, text: str) -> None:
    """Note each full name of a machine, and its domain."""
    for found in _FULL.finditer("\n".join(filter(_END.search, text.split("\n")))):
        if _is_full(found[0]):
            _note(book, found[0].lower())


def _note(book: Book, name: str) -> None:
    if name in book.names:
        return
    label, _, domain = name.partition(".")
    if domain in HOME_DOMAINS or not book.is_ordinary(label):
        book.add_machine(name)
    else:
        book.names.setdefault(name)
        book.forget()
    if "." in domain:
        book.domains.setdefault(domain)
        book.forget()


def hosts(book: Book, sheet: Sheet) -> None:
    """Names of machines that have a domain, or stand where one is meant."""

    def name(text: str) -> str | None:
        low = text.lower().rstrip(".-")
        if not re.search("[a-z]", low) or low in NO_MACHINES or is_public(low) or low in _NO_HOSTS:
            return None
        return named(book, text)

    def last(found: re.Match[str]) -> str | None:
        return name(found[found.re.groups])

    def listed(found: re.Match[str]) -> str | None:
        return None if found[1].lower() in ("http", "https", "tcp") else name(found[1])

    for pattern in _SOURCES:
        sheet.sub(pattern, lambda found: name(found["host"]), "host")
    for pattern in _PLACES:
        sheet.sub(pattern, last, pattern.groups)
    for region in _LISTS:
        sheet.within(region, _ITEM, listed)
    sheet.within(_CERTIFICATE, _CN, lambda found: named(book, found[1].strip()))
    sheet.in_lines(
        _END, lambda part: part.sub(_FULL, lambda found: name(found[0]) if _is_full(found[0]) else None)
    )


def domains(book: Book, sheet: Sheet) -> None:
    """What is left of names of domains: the words that identify their owner."""
    every = (*book.domains, *map(str.lower, book.known.domains))
    known = book.words("telling", every, lambda each: _telling(book, each))
    sheet.known(known, lambda word: f"domain-{book.number('machine', book.meant('telling', word), 'domain')}")


_NO_HOSTS = words("no hosts")


def _telling(book: Book, domain: str) -> Iterable[str]:
    """The words of a domain that identify its owner."""
    return (
        each
        for each in domain.split(".")[:-1]
        if len(each) > 3 and not book.is_ordinary(each) and each not in _ENDS
    )


def named(book: Book, text: str) -> str | None:
    """The pseudonym of a name that stands where a machine is named, with what a home network puts behind it."""
    bare = text.lower().rstrip(".-")
    if not bare or bare in NO_MACHINES or re.search(MARK, bare) or bare.replace(".", "").isdigit():
        return None
    label, _, domain = bare.partition(".")
    kept = f".{domain}" if domain in HOME_DOMAINS else ""
    alias = book.alias(label if kept else bare)
    book.number("machine", alias)
    return alias + kept + text[len(bare) :]
